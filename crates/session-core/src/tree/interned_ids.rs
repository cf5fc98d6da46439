//! Ids as numbers: each id of an entry, and each id to which an entry refers, becomes a small number.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

use super::row::IdNo;
use crate::base::memory::{self, reserve};

/// All known ids, one after another.
#[derive(Debug, Default)]
pub(super) struct InternedIds {
    bytes: Vec<u8>,
    /// The position and length of each id.
    spans: Vec<(u64, u32)>,
    lookup: HashTable<IdNo>,
    /// Seeded randomly for each tree, because ids come from files that anyone may have written.
    hasher: DefaultHashBuilder,
}

impl InternedIds {
    /// Reserves memory for `count` more ids with `len` bytes in total.
    pub(super) fn reserve(&mut self, count: usize, len: usize) -> memory::Result<()> {
        let Self { lookup, spans, bytes, hasher } = self;
        reserve(spans, count)?;
        reserve(bytes, len)?;
        let hash = |id_no: &IdNo| hasher.hash_one(bytes_of(spans, bytes, *id_no));
        Ok(lookup.try_reserve(count, hash)?)
    }

    /// The number of an id. A new id gets the next number. The memory must be reserved.
    pub(super) fn intern(&mut self, id: &[u8]) -> IdNo {
        let hash = self.hasher.hash_one(id);
        let Self { lookup, spans, bytes, hasher } = self;
        if let Some(&id_no) = lookup.find(hash, |id_no| bytes_of(spans, bytes, *id_no) == id) {
            return id_no;
        }
        let id_no = IdNo(spans.len() as u32);
        lookup.insert_unique(hash, id_no, |id_no| hasher.hash_one(bytes_of(spans, bytes, *id_no)));
        spans.push((bytes.len() as u64, id.len() as u32));
        bytes.extend_from_slice(id);
        id_no
    }

    /// The number of a known id.
    pub(super) fn find(&self, id: &[u8]) -> Option<IdNo> {
        self.lookup.find(self.hasher.hash_one(id), |id_no| self.bytes_of(*id_no) == id).copied()
    }

    /// The id with this number.
    pub(super) fn bytes_of(&self, id_no: IdNo) -> &[u8] {
        bytes_of(&self.spans, &self.bytes, id_no)
    }
}

fn bytes_of<'a>(spans: &[(u64, u32)], bytes: &'a [u8], id_no: IdNo) -> &'a [u8] {
    let span = spans.get(id_no.0 as usize).map(|&(start, len)| start as usize..start as usize + len as usize);
    span.and_then(|span| bytes.get(span)).unwrap_or_default()
}
