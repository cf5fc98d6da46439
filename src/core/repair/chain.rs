//! The entries of a file that is being repaired, and how they hang together.

use std::collections::{HashMap, HashSet};

use super::{bytes_at, Renamed, Repair};
use crate::core::diagnostics::findings;
use crate::core::entry::{EntryHead, Kind, Parent};
use crate::core::error::Result;
use crate::core::ids::entry_id;
use crate::core::json::{quoted, ObjectText};
use crate::core::storage::{Place, Storage};
use crate::core::text::shown;
use crate::core::tree::Tree;

/// Where a line of the new file comes from.
#[derive(Debug, Clone)]
pub enum Source {
    /// It stands in the old file.
    Same(Place),
    Text(Vec<u8>),
}

/// An entry that stays.
#[derive(Debug)]
pub struct Record {
    pub head: EntryHead<'static>,
    pub source: Source,
    /// Its line in the old file, or the one that it stood inside of.
    pub line: u64,
    /// Its fields that will be others, with their new texts.
    edits: Vec<(&'static str, String)>,
}

impl Record {
    pub fn of(head: EntryHead<'static>, source: Source, line: u64) -> Self {
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
pub struct Gap {
    /// How many records stand before it.
    at: usize,
    id: Option<String>,
    parent: Option<String>,
}

impl Gap {
    /// A gap before record `at`, of which this text is left.
    pub fn of(text: &str, at: usize) -> Self {
        let field = |name: &str| {
            let (_, rest) = text.split_once(&format!("\"{name}\":\""))?;
            let (value, _) = rest.split_once('"')?;
            Some(value.to_owned()).filter(|value| !value.contains('\\'))
        };
        Self { at, id: field("id"), parent: field("parentId") }
    }
}

/// Everything that stays, in file order.
pub struct Chain {
    pub records: Vec<Record>,
    pub gaps: Vec<Gap>,
}

impl Chain {
    /// Leaves out lines that stand there twice, byte by byte the same.
    pub fn drop_repeated(&mut self, storage: &dyn Storage, repairs: &mut Vec<Repair>) -> Result<()> {
        let mut first: HashMap<Vec<u8>, usize> = HashMap::new();
        let mut dropped: HashSet<usize> = HashSet::new();
        for (at, record) in self.records.iter().enumerate() {
            match first.get(&*record.head.id) {
                None => drop(first.insert(record.head.id.to_vec(), at)),
                Some(&before) => {
                    let before = self.records.get(before).map(|record| text_of(storage, &record.source));
                    if before.transpose()? == Some(text_of(storage, &record.source)?) {
                        dropped.insert(at);
                        let what = format!("entry {} left out: it stands there twice", shown(&record.head.id));
                        repairs.push(Repair { line: record.line, what });
                    }
                }
            }
        }
        let mut at = 0;
        let gaps = &mut self.gaps;
        for gap in gaps.iter_mut() {
            gap.at -= dropped.iter().filter(|&&record| record < gap.at).count();
        }
        self.records.retain(|_| {
            at += 1;
            !dropped.contains(&(at - 1))
        });
        Ok(())
    }

    /// Gives each entry whose id stands before it already an id of its own; what follows refers to that.
    pub fn rename_repeated(&mut self, repairs: &mut Vec<Repair>) {
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
                Kind::Compaction => Some(("firstKeptEntryId", record.head.first_kept.clone())),
                Kind::Label | Kind::ContextEdit => Some(("targetId", record.head.target.clone())),
                _ => None,
            };
            if let Some((key, Some(target))) = pointed {
                if let Some(target) = now.get(&*target) {
                    record.set(key, quoted(target));
                }
            }
            if !seen.insert(record.head.id.to_vec()) {
                let id = entry_id(|id| taken.contains(id)).into_bytes();
                taken.insert(id.clone());
                let old = std::mem::replace(&mut record.head.id, id.clone().into());
                let what = format!("entry {} is {} now: the id stands before it", shown(&old), shown(&id));
                repairs.push(Repair { line: record.line, what });
                record.set("id", quoted(&id));
                now.insert(old.into_owned(), id);
            }
        }
    }

