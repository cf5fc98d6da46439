//! Reads the text of a listed session from its file.

use std::io;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use super::header_scan::HeaderLine;
use super::line_scanner::{FileLines, KeptTexts, ScannedLine};
use super::session_summary::ListedSession;
use super::usage::call::short_text;
use crate::base::memory::append;
use crate::io::file_fingerprint::{FileFingerprint, FileId};
use crate::io::fs;
use crate::io::head_tail_hash::head_tail_hash;
use crate::io::open::{self, Access};

/// The state that a file had when it was listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListedState {
    file_id: FileId,
    /// The file's size, the position after its complete lines, and the hash of its head and tail up to there.
    size: u64,
    end: u64,
    head_tail_hash: u64,
}

impl ListedState {
    /// The state of a listed session's file.
    pub fn of(listed: &ListedSession) -> Self {
        let FileFingerprint { file_id, size, .. } = listed.fingerprint;
        Self { file_id, size, end: listed.end, head_tail_hash: listed.head_tail_hash }
    }

    /// The state of a listed session's file as a text that [`ListedState::from_text`] reads. The file's times follow
    /// it, so that two lists have the same text only if both found the file unchanged.
    pub fn source(listed: &ListedSession) -> String {
        let FileFingerprint { modified, changed, .. } = listed.fingerprint;
        format!("{} {modified:x} {changed:x}", Self::of(listed).to_text())
    }

    /// A text that [`ListedState::from_text`] reads.
    pub fn to_text(self) -> String {
        let Self { file_id: FileId { device, inode }, size, end, head_tail_hash } = self;
        format!("{device:x} {inode:x} {size:x} {end:x} {head_tail_hash:x}")
    }

    /// Reads a text of [`ListedState::to_text`] or [`ListedState::source`].
    pub fn from_text(text: &str) -> Option<Self> {
        let mut numbers = text.split(' ').map(|number| u64::from_str_radix(number, 16).ok());
        let mut next = || numbers.next().flatten();
        let [device, inode, size, end, head_tail_hash] = [next()?, next()?, next()?, next()?, next()?];
        Some(Self { file_id: FileId { device, inode }, size, end, head_tail_hash })
    }
}

/// Sets `all` to the texts of users and assistants when the file was listed, joined by spaces. It is empty if the file
/// has changed since, if the allocation fails, or if a flag in `stops` is set during the read: a part of the text must
/// not be taken for the whole.
pub fn text(path: &Path, state: &ListedState, stops: &[&AtomicBool], all: &mut Vec<u8>) {
    all.clear();
    if !read(path, state, stops, all).unwrap_or(false) {
        all.clear();
    }
}

/// False if the file has changed since it was listed.
fn read(path: &Path, state: &ListedState, stops: &[&AtomicBool], all: &mut Vec<u8>) -> io::Result<bool> {
    let file = open::regular(path, Access::Read)?;
    let now = fs::stat(&file)?.fingerprint();
    let is_same = state.file_id == now.file_id && now.size >= state.size;
    if !is_same || head_tail_hash(&file, state.end)? != state.head_tail_hash {
        return Ok(false);
    }
    let mut lines = FileLines::new(&file, 0, state.size, stops, Box::default());
    let mut version = None;
    let mut line = ScannedLine::default();
    while !lines.scanner.is_done()? {
        let Some(version) = version else {
            match lines.scanner.header_line()? {
                HeaderLine::Header(header) => version = Some(header.version),
                HeaderLine::Other => break,
                HeaderLine::NoJson => {}
            }
            lines.scanner.skip_line()?;
            continue;
        };
        lines.next_line(KeptTexts::OfConversation, &mut line)?;
        let is_message = line.is_entry(version) && short_text(&line.kind).as_deref() == Some(b"message");
        // A text is kept by the role that precedes it, but the last role counts.
        let is_conversation = is_message && line.message.role().is_conversation();
        if let Some(text) = line.message.text.take().filter(|text| is_conversation && !text.is_empty()) {
            append(all, if all.is_empty() { b"" } else { b" " })?;
            append(all, &text)?;
        }
    }
    Ok(true)
}

#[cfg(all(test, unix))]
mod tests;
