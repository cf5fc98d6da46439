//! The entries of a file that is being repaired, and their parents and references.

use std::collections::{HashMap, HashSet};

use xxhash_rust::xxh3::xxh3_64;

use super::kept_entry::KeptEntry;
use super::line_text::bytes_of;
use super::repair_log::RepairLog;
use crate::base::error::Result;
use crate::base::memory::{self, copy_of_bytes, insert, insert_into, push, reserve, with_capacity};
use crate::base::wtf8::shown;
use crate::format::entry::{EntryKind, Parent};
use crate::format::ids::short_entry_id;
use crate::format::kinds::reference_fields;
use crate::index::salvage::Fields;
use crate::json::string::owned_string;
use crate::json::{quoted, string_bytes, ObjectText};
use crate::lines::line_reader::line_text;
use crate::storage::storage::Storage;
use crate::tree::tree_integrity::check_integrity;
use crate::tree::Tree;

/// A damaged entry, or several consecutive damaged entries, and the readable fields of the first.
#[derive(Debug)]
pub(super) struct MissingEntry {
    /// How many entries precede it.
    at: usize,
    id: Option<Vec<u8>>,
    parent: Option<Vec<u8>>,
}

/// The parent of a missing entry.
#[derive(Clone, Copy)]
enum MissingParent<'a> {
    /// Known: the missing entry's parent, or its nearest ancestor that is not missing.
    Read(Option<&'a [u8]>),
    /// Unknown: the entry before this position is the best guess.
    Before(usize),
}

type PositionsById<'a> = HashMap<&'a [u8], usize>;

/// The longest id, in bytes, that becomes a parent of other entries. A longer one would make the file grow with each of
/// them.
const LONGEST_ID: usize = 256;

/// Everything that stays, in file order.
#[derive(Default)]
pub(super) struct Relinker {
    pub entries: Vec<KeptEntry>,
    missing: Vec<MissingEntry>,
    /// For each hash of a line, the first entry with it.
    by_hash: HashMap<u64, usize>,
}

impl Relinker {
    /// Adds the entry of a line, unless an earlier line is equal.
    pub(super) fn push(
        &mut self,
        entry: KeptEntry,
        text: &[u8],
        storage: &dyn Storage,
        repairs: &mut RepairLog,
    ) -> Result<()> {
        self.by_hash.try_reserve(1)?;
        reserve(&mut self.entries, 1)?;
        let first = *self.by_hash.entry(xxh3_64(text)).or_insert(self.entries.len());
        if let Some(first) = self.entries.get(first) {
            if first.head.id == entry.head.id && bytes_of(storage, &first.source)? == text {
                let id = shown(&entry.head.id);
                repairs.push(entry.line, &["entry ", &id, " removed: it is an exact duplicate"])?;
                return Ok(());
            }
        }
        self.entries.push(entry);
        Ok(())
    }

    /// Adds a missing entry with these readable fields. Consecutive entries without readable fields count as one.
    pub(super) fn push_missing(&mut self, fields: &Fields<'_>) -> memory::Result<()> {
        let field = |name| fields.get(name).map_or(Ok(None), owned_string);
        let missing = MissingEntry { at: self.entries.len(), id: field("id")?, parent: field("parentId")? };
        let is_empty = |one: &MissingEntry| one.id.is_none() && one.parent.is_none();
        let is_one_of_many = self.missing.last().is_some_and(|last| last.at == missing.at && is_empty(last));
        if !(is_one_of_many && is_empty(&missing)) {
            push(&mut self.missing, missing)?;
        }
        Ok(())
    }

    /// Gives a new id to each entry whose id an earlier entry has, and changes its references to itself and later
    /// references to it.
    pub(super) fn rename_repeated(&mut self, storage: &dyn Storage, repairs: &mut RepairLog) -> Result<()> {
        let mut taken = ids_of(&self.entries)?;
        let mut seen: HashSet<Vec<u8>> = HashSet::new();
        let mut new_ids: HashMap<Vec<u8>, String> = HashMap::new();
        let references = reference_fields();
        for entry in &mut self.entries {
            if !insert_into(&mut seen, copy_of_bytes(&entry.head.id)?)? {
                let id = short_entry_id(|id| taken.contains(id));
                insert_into(&mut taken, copy_of_bytes(id.as_bytes())?)?;
                let old = std::mem::replace(&mut entry.head.id, copy_of_bytes(id.as_bytes())?.into());
                let what = ["entry ", &*shown(&old), " renamed to ", &id, ": an earlier entry has the same id"];
                repairs.push(entry.line, &what)?;
                entry.set("id", quoted(id.as_bytes())?)?;
                insert(&mut new_ids, copy_of_bytes(&old)?, id)?;
            }
            if new_ids.is_empty() {
                continue;
            }
            let line = bytes_of(storage, &entry.source)?;
            let line = line_text(&line)?;
            let object = ObjectText::read(&line)?.unwrap_or_default();
            for &key in &references {
                let old = object.get(key).map_or(Ok(None), string_bytes)?;
                if let Some(id) = old.and_then(|old| new_ids.get(&*old)) {
                    entry.refer(key, id.as_bytes())?;
                }
            }
        }
        Ok(())
    }

