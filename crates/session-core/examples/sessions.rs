//! Makes a session, says something in it, opens it again, walks to its last entry, and lists the directory:
//! `cargo run -p pi-session-core --example sessions -- <directory>`. Without a directory it makes one, and removes it at the end.

use std::error::Error;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use pi_session_core::base::error::ErrorCode;
use pi_session_core::base::options::{Durability, SessionFileOptions};
use pi_session_core::format::{entry::EntryKind, header::NewHeader, ids::session_id};
use pi_session_core::listing::{list::list, scope::ListScope};
use pi_session_core::make_session_dir;
use pi_session_core::session::{NewEntry, Persistence, Session};
use serde_json::json;

fn now() -> Result<f64, Box<dyn Error>> {
    Ok(SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis() as f64)
}

/// Appends a message of the user.
fn say(session: &mut Session, text: &str) -> Result<(), Box<dyn Error>> {
    let fields = json!({ "message": { "role": "user", "content": text, "timestamp": now()? } });
    session.append(&NewEntry::new(EntryKind::Message, fields.to_string().as_bytes(), now()?))?;
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let own_dir = tempfile::tempdir()?;
    let dir = std::env::args_os().nth(1).unwrap_or_else(|| own_dir.path().into());
    let dir = dir.into_string().map_err(|_| "the directory's name must be Unicode")?;
    make_session_dir(&dir, Durability::Os)?;
    let options = SessionFileOptions::default();

    let id = session_id(now()?);
    let header = NewHeader { id: &id, cwd: "/project", parent: None, time: now()? };
    let file = Path::new(&dir).join(header.file_name()?);
    let mut session = Session::create(Some(&file), &header, options)?;
    // The first message of the user makes the file.
    say(&mut session, "What is in this directory?")?;
    drop(session);

    let mut session = match Session::open(&file, Persistence::File, options) {
        Err(error) if error.code() == ErrorCode::SessionLocked => return Err("another program has the session".into()),
        opened => opened?,
    };
    say(&mut session, "And which file is the largest?")?;
    let leaf = session.tree().leaf().ok_or("a session without entries")?;
    for row in session.tree().path(leaf)? {
        let Some(entry) = session.entry(row)? else { continue };
        println!("{:?}: {:?}", entry.get("id"), entry.pointer("/message/content"));
    }
    drop(session);

    for file in list(&ListScope::dir(dir, None), None)? {
        println!("{} has {} messages", file.path, file.listed.summary.message_count);
    }
    Ok(())
}
