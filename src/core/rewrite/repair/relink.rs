//! The entries of a file that is being repaired, and how they hang together.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use xxhash_rust::xxh3::xxh3_64;

use super::line_text::{text_of, LineSource};
use super::repair_log::{Repair, Repairs};
use super::salvage::Fields;
use crate::core::base::error::Result;
use crate::core::base::wtf8::to_string_lossy;
use crate::core::format::entry::{EntryHead, Kind, Parent};
use crate::core::format::ids::entry_id;
use crate::core::json::{quoted, string_bytes, ObjectText};
use crate::core::storage::storage::Storage;
use crate::core::tree::tree::Tree;
use crate::core::tree::tree_integrity::check_integrity;

/// An entry that stays.
#[derive(Debug)]
pub struct Record {
    pub head: EntryHead<'static>,
    pub source: LineSource,
    /// Its line in the old file, or the one that it stood inside of.
    pub line: u64,
    /// Its fields that will be others, with their new texts.
    edits: Vec<(&'static str, String)>,
}

/// Ids that were given anew, by what they were.
type Renamed = HashMap<Vec<u8>, Vec<u8>>;

impl Record {
    pub fn of(head: EntryHead<'static>, source: LineSource, line: u64) -> Self {
        Self { head, source, line, edits: Vec::new() }
    }

    fn set(&mut self, key: &'static str, text: String) {
        self.edits.retain(|(other, _)| *other != key);
        self.edits.push((key, text));
    }

    fn set_parent(&mut self, parent: Option<&[u8]>) {
        self.set("parentId", parent.map_or("null".into(), quoted));
        self.head.parent = parent.map_or(Parent::Null, |id| Parent::Id(id.to_vec().into()));
    }
}

/// A place where entries are lost, and what can still be made out of the first.
#[derive(Debug)]
pub struct MissingEntry {
    /// How many records stand before it.
    at: usize,
    id: Option<Vec<u8>>,
    parent: Option<Vec<u8>>,
}

impl MissingEntry {
    /// Adds a gap before record `at`, of which these fields are left. Of several in a row that nothing is left of, one
    /// tells as much as all.
    pub fn add(gaps: &mut Vec<Self>, fields: &Fields<'_>, at: usize) {
        let field = |name| Some(string_bytes(fields.get(name)?)?.into_owned());
        let gap = Self { at, id: field("id"), parent: field("parentId") };
        let says_nothing = |gap: &Self| gap.id.is_none() && gap.parent.is_none();
        if !(says_nothing(&gap) && gaps.last().is_some_and(|last| last.at == at && says_nothing(last))) {
            gaps.push(gap);
        }
    }
}

/// What the children of a gap hang from.
#[derive(Debug, Clone, Copy)]
enum Anchor {
    /// The parent of this gap.
    ParentOf(usize),
    Record(usize),
    Nothing,
}

/// Longer ids are given to no other entry: with each that refers to it the file would grow by so much.
const LONGEST_ID: usize = 256;

/// Everything that stays, in file order.
pub struct Relinker {
    pub records: Vec<Record>,
    pub gaps: Vec<MissingEntry>,
}

impl Relinker {
    /// Leaves out lines that stand there twice, byte by byte the same.
    pub fn drop_repeated(&mut self, storage: &dyn Storage, repairs: &mut Repairs) -> Result<()> {
        let mut counts: HashMap<&[u8], usize> = HashMap::new();
        for record in &self.records {
            *counts.entry(&record.head.id).or_default() += 1;
        }
        let mut first: HashMap<(&[u8], u64), usize> = HashMap::new();
        let mut dropped = vec![false; self.records.len()];
        for ((at, record), dropped) in self.records.iter().enumerate().zip(&mut dropped) {
            let id: &[u8] = &record.head.id;
            if counts.get(id).is_none_or(|&count| count < 2) {
                continue;
            }
            let text = text_of(storage, &record.source)?;
            let before = match first.entry((id, xxh3_64(&text))) {
                Entry::Vacant(slot) => {
                    slot.insert(at);
                    continue;
                }
                Entry::Occupied(slot) => self.records.get(*slot.get()).map(|record| text_of(storage, &record.source)),
            };
            if before.transpose()? == Some(text) {
                *dropped = true;
                let what = format!("entry {} left out: it stands there twice", to_string_lossy(id));
                repairs.push(Repair { line: record.line, what });
            }
        }
        // Gaps stand in file order, and so do records.
        let mut gaps = self.gaps.iter_mut().peekable();
        let mut left_out = 0;
        for (at, dropped) in dropped.iter().enumerate() {
            while let Some(gap) = gaps.next_if(|gap| gap.at <= at) {
                gap.at -= left_out;
            }
            left_out += usize::from(*dropped);
        }
        gaps.for_each(|gap| gap.at -= left_out);
        let mut dropped = dropped.into_iter();
        self.records.retain(|_| !dropped.next().unwrap_or_default());
        Ok(())
    }

