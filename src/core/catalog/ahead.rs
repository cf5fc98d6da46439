//! The text that is likely to be asked for next, made on another thread meanwhile. Who looks through the texts of a list,
//! as pi's picker does at the first key, asks for one after the other, and the engine takes as long to copy one as it takes
//! to find the next.
//!
//! It is the text that was listed, as ever: of a file that has changed since, [`session_text::text`](super::session_text::text) tells.

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::background::Working;
use super::session_text::{text_unless, Source};
use super::{Catalog, Location, SHORT_PATIENCE};
use crate::core::base::paths::{file_name, parent};
use crate::core::base::string_buffer::StringBuffer;
use crate::core::io::file_version::FileFingerprint;

/// Texts of larger files are made when they are asked for: nobody may come for this one, and it takes memory.
const LARGEST_FILE: u64 = 64 << 20;

/// How long the thread, its catalog and a text that nobody came for are kept.
const IDLE: Duration = Duration::from_secs(1);

/// How often the thread looks whether it must end.
const LOOK: Duration = Duration::from_millis(50);

/// A listed session whose text is wanted, and the catalog that may have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    pub catalog: PathBuf,
    pub file: String,
    pub source: Source,
}

#[derive(Debug, Default)]
enum Job {
    #[default]
    Nothing,
    Wanted(Asked),
    Worked(Asked),
    /// None if it could not be made ahead: who asks makes it himself.
    Done(Asked, Option<StringBuffer>),
}

#[derive(Debug, Default)]
struct State {
    job: Job,
    /// Memory for the next text.
    spare: Option<StringBuffer>,
    has_thread: bool,
    is_closed: bool,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

/// Makes texts ahead, one at a time. Its thread ends with it, or when there was nothing to do for a while.
#[derive(Debug, Default)]
pub struct Ahead(Arc<Shared>);

impl Ahead {
    /// Has a text made, unless another one is being made.
    pub fn want(&self, asked: Asked) {
        if asked.source.size() > LARGEST_FILE {
            return;
        }
        let mut state = self.0.lock();
        if matches!(state.job, Job::Worked(_)) {
            return;
        }
        if let Job::Done(_, Some(letters)) = std::mem::replace(&mut state.job, Job::Wanted(asked)) {
            state.spare = Some(letters);
        }
        if !state.has_thread {
            let shared = self.0.clone();
            let stop = Arc::new(AtomicBool::new(false));
            // From before it begins: the library must not be taken away under it.
            let working = Working::new(stop.clone());
            let thread = std::thread::Builder::new().name("pi-session-text".into());
            state.has_thread = thread.spawn(move || run(&shared, &stop, working)).is_ok();
            if !state.has_thread {
                state.job = Job::Nothing;
            }
        }
        self.0.changed.notify_all();
    }

    /// The text, if it was made, or is being made: then this waits for it.
    pub fn take(&self, asked: &Asked) -> Option<StringBuffer> {
        let mut state = self.0.lock();
        loop {
            match &state.job {
                Job::Wanted(one) | Job::Worked(one) if one == asked => state = self.0.wait(state, None),
                Job::Done(one, _) if one == asked => {
                    let Job::Done(_, letters) = std::mem::take(&mut state.job) else { return None };
                    return letters;
                }
                _ => return None,
            }
        }
    }

    /// Gives memory back that [`Ahead::take`] gave.
    pub fn give_back(&self, mut letters: StringBuffer) {
        letters.trim();
        let mut state = self.0.lock();
        // Without a thread nobody would take it.
        state.spare = Some(letters).filter(|_| state.has_thread);
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        self.0.lock().is_closed = true;
        self.0.changed.notify_all();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>, most: Option<Duration>) -> MutexGuard<'a, State> {
        match most {
            None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            Some(most) => self.changed.wait_timeout(state, most).unwrap_or_else(PoisonError::into_inner).0,
        }
    }

