//! Searching in session files themselves, for those that the catalog has not, or not yet.

use std::cmp::Reverse;
use std::fs::File;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Mutex;

use super::hits::{Best, Hit, Maker};
use super::query::{Options, Query};
use crate::core::base::error::{Error, Result};
use crate::core::base::threads::on_threads;
use crate::core::catalog::text_rows::{cut, Placed};
use crate::core::io::fd_limit::{is_exhausted, patiently};
use crate::core::io::open::{self, Access};
use crate::core::summary::searchable_text::{read_texts, Text};

/// A file that is searched.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// The place of its session, the newest first.
    pub place: usize,
    pub path: &'a Path,
}

/// The best hits in files, as many as are asked for; fewer if it was cancelled. A file that cannot be read has none. Where
/// handles are short, those files that had none are looked through one at a time in the end; it is an error if that cannot
/// be either. `waits` says whether others are waited for then, who may give handles back. `progress` is told how many files
/// of how many were looked through.
pub fn look(
    files: &[Source<'_>],
    query: &Query,
    options: &Options,
    cancelled: &AtomicBool,
    waits: bool,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<Vec<Hit>> {
    if files.is_empty() {
        return Ok(Vec::new());
    }
    progress(0, files.len());
    let done = Mutex::new(0);
    let best = Mutex::new(Best::new(options.limit));
    let locked = || best.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let look_into = |source: &Source<'_>, file: &File, buffer: &mut Box<[u8]>| {
        let mut maker = Maker::new(query, options);
        let mut each = |text: Text| {
            let Text { kind, id, timestamp, text, end } = &text;
            let kept = cut(text);
            let is_cut = kept.len() < text.len();
            let placed = Placed { kind: *kind, id, timestamp, text: kept, is_cut, end: *end };
            if let Some(hit) = maker.hit_if(source.place, &placed, |rank| locked().wants(rank)) {
                locked().offer(hit.rank, (source.place, Reverse(*end)), hit);
            }
        };
        // What can be read of it counts.
        let size = file.metadata().map_or(0, |meta| meta.len());
        let _ = read_texts(file, (0, size), None, buffer, &[cancelled], &mut each);
    };
    let tell = || {
        let mut done = done.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        *done += 1;
        progress(*done, files.len());
    };
    let without = Mutex::new(Vec::new());
    on_threads(files.len(), |buffer: &mut Box<[u8]>, at| {
        let Some(source) = files.get(at).filter(|_| !cancelled.load(Ordering::Relaxed)) else { return };
        match open::regular(source.path, Access::Read) {
            Ok(file) => look_into(source, &file, buffer),
            Err(error) if is_exhausted(&error) => {
                without.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push(source);
                return;
            }
            Err(_) => {}
        }
        tell();
    });
    let mut buffer = Box::default();
    for source in without.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()) {
        let open = || open::regular(source.path, Access::Read);
        match if waits { patiently(cancelled, open) } else { open() } {
            Ok(file) => look_into(source, &file, &mut buffer),
            Err(error) if is_exhausted(&error) => return Err(Error::io("open", &source.path.to_string_lossy(), error)),
            Err(_) => {}
        }
        tell();
    }
    Ok(best.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()).into_vec())
}