    /// Gives each entry whose id stands before it already an id of its own; what follows refers to that.
    pub fn rename_repeated(&mut self, storage: &dyn Storage, repairs: &mut Repairs) -> Result<()> {
        let mut taken: HashSet<Vec<u8>> = self.records.iter().map(|record| record.head.id.to_vec()).collect();
        let mut seen: HashSet<Vec<u8>> = HashSet::new();
        let mut now: Renamed = HashMap::new();
        for record in &mut self.records {
            if let Parent::Id(parent) = &record.head.parent {
                if let Some(parent) = now.get(&**parent).cloned() {
                    record.set_parent(Some(&parent));
                }
            }
            let pointed = match record.head.kind {
                Kind::Compaction => Some(("firstKeptEntryId", record.head.first_kept.as_deref().map(<[u8]>::to_vec))),
                Kind::Label | Kind::ContextEdit => {
                    Some(("targetId", record.head.target.as_deref().map(<[u8]>::to_vec)))
                }
                // The index has no use for it, so it is read from the line; most files have nothing to rename.
                Kind::BranchSummary if !now.is_empty() => Some(("fromId", text_field(storage, record, "fromId")?)),
                _ => None,
            };
            if let Some((key, Some(target))) = pointed {
                if let Some(target) = now.get(&target) {
                    record.set(key, quoted(target));
                }
            }
            if !seen.insert(record.head.id.to_vec()) {
                let id = entry_id(|id| taken.contains(id)).into_bytes();
                taken.insert(id.clone());
                let old = std::mem::replace(&mut record.head.id, id.clone().into());
                let what =
                    format!("entry {} is {} now: the id stands before it", to_string_lossy(&old), to_string_lossy(&id));
                repairs.push(Repair { line: record.line, what });
                record.set("id", quoted(&id));
                now.insert(old.into_owned(), id);
            }
        }
        Ok(())
    }

    /// Gives parents to entries whose own is nowhere.
    pub fn rechain(&mut self, repairs: &mut Repairs) {
        let rows: HashMap<&[u8], usize> =
            self.records.iter().enumerate().rev().map(|(at, record)| (&*record.head.id, at)).collect();
        let gap_of: HashMap<&[u8], usize> =
            self.gaps.iter().enumerate().rev().filter_map(|(at, gap)| Some((gap.id.as_deref()?, at))).collect();
        let anchors = self.anchors(&rows, &gap_of);
        let mut changes: Vec<(usize, Option<Vec<u8>>)> = Vec::new();
        let mut kept: Vec<(usize, Vec<u8>)> = Vec::new();
        for (at, record) in self.records.iter().enumerate() {
            let missing = match &record.head.parent {
                Parent::Id(parent) if rows.contains_key(&**parent) => None,
                Parent::Id(parent) => Some(gap_of.get(&**parent).copied()),
                Parent::Number(_) | Parent::Other => Some(None),
                Parent::Null | Parent::Missing => None,
            };
            if let Some(gap) = missing {
                // Which unreadable line it was cannot always be made out: the last one before it is the likeliest.
                let gap = gap.or_else(|| self.gaps.partition_point(|gap| gap.at <= at).checked_sub(1));
                let anchor = gap.and_then(|gap| anchors.get(gap).copied()).unwrap_or(Anchor::Nothing);
                changes.push((at, self.id_at(anchor)));
            }
            let lost = record.head.first_kept.as_ref().filter(|id| !rows.contains_key(&***id));
            if let Some(gap) = lost.and_then(|id| self.gaps.get(*gap_of.get(&**id)?)) {
                let next = self.id_at(Anchor::Record(gap.at)).filter(|_| at > gap.at);
                kept.extend(next.map(|next| (at, next)));
            }
        }
        for (at, parent) in changes {
            let Some(record) = self.records.get_mut(at) else { continue };
            let now =
                parent.as_deref().map_or("a root".into(), |parent| format!("a child of {}", to_string_lossy(parent)));
            let what = format!("entry {} is {now} now: its parent cannot be read", to_string_lossy(&record.head.id));
            repairs.push(Repair { line: record.line, what });
            record.set_parent(parent.as_deref());
        }
        for (at, first) in kept {
            let Some(record) = self.records.get_mut(at) else { continue };
            let what =
                format!("compaction {} keeps from {} on", to_string_lossy(&record.head.id), to_string_lossy(&first));
            repairs.push(Repair { line: record.line, what });
            record.set("firstKeptEntryId", quoted(&first));
        }
    }

