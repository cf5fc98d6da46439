//! The text of a listed session, read from its file.

use std::io;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use super::conversation_texts::{read_texts, Completion};
use super::session_summary::ListedSession;
use crate::base::memory::append;
use crate::io::file_fingerprint::{FileFingerprint, FileId};
use crate::io::fs;
use crate::io::head_tail_hash::head_tail_hash;
use crate::io::open::{self, Access};

/// The state of a file when it was listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListedState {
    file_id: FileId,
    /// The file's size, where its complete lines end, and the hash of the head and the tail up to there.
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

    /// As a text that [`ListedState::from_text`] reads.
    pub fn to_text(self) -> String {
        let Self { file_id: FileId { device, inode }, size, end, head_tail_hash } = self;
        format!("{device:x} {inode:x} {size:x} {end:x} {head_tail_hash:x}")
    }

    /// What [`ListedState::to_text`] wrote.
    pub fn from_text(text: &str) -> Option<Self> {
        let mut numbers = text.split(' ').map(|number| u64::from_str_radix(number, 16).ok());
        let mut next = || numbers.next().flatten();
        let [device, inode, size, end, head_tail_hash] = [next()?, next()?, next()?, next()?, next()?];
        Some(Self { file_id: FileId { device, inode }, size, end, head_tail_hash })
    }
}

/// Sets `all` to the texts of users and assistants as they were when the file was listed, joined by spaces. It is empty if
/// the file does not have them any more, there is no memory for them, or a flag in `stops` was set meanwhile: a part of the text must not be given for the
/// whole.
pub fn text(path: &Path, state: &ListedState, stops: &[&AtomicBool], all: &mut Vec<u8>) {
    all.clear();
    if !read(path, state, stops, all).unwrap_or(false) {
        all.clear();
    }
}

/// False if the file is not what was listed.
fn read(path: &Path, state: &ListedState, stops: &[&AtomicBool], all: &mut Vec<u8>) -> io::Result<bool> {
    let file = open::regular(path, Access::Read)?;
    let now = fs::stat(&file)?.fingerprint();
    let is_same = state.file_id == now.file_id && now.size >= state.size;
    if !is_same || head_tail_hash(&file, state.end)? != state.head_tail_hash {
        return Ok(false);
    }
    let mut each = |text: &[u8]| {
        append(all, if all.is_empty() { b"" } else { b" " })?;
        append(all, text)?;
        Ok(())
    };
    Ok(read_texts(&file, state.size, stops, &mut each)? == Completion::Complete)
}
