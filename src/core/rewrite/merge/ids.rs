//! New ids where entries of different hosts have one id.
//!
//! Two copies of a session that never met may give the same short id to different entries. The entry that comes first in
//! the store's order keeps it. A later one gets an id made of its own bytes, so that every host gives it the same one, and later
//! references of its host to the old id become references to the new one.

use std::collections::HashMap;

use serde::Serialize;
use uuid::fmt::Hyphenated;
use xxhash_rust::xxh3::xxh3_128_with_seed;

use crate::base::memory::{self, copy_of, copy_of_bytes, insert};

/// An entry that got a new id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RenamedEntry {
    /// Its old id.
    pub id: String,
    /// Its new id.
    pub new_id: String,
}

/// The ids that stored entries have so far, each with the host of its first entry; None for an id that was made here.
#[derive(Debug, Default)]
pub struct Ids(HashMap<Vec<u8>, Option<u32>>);

impl Ids {
    pub fn is_taken(&self, id: &[u8]) -> bool {
        self.0.contains_key(id)
    }

    /// Adds an entry of a host. Returns its new id if another host has an entry with its id.
    pub fn add(&mut self, id: &[u8], host: u32, line: &[u8]) -> memory::Result<Option<String>> {
        match self.0.get(id) {
            None => insert(&mut self.0, copy_of_bytes(id)?, Some(host)).map(|_| None),
            // A host may use one id twice; then its last entry counts.
            Some(taken) if *taken == Some(host) => Ok(None),
            Some(_) => {
                let (mut seed, mut buffer) = (0, uuid::Uuid::encode_buffer());
                let new = loop {
                    let id = id_of(line, seed).encode_lower(&mut buffer);
                    if !self.0.contains_key(id.as_bytes()) {
                        break copy_of(id)?;
                    }
                    seed += 1;
                };
                insert(&mut self.0, copy_of_bytes(new.as_bytes())?, None)?;
                Ok(Some(new))
            }
        }
    }
}

/// An id made of a line, as long as a UUID.
fn id_of(line: &[u8], seed: u64) -> Hyphenated {
    uuid::Builder::from_custom_bytes(xxh3_128_with_seed(line, seed).to_be_bytes()).into_uuid().hyphenated()
}
