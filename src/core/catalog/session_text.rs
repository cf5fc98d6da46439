//! The text of a listed session, from the catalog or from its file.

use std::io;
use std::path::Path;

use super::connection::Catalog;
use super::error::CatalogResult;
use super::rows;
use super::text_rows::{ingested_to, of_session};
use crate::io::file_fingerprint::FileFingerprint;
use crate::io::head_tail_hash::head_tail_hash;
use crate::io::open::{self, Access};
use crate::summary::header_scan::header_in;
use crate::summary::searchable_text::{join, read_texts, Completion, SearchableText};
use crate::summary::session_summary::{FileKind, ListedSession};

/// The state of a file when it was listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListedState {
    device: u64,
    inode: u64,
    /// The file's size, where its complete lines end, and the hash of the head and the tail up to there.
    size: u64,
    end: u64,
    head_tail_hash: u64,
    /// The change time: two lists may find states that differ in nothing else.
    changed: u64,
}

impl ListedState {
    /// The state of a listed session's file.
    pub fn of(listed: &ListedSession) -> Self {
        let FileFingerprint { device, inode, size, changed, .. } = listed.fingerprint;
        Self { device, inode, size, end: listed.end, head_tail_hash: listed.head_tail_hash, changed: changed as u64 }
    }

    /// As a text that [`ListedState::from_text`] reads.
    pub fn to_text(self) -> String {
        let Self { device, inode, size, end, head_tail_hash, changed } = self;
        format!("{device:x} {inode:x} {size:x} {end:x} {head_tail_hash:x} {changed:x}")
    }

    /// What [`ListedState::to_text`] wrote.
    pub fn from_text(text: &str) -> Option<Self> {
        let mut numbers = text.split(' ').map(|number| u64::from_str_radix(number, 16).ok());
        let mut next = || numbers.next().flatten();
        let [device, inode, size, end, head_tail_hash, changed] =
            [next()?, next()?, next()?, next()?, next()?, next()?];
        Some(Self { device, inode, size, end, head_tail_hash, changed })
    }

    fn is_of(&self, fingerprint: &FileFingerprint) -> bool {
        (self.device, self.inode) == (fingerprint.device, fingerprint.inode)
    }
}

/// Sets `all` to the texts of users and assistants as they were when the file was listed, joined by spaces. It is empty if
/// neither the catalog nor the file has them any more. False if the catalog could not be read.
pub fn text(catalog: Option<&Catalog>, dir: &str, name: &str, state: &ListedState, all: &mut Vec<u8>) -> bool {
    all.clear();
    let cached_to = catalog.map_or(Ok(None), |catalog| cached(catalog, dir, name, state, all));
    let is_readable = cached_to.is_ok();
    let from = cached_to.ok().flatten().unwrap_or(0);
    // A part of the text must not be given for the whole.
    if from < state.size && !rest(dir, name, state, from, all).unwrap_or(false) {
        all.clear();
    }
    is_readable
}

/// Appends the texts that the catalog has. Gives the offset in the file up to which it has them; None if it has none.
fn cached(
    catalog: &Catalog,
    dir: &str,
    name: &str,
    state: &ListedState,
    all: &mut Vec<u8>,
) -> CatalogResult<Option<u64>> {
    // One snapshot: texts may be ingested meanwhile.
    let view = catalog.db().unchecked_transaction()?;
    let Some(row) = rows::of_file(&view, dir, name)? else {
        return Ok(None);
    };
    // The row of a file that has grown contains what was listed; each text has the offset of its end. One of an older state
    // stays where the catalog cannot be written.
    let grown = row.progress.end > state.end;
    let is_same = row.progress.end == state.end
        && row.head_tail_hash == state.head_tail_hash
        && row.fingerprint.changed as u64 == state.changed;
    if !(state.is_of(&row.fingerprint) && (grown || is_same)) {
        return Ok(None);
    }
    if !matches!(row.progress.kind, FileKind::Session(..)) {
        return Ok(None);
    }
    let Some(ingested) = ingested_to(&view, row.row)? else {
        return Ok(None);
    };
    let to = ingested.min(state.end);
    let mut is_truncated = false;
    of_session(&view, row.row, |texts| {
        for text in texts.iter() {
            is_truncated |= text.is_truncated;
            if text.end > to || is_truncated {
                return false;
            }
            join(all, text.kind, text.text);
        }
        true
    })?;
    Ok((!is_truncated).then_some(to))
}

/// Appends the texts from the start of a line on. False if the file is not what was listed.
fn rest(dir: &str, name: &str, state: &ListedState, from: u64, all: &mut Vec<u8>) -> io::Result<bool> {
    let path = Path::new(dir).join(name);
    let file = open::regular(&path, Access::Read)?;
    let now = FileFingerprint::of(&file.metadata()?);
    if !state.is_of(&now) || now.size < state.size || head_tail_hash(&file, state.end)? != state.head_tail_hash {
        return Ok(false);
    }
    let version = match from {
        0 => None,
        _ => header_in(open::regular(&path, Access::Read)?)?.map(|header| header.version),
    };
    let mut each = |text: SearchableText| join(all, text.kind, &text.text);
    let read = read_texts(&file, (from, state.size), version, None, &mut Box::default(), &[], &mut each)?;
    Ok(read == Completion::Complete)
}
