//! Finds redacted lines and copies of them, and determines what replaces each.
//!
//! A fork copies entries with their ids and times, but an entry may have another parent there, so its line differs.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::Arc;

use sha2::{Digest, Sha256};

use crate::base::error::{Error, Result};
use crate::base::memory::{self, copy_of_bytes, joined, push};
use crate::json::reader::{read, Raw};
use crate::json::scanner::Scanner;
use crate::json::{fields, string_bytes};
use crate::lines::line_reader::line_text;

/// A line that was redacted, or will be.
#[derive(Debug)]
pub struct LineRedaction {
    /// The SHA-256 of the line's bytes, in hexadecimal digits.
    pub hash: String,
    /// The new line. None removes the content of the entry.
    pub line: Option<Vec<u8>>,
    /// The session of the line, if it is another one. Then the content of a copy that was changed is removed too.
    pub session: Option<String>,
}

fields! {
    /// The fields that identify the entry of a line.
    pub(super) struct IdentityFields<V> {
        kind: V = "type",
        id: V = "id",
        timestamp: V = "timestamp",
    }
}

/// A hash that is the same for all lines of an entry, in a file, its backups and copies: of the type, the timestamp,
/// and the id (which is missing in version 1).
pub(super) type LineIdentity = [u8; 32];

pub(super) fn identity_hash(identity: &IdentityFields<Raw<'_>>, id: Option<&[u8]>) -> Option<LineIdentity> {
    let names = Sha256::new().chain_update(identity.kind?.get()).chain_update(b"\n");
    let names = names.chain_update(identity.timestamp?.get());
    Some(id.map_or(names.clone(), |id| names.chain_update(b"\n").chain_update(id)).finalize().into())
}

/// The identity of an entry with an id; None for any other line.
pub(super) fn identity_of(line: &[u8]) -> memory::Result<Option<LineIdentity>> {
    let text = line_text(line)?;
    let Some(identity) = read::<IdentityFields<Raw<'_>>>(&text) else { return Ok(None) };
    let id = identity.id.map_or(Ok(None), |id| string_bytes(id.get()))?;
    Ok(id.and_then(|id| identity_hash(&identity, Some(&id))))
}

/// The new line, and the session for which it replaces the old one. None as the line removes the content of the entry.
pub(super) type Replacement<'a> = (Option<Vec<u8>>, Option<&'a str>);

/// Lines to redact.
#[derive(Debug, Default)]
pub(super) struct LineRedactions {
    by_hash: HashMap<String, Arc<LineRedaction>>,
    /// Redacted lines whose entry is known from their new line, by session, because each session may have redacted it
    /// differently.
    by_entry: HashMap<LineIdentity, BTreeMap<Option<String>, Vec<Arc<LineRedaction>>>>,
}

impl LineRedactions {
    pub(super) fn new(lines: impl IntoIterator<Item = LineRedaction>) -> Result<Self> {
        let mut all = Self::default();
        for mut one in lines {
            if one.line.as_ref().is_some_and(|line| line.contains(&b'\n')) {
                return Err(Error::argument("line must not have a line break"));
            }
            one.hash.make_ascii_lowercase();
            let one = Arc::new(one);
            if let Some(entry) = identity_of(one.line.as_deref().unwrap_or_default())? {
                push(all.by_entry.entry(entry).or_default().entry(one.session.clone()).or_default(), one.clone())?;
            }
            all.by_hash.entry(one.hash.clone()).or_insert(one);
        }
        Ok(all)
    }

    /// The replacement of a line: if the line itself is redacted, if it differs from a redacted line only in its
    /// parent, or if it is another copy of an entry of another session. None for any other line.
    pub(super) fn replacement(
        &self,
        line: &[u8],
        hash: &str,
        entry: Option<LineIdentity>,
    ) -> memory::Result<Option<Replacement<'_>>> {
        if let Some(one) = self.by_hash.get(hash) {
            return Ok(Some((one.line.as_deref().map(copy_of_bytes).transpose()?, one.session.as_deref())));
        }
        let mut found: Option<Replacement<'_>> = None;
        for (session, originals) in entry.and_then(|entry| self.by_entry.get(&entry)).into_iter().flatten() {
            let new = in_place_of(line, originals)?;
            if new.is_none() && session.is_some() {
                // The copy was changed, so we do not know which of its texts must be removed.
                return Ok(Some((None, session.as_deref())));
            }
            if new.is_some() && found.as_ref().is_none_or(|(other, _)| other.as_deref() == Some(line)) {
                found = Some((new, session.as_deref()));
            }
        }
        Ok(found)
    }
}

/// The replacement of a line that differs from one of these only in its parent. If the line already is such a
/// replacement, the line itself.
fn in_place_of(line: &[u8], originals: &[Arc<LineRedaction>]) -> memory::Result<Option<Vec<u8>>> {
    let mut is_redacted = false;
    for one in originals {
        let Some(new) = &one.line else { continue };
        let own = below_parent_of(line, new)?;
        if hash_of(&below_parent_of(new, line)?) == one.hash {
            return Ok(Some(own));
        }
        is_redacted |= own == line;
    }
    is_redacted.then(|| copy_of_bytes(line)).transpose()
}

/// `line` with the parent of `other`. The other bytes of `line` stay, because they may not be UTF-8.
fn below_parent_of(other: &[u8], line: &[u8]) -> memory::Result<Vec<u8>> {
    let (Some(from), Some(to)) = (parent_in(other), parent_in(line)) else { return copy_of_bytes(line) };
    let parts = [line.get(..to.start), other.get(from), line.get(to.end..)];
    joined(&parts.map(Option::unwrap_or_default), b"")
}

/// The range of the value of `parentId` in an entry's line.
fn parent_in(line: &[u8]) -> Option<Range<usize>> {
    let mut scanner = Scanner::new(line);
    scanner.next_token().ok()?;
    let mut parent = None;
    let passed = scanner.members(
        |key| (key == b"parentId").then_some(()),
        |scanner, is_parent| {
            scanner.next_token()?;
            let from = scanner.at();
            scanner.skip_value()?;
            parent = is_parent.map_or(parent.take(), |()| Some(from..scanner.at()));
            Ok(())
        },
    );
    passed.ok().and(parent)
}

/// The SHA-256 of a line, in hexadecimal digits.
pub(super) fn hash_of(line: &[u8]) -> String {
    format!("{:x}", Sha256::digest(line))
}
