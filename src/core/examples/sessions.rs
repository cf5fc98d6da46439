//! Lists the sessions of a directory, prints the entries on the active branch of the newest one, and adds a note to a copy of it:
//! `cargo run -p pi-session-core --example sessions -- <directory>`

use std::error::Error;
use std::time::{SystemTime, UNIX_EPOCH};

use pi_session_core::base::wtf8::to_string_lossy;
use pi_session_core::{
    list, EntryKind, ListScope, ListedFile, NewEntry, Persistence, Session, SessionFileOptions,
};

/// When somebody last wrote in it, ms since 1970.
fn active(file: &ListedFile) -> f64 {
    file.listed.summary.active.unwrap_or(0.0)
}

fn main() -> Result<(), Box<dyn Error>> {
    let dir = std::env::args().nth(1).ok_or("give the directory of the sessions")?;
    let files = list(&ListScope::dir(dir, None), None)?;
    for file in &files {
        let summary = &file.listed.summary;
        println!("{} ({} messages)", file.path, summary.message_count);
    }
    let newest = files.iter().max_by(|a, b| active(a).total_cmp(&active(b)));
    let Some(newest) = newest else { return Ok(()) };
    let copy = std::env::temp_dir().join(format!("session-{}.jsonl", std::process::id()));
    std::fs::copy(&newest.file, &copy)?;
    let mut session = Session::open(&copy, Persistence::File, SessionFileOptions::default())?;
    if let Some(leaf) = session.tree().leaf() {
        for row in session.tree().path(leaf)? {
            let kind = session.tree().row(row).map_or("", |row| row.kind.name());
            println!("{} {kind}", to_string_lossy(session.tree().id_of(row)));
        }
    }
    let time = SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis() as f64;
    let row = session.append(&NewEntry::new(EntryKind::Custom, br#"{"customType":"note","data":"seen"}"#, time))?;
    println!("added {} to {}", to_string_lossy(session.tree().id_of(row)), copy.display());
    Ok(())
}