    /// Gives parents to entries whose own is nowhere.
    pub fn rechain(&mut self, repairs: &mut Vec<Repair>) {
        let ids: HashSet<Vec<u8>> = self.records.iter().map(|record| record.head.id.to_vec()).collect();
        let order: Vec<Vec<u8>> = self.records.iter().map(|record| record.head.id.to_vec()).collect();
        let gap_of: HashMap<&str, usize> =
            self.gaps.iter().enumerate().rev().filter_map(|(at, gap)| Some((gap.id.as_deref()?, at))).collect();
        let mut changes: Vec<(usize, Option<Vec<u8>>)> = Vec::new();
        let mut kept: Vec<(usize, Vec<u8>)> = Vec::new();
        for (at, record) in self.records.iter().enumerate() {
            let text = |id: &[u8]| String::from_utf8_lossy(id).into_owned();
            let missing = match &record.head.parent {
                Parent::Id(parent) if ids.contains(&**parent) => None,
                Parent::Id(parent) => Some(gap_of.get(text(parent).as_str()).copied()),
                Parent::Number(_) | Parent::Other => Some(None),
                Parent::Null | Parent::Missing => None,
            };
            if let Some(gap) = missing {
                // Which unreadable line it was cannot always be made out: the last one before it is the likeliest.
                let gap = gap.or_else(|| self.gaps.iter().rposition(|gap| gap.at <= at));
                changes.push((at, gap.and_then(|gap| self.parent_of(gap, &ids, &gap_of, &order))));
            }
            let lost = record.head.first_kept.as_ref().filter(|id| !ids.contains(&***id));
            if let Some(gap) = lost.and_then(|id| gap_of.get(text(id).as_str())) {
                let next = self.gaps.get(*gap).and_then(|gap| order.get(gap.at)).filter(|_| at > *gap);
                kept.extend(next.map(|next| (at, next.clone())));
            }
        }
        for (at, parent) in changes {
            let Some(record) = self.records.get_mut(at) else { continue };
            let now = parent.as_deref().map_or("a root".into(), |parent| format!("a child of {}", shown(parent)));
            let what = format!("entry {} is {now} now: its parent cannot be read", shown(&record.head.id));
            repairs.push(Repair { line: record.line, what });
            record.set_parent(parent.as_deref());
        }
        for (at, first) in kept {
            let Some(record) = self.records.get_mut(at) else { continue };
            let what = format!("compaction {} keeps from {} on", shown(&record.head.id), shown(&first));
            repairs.push(Repair { line: record.line, what });
            record.set("firstKeptEntryId", quoted(&first));
        }
    }

    /// What the children of a gap hang from: the parent of what was lost, or the entry before it.
    fn parent_of(
        &self,
        gap: usize,
        ids: &HashSet<Vec<u8>>,
        gap_of: &HashMap<&str, usize>,
        order: &[Vec<u8>],
    ) -> Option<Vec<u8>> {
        let mut at = gap;
        for _ in 0..=self.gaps.len() {
            let Some(parent) = self.gaps.get(at).and_then(|gap| gap.parent.as_deref()) else { break };
            if ids.contains(parent.as_bytes()) {
                return Some(parent.as_bytes().to_vec());
            }
            match gap_of.get(parent) {
                Some(&before) => at = before,
                None => break,
            }
        }
        let before = self.gaps.get(at)?.at.checked_sub(1)?;
        order.get(before).cloned()
    }

    /// Cuts every cycle at its first entry.
    pub fn cut_cycles(&mut self, repairs: &mut Vec<Repair>) {
        let mut tree = Tree::default();
        for record in &self.records {
            tree.push(&record.head, true);
        }
        for cycle in findings(&tree).cycles {
            let Some(record) = cycle.first().and_then(|&row| self.records.get_mut(row as usize)) else { continue };
            let what = format!("entry {} is a root now: it was its own ancestor", shown(&record.head.id));
            repairs.push(Repair { line: record.line, what });
            record.set_parent(None);
        }
    }
}

/// The bytes of a line.
pub fn text_of(storage: &dyn Storage, source: &Source) -> Result<Vec<u8>> {
    match source {
        Source::Same(place) => bytes_at(storage, *place),
        Source::Text(text) => Ok(text.clone()),
    }
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
