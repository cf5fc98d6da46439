//! Lists the sessions of a directory, prints the entries on the active branch of the newest one, and adds a note to it:
//! `cargo run -p pi-session-core --example sessions -- <directory>`

use std::error::Error;
use std::sync::atomic::AtomicBool;
use std::sync::Mutex;
use std::time::{SystemTime, UNIX_EPOCH};

use pi_session_core::base::options::SessionFileOptions;
use pi_session_core::base::wtf8::to_string_lossy;
use pi_session_core::format::entry::EntryKind;
use pi_session_core::listing::list::{list, ListEvent, ListedFile};
use pi_session_core::listing::scope::ListScope;
use pi_session_core::session::{NewEntry, OpenResult, Persistence, Session};

/// The sessions in `dir`. Lists come as events, because a large directory takes a while.
fn sessions(dir: &str) -> Result<Vec<ListedFile>, Box<dyn Error>> {
    let found = Mutex::new(Vec::new());
    let cwd = std::env::current_dir()?;
    let never_cancelled = AtomicBool::new(false);
    list(
        &ListScope::dir(dir.to_owned(), None),
        &cwd.to_string_lossy(),
        None,
        &never_cancelled,
        &|event| match event {
            ListEvent::Read(_, Some(file)) => {
                if let Ok(mut found) = found.lock() {
                    found.push(*file);
                }
            }
            // Files with names beyond ASCII: the order of the names' bytes will do here.
            ListEvent::Sort(request) => drop(request.answer.send(request.order)),
            _ => {}
        },
    )?;
    Ok(found.into_inner()?)
}

/// When somebody last wrote in it, ms since 1970.
fn active(file: &ListedFile) -> f64 {
    file.listed.summary.active.unwrap_or(0.0)
}

fn main() -> Result<(), Box<dyn Error>> {
    let dir = std::env::args().nth(1).ok_or("give the directory of the sessions")?;
    let files = sessions(&dir)?;
    for file in &files {
        let summary = &file.listed.summary;
        println!("{} ({} messages)", file.path, summary.message_count);
    }
    let newest = files.iter().max_by(|a, b| active(a).total_cmp(&active(b)));
    let Some(newest) = newest else { return Ok(()) };
    let OpenResult::Session(mut session) =
        Session::open(&newest.file, Persistence::File, SessionFileOptions::default())?
    else {
        return Err("the session is gone".into());
    };
    if let Some(leaf) = session.tree().leaf() {
        for row in session.tree().path(leaf)? {
            let kind = session.tree().row(row).map_or("", |row| row.kind.name());
            println!("{} {kind}", to_string_lossy(session.tree().id_of(row)));
        }
    }
    let time = SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis() as f64;
    let row = session.append(&NewEntry::new(EntryKind::Custom, br#"{"customType":"note","data":"seen"}"#, time))?;
    println!("added {}", to_string_lossy(session.tree().id_of(row)));
    Ok(())
}
