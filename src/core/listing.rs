//! Many sessions at once: which files there are, and reading what a list shows of each on several threads.

use std::fs;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::find::{modified_ms, session_files};
use super::info::{read_on, Info, Known};
use super::paths::join;

/// A file that may be a session.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    pub path: String,
    /// Its modification time, ms since 1970; None where the order does not need it or the file is gone.
    pub modified: Option<f64>,
}

/// The session files of one directory; none if it cannot be read.
pub fn in_dir(dir: &str) -> Vec<Candidate> {
    let names = session_files(dir).unwrap_or_default();
    names.iter().map(|name| Candidate { path: join(dir, name), modified: None }).collect()
}

/// The session files in every directory of `root`, with their times.
pub fn in_all_dirs(root: &str) -> io::Result<Vec<Candidate>> {
    let mut dirs = Vec::new();
    for entry in fs::read_dir(root)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if let (true, Ok(name)) = (kind.is_dir() || kind.is_symlink(), entry.file_name().into_string()) {
            dirs.push(join(root, &name));
        }
    }
    dirs.sort_unstable();
    let mut all: Vec<_> = dirs.iter().flat_map(|dir| in_dir(dir)).collect();
    for candidate in &mut all {
        candidate.modified = fs::metadata(&candidate.path).ok().map(|meta| modified_ms(&meta));
    }
    Ok(all)
}

/// Reads the infos of `files` on a few threads and hands on each as it comes, with its position in `files`; None for
/// a file that is no session or cannot be read. Stops early, without handing on the rest, once `cancelled` is set.
pub fn read_all(files: &[String], cancelled: &AtomicBool, each: &(dyn Fn(usize, Option<Info>) + Sync)) {
    let threads = std::thread::available_parallelism().map_or(2, |n| n.get()).clamp(1, 8);
    let next = AtomicUsize::new(0);
    let work = || {
        let mut buffer = Box::default();
        while !cancelled.load(Ordering::Relaxed) {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(path) = files.get(at) else { break };
            let info = fs::File::open(path).ok().and_then(|file| { let size = file.metadata().ok()?.len(); read_on(&file, size, Known::default(), &mut buffer, cancelled).ok()??.into_info() });
            each(at, info);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(files.len()) {
            // Where no more threads can be had, those there are do the work.
            let _ = std::thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[test]
    fn every_file_is_handed_on_once() {
        let dir = tempfile::tempdir().expect("a directory");
        for n in 0..50 {
            let text = if n % 7 == 0 { "junk".into() } else { format!("{{\"type\":\"session\",\"id\":\"{n}\"}}\n") };
            fs::write(dir.path().join(format!("{n}.jsonl")), text).expect("written");
        }
        let files: Vec<_> = in_dir(dir.path().to_str().expect("text")).into_iter().map(|file| file.path).collect();
        let seen = Mutex::new(vec![None; files.len()]);
        read_all(&files, &AtomicBool::new(false), &|at, info| {
            assert!(seen.lock().expect("whole")[at].replace(info.is_some()).is_none());
        });
        let seen = seen.into_inner().expect("whole");
        assert_eq!(seen.iter().filter(|found| **found == Some(true)).count(), 42);
        assert!(seen.iter().all(Option::is_some));
    }

    #[test]
    fn a_cancelled_reading_stops() {
        let files = vec!["/nowhere".to_owned(); 1000];
        let cancelled = AtomicBool::new(true);
        read_all(&files, &cancelled, &|_, _| panic!("nothing should be read"));
    }
}