    /// What is to be made next, with memory for it. None when the thread is to end.
    fn next(&self, stop: &AtomicBool) -> Option<(Asked, StringBuffer)> {
        let since = Instant::now();
        let mut state = self.lock();
        loop {
            let is_over = state.is_closed || stop.load(Ordering::Relaxed);
            match &state.job {
                Job::Wanted(asked) if !is_over => {
                    let asked = asked.clone();
                    state.job = Job::Worked(asked.clone());
                    return Some((asked, state.spare.take().unwrap_or_default()));
                }
                _ if is_over || since.elapsed() > IDLE => {
                    // Who waits for it makes it himself.
                    *state = State { is_closed: state.is_closed, ..State::default() };
                    self.changed.notify_all();
                    return None;
                }
                _ => state = self.wait(state, Some(LOOK)),
            }
        }
    }

    fn put(&self, asked: Asked, letters: Option<StringBuffer>) {
        self.lock().job = Job::Done(asked, letters);
        self.changed.notify_all();
    }
}

fn run(shared: &Shared, stop: &AtomicBool, _working: Working) {
    let mut open = None;
    let mut all = Vec::new();
    while let Some((asked, mut letters)) = shared.next(stop) {
        let made = catch_unwind(AssertUnwindSafe(|| is_made(&asked, stop, &mut open, &mut all, &mut letters)));
        shared.put(asked, made.unwrap_or(false).then_some(letters));
    }
}

/// Makes a text, with a catalog that is kept open for the next. False if it must be made by who asks for it: the catalog
/// cannot be asked, or there is no text, which may have reasons that pass.
fn is_made(
    asked: &Asked,
    stop: &AtomicBool,
    open: &mut Option<(FileFingerprint, Catalog)>,
    all: &mut Vec<u8>,
    letters: &mut StringBuffer,
) -> bool {
    let is_same = |meta: &std::fs::Metadata| {
        open.as_ref().is_some_and(|(stamp, _)| stamp.is_same_file(&FileFingerprint::of(meta)))
    };
    match std::fs::metadata(&asked.catalog) {
        Ok(meta) if is_same(&meta) => {}
        Ok(meta) => *open = opened(&asked.catalog).map(|catalog| (FileFingerprint::of(&meta), catalog)),
        Err(_) => *open = None,
    }
    let Some((_, catalog)) = &open else { return false };
    let (dir, name) = (parent(&asked.file), file_name(&asked.file));
    if !text_unless(&[stop], Some(catalog), &dir, name, &asked.source, all) {
        *open = None;
        return false;
    }
    letters.set(all);
    !all.is_empty()
}

fn opened(path: &Path) -> Option<Catalog> {
    Catalog::open_within(&Location { path: path.to_owned(), makes_dir: false }, SHORT_PATIENCE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(name: &str) -> Asked {
        let source = Source::from_text("1 2 3 4 5 6").expect("a source");
        Asked { catalog: "/nowhere/at/all".into(), file: format!("/nowhere/{name}"), source }
    }

    #[test]
    fn what_cannot_be_made_ahead_is_made_by_who_asks() {
        let ahead = Ahead::default();
        assert!(ahead.take(&asked("a")).is_none(), "nobody wanted it");
        ahead.want(asked("a"));
        assert!(ahead.take(&asked("b")).is_none(), "it is another one");
        assert!(ahead.take(&asked("a")).is_none(), "there is no catalog");
        ahead.want(asked("b"));
        ahead.give_back(StringBuffer::default());
        assert!(ahead.take(&asked("b")).is_none());
    }

    #[test]
    fn a_thread_that_ended_while_somebody_waited_is_no_reason_to_wait() {
        let ahead = Ahead::default();
        // As if the thread were just ending.
        ahead.0.lock().has_thread = true;
        ahead.want(asked("a"));
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| ahead.take(&asked("a")));
            assert!(ahead.0.next(&AtomicBool::new(true)).is_none());
            assert!(waits.join().expect("it came back").is_none());
        });
        ahead.want(asked("a"));
        assert!(ahead.take(&asked("a")).is_none(), "another thread looked");
    }

    #[test]
    fn the_text_of_a_large_file_is_left_to_who_asks() {
        let ahead = Ahead::default();
        let large = Source::from_text(&format!("1 2 {:x} 4 5 6", LARGEST_FILE + 1)).expect("a source");
        ahead.want(Asked { source: large, ..asked("a") });
        assert!(!ahead.0.lock().has_thread);
    }
}