    /// Sets the parents of entries whose parent is missing: to the parent of the missing entry, or else to the entry
    /// before the missing entry in the file. If the missing entry comes after its child, the entry before it may be a
    /// descendant of that child. Then the entry before the child is used, which cannot be one.
    pub(super) fn relink(&mut self, repairs: &mut RepairLog) -> memory::Result<()> {
        let Self { entries, missing, .. } = self;
        let ids = ids_of(entries)?;
        let (by_id, parents) = parents_of_missing(missing, &ids)?;
        for at in 0..entries.len() {
            let Some(head) = entries.get(at).map(|entry| &entry.head) else { continue };
            let lost_parent = match &head.parent {
                Parent::Id(parent) if !ids.contains(&**parent) => Some(by_id.get(&**parent).copied()),
                Parent::Number(_) | Parent::Other => Some(None),
                Parent::Id(_) | Parent::Null | Parent::Missing => None,
            };
            let parent = lost_parent.map(|lost| {
                // If no damaged line has that id, the last damaged line before the entry is the likeliest.
                let lost = lost.or_else(|| missing.partition_point(|one| one.at <= at).checked_sub(1))?;
                match parents.get(lost)? {
                    MissingParent::Read(parent) => *parent,
                    MissingParent::Before(next) => id_at(entries, next.min(&at).checked_sub(1)?),
                }
                .filter(|id| id.len() <= LONGEST_ID)
                .map(<[u8]>::to_vec)
            });
            let first = head.target.as_ref().filter(|_| head.kind == EntryKind::Compaction);
            let lost_first = first.filter(|id| !ids.contains(&***id));
            let first_kept = lost_first.and_then(|id| {
                let lost = missing.get(*by_id.get(&**id)?).filter(|lost| at > lost.at)?;
                id_at(entries, lost.at).filter(|id| id.len() <= LONGEST_ID).map(<[u8]>::to_vec)
            });
            let Some(entry) = entries.get_mut(at) else { continue };
            if let Some(parent) = parent {
                entry.reattach(parent.as_deref(), repairs)?;
            }
            if let Some(first) = first_kept {
                entry.keep_from(&first, repairs)?;
            }
        }
        Ok(())
    }

    /// Cuts each cycle at its first entry.
    pub(super) fn cut_cycles(&mut self, repairs: &mut RepairLog) -> memory::Result<()> {
        let mut tree = Tree::default();
        for entry in &self.entries {
            tree.push(&entry.head, true)?;
        }
        for cycle in check_integrity(&tree)?.cycles {
            let Some(entry) = cycle.first().and_then(|&row| self.entries.get_mut(row as usize)) else { continue };
            let id = shown(&entry.head.id);
            repairs.push(entry.line, &["entry ", &id, " made a root: it was its own ancestor"])?;
            entry.set_parent(None)?;
        }
        Ok(())
    }
}

fn ids_of(entries: &[KeptEntry]) -> memory::Result<HashSet<Vec<u8>>> {
    let mut ids = HashSet::new();
    ids.try_reserve(entries.len())?;
    for entry in entries {
        ids.insert(copy_of_bytes(&entry.head.id)?);
    }
    Ok(ids)
}

fn id_at(entries: &[KeptEntry], at: usize) -> Option<&[u8]> {
    entries.get(at).map(|entry| &*entry.head.id)
}

/// The positions of missing entries by their ids, and the parent of each. If that parent is missing too, the parent's
/// parent.
fn parents_of_missing<'a>(
    missing: &'a [MissingEntry],
    ids: &HashSet<Vec<u8>>,
) -> memory::Result<(PositionsById<'a>, Vec<MissingParent<'a>>)> {
    let mut by_id = PositionsById::new();
    by_id.try_reserve(missing.len())?;
    let mut parents: Vec<MissingParent<'_>> = with_capacity(missing.len())?;
    for (at, one) in missing.iter().enumerate() {
        let parent = one.parent.as_deref();
        parents.push(match parent.and_then(|parent| by_id.get(parent)).and_then(|&at| parents.get(at)) {
            _ if parent.is_some_and(|parent| ids.contains(parent)) => MissingParent::Read(parent),
            Some(parent) => *parent,
            None => MissingParent::Before(one.at),
        });
        if let Some(id) = &one.id {
            by_id.entry(id).or_insert(at);
        }
    }
    Ok((by_id, parents))
}
