//! The text of a session that a list has shown: from the catalog, or read from its file.

use std::io;
use std::path::Path;

use super::connection::Catalog;
use super::error::CatalogResult;
use super::ingest::is_line_end;
use super::rows;
use super::text_rows::{ingested_to, of_session};
use crate::core::io::file_version::{head_tail_hash, FileFingerprint};
use crate::core::io::open::{self, Access};
use crate::core::summary::header_scan::header_in;
use crate::core::summary::searchable_text::{join, read_texts, Completion, SearchableText};
use crate::core::summary::session_summary::FileKind;
use crate::core::summary::session_summary::ListedSession;

/// The state of a file that a list has shown, in few words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListedState {
    device: u64,
    inode: u64,
    /// The file's size, where its whole lines end, and the fingerprint up to there.
    size: u64,
    end: u64,
    head_tail_hash: u64,
    /// When the file system saw a change: two lists may find files that differ in nothing else.
    changed: u64,
}

impl ListedState {
    /// The state that was listed.
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

/// Puts the texts of users and assistants as they were when the file was listed into `all`, joined by spaces. It is empty
/// if neither the catalog nor the file has them any more. False if the catalog could not be asked.
pub fn text(catalog: Option<&Catalog>, dir: &str, name: &str, source: &ListedState, all: &mut Vec<u8>) -> bool {
    all.clear();
    let kept = catalog.map_or(Ok(None), |catalog| kept(catalog, dir, name, source, all));
    let asked = kept.is_ok();
    let from = kept.ok().flatten().unwrap_or(0);
    // Half of it would be neither what was listed nor nothing.
    if from < source.size && !rest(dir, name, source, from, all).unwrap_or(false) {
        all.clear();
    }
    asked
}

/// What the catalog has. Gives up to where in the file that is; None if it has nothing that can be used.
fn kept(
    catalog: &Catalog,
    dir: &str,
    name: &str,
    source: &ListedState,
    all: &mut Vec<u8>,
) -> CatalogResult<Option<u64>> {
    // One view of it all: texts may be taken meanwhile, and how far they were must be said of the texts that are read.
    let view = catalog.db().unchecked_transaction()?;
    let Some(row) = rows::of_file(&view, dir, name)? else {
        return Ok(None);
    };
    // Grown since, it holds what was listed all the same; the texts say where they end.
    let grown = row.progress.end > source.end;
    if !source.is_of(&row.fingerprint)
        || !(grown || row.progress.end == source.end && row.head_tail_hash == source.head_tail_hash)
    {
        return Ok(None);
    }
    if !matches!(row.progress.kind, FileKind::Session(..)) {
        return Ok(None);
    }
    let Some(taken) = ingested_to(&view, row.row)? else {
        return Ok(None);
    };
    // Of a file that has grown, the line that was the last when it was listed may be another one by now.
    let to = if taken <= source.size { taken } else { source.end };
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

/// Reads on from where the catalog ends, or all if a line that had no newline was taken there and has grown since. False if
/// the file is no longer what was listed.
fn rest(dir: &str, name: &str, source: &ListedState, from: u64, all: &mut Vec<u8>) -> io::Result<bool> {
    let path = Path::new(dir).join(name);
    let file = open::regular(&path, Access::Read)?;
    let now = FileFingerprint::of(&file.metadata()?);
    if !source.is_of(&now) || now.size < source.size || head_tail_hash(&file, source.end)? != source.head_tail_hash {
        return Ok(false);
    }
    let version = match from > 0 && is_line_end(&file, from)? {
        true => header_in(open::regular(&path, Access::Read)?)?.map(|header| header.version),
        false => None,
    };
    let from = if version.is_some() { from } else { 0 };
    if from == 0 {
        all.clear();
    }
    let mut each = |text: SearchableText| join(all, text.kind, &text.text);
    let read = read_texts(&file, (from, source.size), version, &mut Box::default(), &[], &mut each)?;
    Ok(read == Completion::Complete)
}