    fn id_at(&self, anchor: Anchor) -> Option<Vec<u8>> {
        let id = match anchor {
            Anchor::ParentOf(gap) => self.gaps.get(gap)?.parent.as_deref()?,
            Anchor::Record(at) => &self.records.get(at)?.head.id,
            Anchor::Nothing => return None,
        };
        (id.len() <= LONGEST_ID).then(|| id.to_vec())
    }

    /// What the children of each gap hang from: the parent of what was lost, through other gaps if need be, or the entry
    /// before it. Each gap is followed once.
    fn anchors(&self, rows: &HashMap<&[u8], usize>, gap_of: &HashMap<&[u8], usize>) -> Vec<Anchor> {
        let mut known: Vec<Option<Anchor>> = vec![None; self.gaps.len()];
        let mut seen_from: Vec<Option<usize>> = vec![None; self.gaps.len()];
        for start in 0..self.gaps.len() {
            let mut way = Vec::new();
            let mut at = start;
            let anchor = loop {
                if let Some(anchor) = known.get(at).copied().flatten() {
                    break anchor;
                }
                // A circle of gaps ends where it closes.
                let closed = seen_from.get_mut(at).is_none_or(|seen| seen.replace(start) == Some(start));
                way.push(at);
                let Some(gap) = self.gaps.get(at) else { break Anchor::Nothing };
                let parent = gap.parent.as_deref();
                if parent.is_some_and(|parent| rows.contains_key(parent)) {
                    break Anchor::ParentOf(at);
                }
                match parent.and_then(|parent| gap_of.get(parent)).filter(|_| !closed) {
                    Some(&before) => at = before,
                    None => break gap.at.checked_sub(1).map_or(Anchor::Nothing, Anchor::Record),
                }
            };
            for gap in way {
                if let Some(slot) = known.get_mut(gap) {
                    *slot = Some(anchor);
                }
            }
        }
        known.into_iter().map(|anchor| anchor.unwrap_or(Anchor::Nothing)).collect()
    }

    /// Cuts every cycle at its first entry.
    pub fn cut_cycles(&mut self, repairs: &mut Repairs) {
        let mut tree = Tree::default();
        for record in &self.records {
            tree.push(&record.head, true);
        }
        for cycle in check_integrity(&tree).cycles {
            let Some(record) = cycle.first().and_then(|&row| self.records.get_mut(row as usize)) else { continue };
            let what = format!("entry {} is a root now: it was its own ancestor", to_string_lossy(&record.head.id));
            repairs.push(Repair { line: record.line, what });
            record.set_parent(None);
        }
    }
}

/// A field of a record's line, if it is a text.
fn text_field(storage: &dyn Storage, record: &Record, name: &str) -> Result<Option<Vec<u8>>> {
    let bytes = text_of(storage, &record.source)?;
    let text = String::from_utf8_lossy(&bytes);
    let object = ObjectText::read(&text);
    Ok(object.and_then(|object| Some(string_bytes(object.get(name)?)?.into_owned())))
}

impl Record {
    /// The record's line in the new file.
    pub fn line_text(&self, storage: &dyn Storage) -> Result<Vec<u8>> {
        let bytes = text_of(storage, &self.source)?;
        if self.edits.is_empty() {
            return Ok(bytes);
        }
        let text = String::from_utf8_lossy(&bytes);
        let Some(mut object) = ObjectText::read(&text) else {
            return Ok(bytes.clone());
        };
        for (key, value) in &self.edits {
            object.set(key, value.clone());
        }
        let mut out = Vec::with_capacity(bytes.len() + 32);
        object.write(&mut out);
        Ok(out)
    }
}
