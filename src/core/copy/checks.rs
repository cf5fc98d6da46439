//! Whether copied lines are still those that were indexed, found out on another thread while this one reads and writes.

use std::sync::mpsc::{channel, sync_channel, Receiver, SyncSender};
use std::thread::{Builder, Scope, ScopedJoinHandle};

use crate::core::error::{Error, Result};
use crate::core::lines::text_of;
use crate::core::load::Index;
use crate::core::storage::Place;
use crate::core::text::shown;
use crate::core::tree::RowNo;

/// From how many bytes on a thread is worth its start.
const MANY: u64 = 1 << 20;

/// More bytes than that are looked through at once and not kept for the thread: a session may be of very long lines.
const LARGE: usize = 4 << 20;

/// How many strokes wait for the thread.
const AHEAD: usize = 2;

/// Neighbouring lines as they were read, from the place of the first one on, and the rows that they must be.
pub struct Copied {
    pub bytes: Vec<u8>,
    pub lines: Vec<(Place, Option<RowNo>)>,
}

/// Looks through copied lines.
pub struct Checks<'scope, 'env> {
    index: &'env Index,
    /// What the storage is called in errors.
    name: &'env str,
    scope: &'scope Scope<'scope, 'env>,
    seen: u64,
    thread: Option<Thread<'scope>>,
}

struct Thread<'scope> {
    lines: SyncSender<Copied>,
    /// Memory that was looked through.
    free: Receiver<Vec<u8>>,
    handle: ScopedJoinHandle<'scope, Result<()>>,
}

impl<'scope, 'env> Checks<'scope, 'env> {
    pub fn new(index: &'env Index, name: &'env str, scope: &'scope Scope<'scope, 'env>) -> Self {
        Self { index, name, scope, seen: 0, thread: None }
    }

    /// Looks through copied lines, now or later: what is found then is an error of a later call, of [`Self::finish`] at
    /// the latest. Gives memory for the next ones.
    pub fn take(&mut self, copied: Copied) -> Result<Vec<u8>> {
        self.seen += copied.bytes.len() as u64;
        if self.thread.is_none() && self.seen >= MANY {
            self.thread = self.start();
        }
        let Some(thread) = self.thread.as_mut().filter(|_| copied.bytes.len() <= LARGE) else {
            check(self.index, self.name, &copied)?;
            return Ok(copied.bytes);
        };
        if thread.lines.send(copied).is_err() {
            // It ended before its time: with an error, which says why.
            self.finish()?;
        }
        Ok(self.thread.as_ref().and_then(|thread| thread.free.try_recv().ok()).unwrap_or_default())
    }

    /// None if no thread can be had: then this one does it all.
    fn start(&self) -> Option<Thread<'scope>> {
        let (lines, received) = sync_channel::<Copied>(AHEAD);
        let (give_back, free) = channel();
        let (index, name) = (self.index, self.name);
        let work = move || {
            for copied in received {
                check(index, name, &copied)?;
                // Nobody may want it any more.
                let _ = give_back.send(copied.bytes);
            }
            Ok(())
        };
        let handle = Builder::new().spawn_scoped(self.scope, work).ok()?;
        Some(Thread { lines, free, handle })
    }

    /// Waits until everything was looked through.
    pub fn finish(&mut self) -> Result<()> {
        let Some(Thread { lines, handle, .. }) = self.thread.take() else { return Ok(()) };
        drop(lines);
        // A thread that panicked: what it looked at counts as wrong.
        handle.join().unwrap_or_else(|_| Err(Error::failed("Lines could not be looked through")))
    }
}

fn check(index: &Index, name: &str, Copied { bytes, lines }: &Copied) -> Result<()> {
    let start = lines.first().map_or(0, |(first, _)| first.offset);
    for (place, row) in lines {
        let at = (place.offset - start) as usize;
        let end = at + place.len as usize;
        if let Some(row) = *row {
            let line = bytes.get(at..end).unwrap_or_default();
            index.check_copy(name, row, memchr::memchr(b'\n', line).is_none(), &text_of(line))?;
        }
        // A line that became longer where it stands still begins as it did.
        if bytes.get(end) != Some(&b'\n') {
            let line = row.map(|row| format!("entry {}", shown(index.tree.id_of(row))));
            let line = line.unwrap_or_else(|| "a line".into());
            return Err(Error::changed(name, format!("{line} no longer ends where it did")));
        }
    }
    Ok(())
}
