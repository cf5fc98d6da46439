//! New ids of entries, and the references to them.

use std::collections::HashMap;

use crate::base::memory::{self, copy_of, copy_of_bytes, insert};
use crate::format::entry::REFERENCES;
use crate::io::line_reader::line_text;
use crate::json::{quoted, string_bytes, ObjectText};

/// New ids by old ones.
#[derive(Debug, Default)]
pub struct NewIds(HashMap<Vec<u8>, String>);

impl NewIds {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn insert(&mut self, old: &[u8], new: &str) -> memory::Result<()> {
        insert(&mut self.0, copy_of_bytes(old)?, copy_of(new)?).map(drop)
    }

    /// An entry's line with new ids in its references, and with the id `id` if one is given; None if nothing changes.
    pub fn edited(&self, line: &[u8], id: Option<&str>) -> memory::Result<Option<Vec<u8>>> {
        if self.is_empty() && id.is_none() {
            return Ok(None);
        }
        let text = line_text(line)?;
        let Some(mut object) = ObjectText::read(&text)? else { return Ok(None) };
        let references = self.references_in(&object)?;
        let new = references.into_iter().chain(id.map(|id| ("id", id)));
        let mut is_edited = false;
        for (key, id) in new {
            object.set(key, quoted(id.as_bytes())?)?;
            is_edited = true;
        }
        is_edited.then(|| object.text()).transpose()
    }

    /// The keys of an entry that refer to entries with new ids, each with that id.
    pub fn references_in(&self, entry: &ObjectText<'_>) -> memory::Result<Vec<(&'static str, &str)>> {
        let mut found = Vec::new();
        for key in REFERENCES {
            let old = entry.get(key).map_or(Ok(None), string_bytes)?;
            found.extend(old.and_then(|old| self.0.get(&*old)).map(|new| (key, new.as_str())));
        }
        Ok(found)
    }
}
