//! Searches session files that the catalog does not have, or not yet.

use std::cmp::Reverse;
use std::fs::File;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Mutex;

use super::hits::{Hit, HitBuilder, TopK};
use super::query::{Query, SearchOptions};
use crate::base::error::{Error, Result};
use crate::base::threads::{into_inner, locked, try_on_threads};
use crate::catalog::text_rows::{cut, StoredText, MAX_TEXT_BYTES};
use crate::io::open::is_exhausted;
use crate::io::open::{self, Access};
use crate::summary::searchable_text::{read_texts, SearchableText};

/// A file that is searched.
#[derive(Debug, Clone, Copy)]
pub struct SearchFile<'a> {
    /// The position of its session, the newest first.
    pub session: usize,
    pub path: &'a Path,
}

/// The best hits in files, as many as are asked for; fewer if it was cancelled. A file that cannot be read has none; an error
/// if no file descriptor is left for one. `progress` is called with how many files were searched, and how many there are.
pub fn search_files(
    files: &[SearchFile<'_>],
    query: &Query,
    options: &SearchOptions,
    cancelled: &AtomicBool,
    progress: &(dyn Fn(usize, usize) + Sync),
) -> Result<Vec<Hit>> {
    if files.is_empty() {
        return Ok(Vec::new());
    }
    progress(0, files.len());
    let done = Mutex::new(0);
    let best = Mutex::new(TopK::new(options.limit));
    let search_file = |source: &SearchFile<'_>, file: &File, buffer: &mut Box<[u8]>| {
        let mut builder = HitBuilder::new(query, options);
        let mut each = |text: SearchableText| {
            let SearchableText { kind, id, timestamp, text, end } = &text;
            let kept = cut(text);
            let is_truncated = kept.len() < text.len();
            let stored = StoredText { kind: *kind, id, timestamp, text: kept, is_truncated, end: *end };
            if let Some(hit) = builder.hit_if(source.session, &stored, |rank| locked(&best).wants(rank)) {
                locked(&best).offer(hit.rank, (source.session, Reverse(*end)), hit);
            }
        };
        // Texts that were read before an error count.
        let size = file.metadata().map_or(0, |meta| meta.len());
        let _ = read_texts(file, (0, size), None, Some(MAX_TEXT_BYTES), buffer, &[cancelled], &mut each);
    };
    let tell = || {
        let mut done = locked(&done);
        *done += 1;
        progress(*done, files.len());
    };
    try_on_threads(files.len(), |buffer: &mut Box<[u8]>, at| {
        let Some(source) = files.get(at).filter(|_| !cancelled.load(Ordering::Relaxed)) else { return Ok(()) };
        match open::regular(source.path, Access::Read) {
            Ok(file) => search_file(source, &file, buffer),
            // The error says nothing about this file: an answer without it would be wrong.
            Err(error) if is_exhausted(&error) => {
                return Err(Error::io("open", &source.path.to_string_lossy(), error));
            }
            Err(_) => {}
        }
        tell();
        Ok(())
    })?;
    Ok(into_inner(best).into_vec())
}
