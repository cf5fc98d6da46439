//! Entries made of their lines, many in one batch.
//!
//! Ids tell whether a batch was parsed right: several damaged lines can be valid JSON together, though none is by itself.
//! If an id is not the expected one, the lines are parsed one by one.

use napi::Result;

use crate::js::convert::errors::OrThrow;
use crate::js::convert::values::{parse, LONGEST_TEXT};
use crate::js::engine::{JsEnv, JsVal};
use crate::js::factory::{self, FactoryFn};
use pi_session_core::base::memory::{self, append, copy_of, push, reserve};
use pi_session_core::tree::tree::{RowNo, Tree};

/// How many bytes of lines are made together, a longer line aside: an engine limits the length of one text.
const TOGETHER: usize = 1 << 20;

/// Lines to be made into entries.
#[derive(Default)]
pub struct ParseBatch {
    ascii: JoinedLines,
    /// Lines with other characters: a string that has one takes two bytes for each letter.
    wide: JoinedLines,
    alone: Vec<(RowNo, String, u8)>,
}

/// Lines that are made together, by one call to `JSON.parse`.
#[derive(Default)]
struct JoinedLines {
    /// A list of the lines.
    text: Vec<u8>,
    /// Where each of them ends in the text.
    ends: Vec<usize>,
    rows: Vec<RowNo>,
    /// The codes of the bodies that were omitted from each of them.
    omitted: Vec<u8>,
}

/// Why a line gives no entry.
pub enum UnusableLine {
    /// The row's line, of that many bytes, holds what no JavaScript string can.
    TooLong(RowNo, usize),
    /// The row's line is another entry's.
    Other(RowNo),
}

impl ParseBatch {
    /// Adds a row's line, from which the bodies with these codes were omitted.
    pub fn add(&mut self, row: RowNo, line: &str, omitted: u8) -> memory::Result<()> {
        let together = if line.is_ascii() { &mut self.ascii } else { &mut self.wide };
        let is_full = !together.text.is_empty() && together.text.len() + line.len() > TOGETHER;
        // Those made together are between brackets.
        if is_full || line.len() > LONGEST_TEXT - 2 {
            return push(&mut self.alone, (row, copy_of(line)?, omitted));
        }
        // The bracket at the end included.
        reserve(&mut together.text, line.len() + 2)?;
        together.text.push(if together.text.is_empty() { b'[' } else { b',' });
        together.text.extend_from_slice(line.as_bytes());
        push(&mut together.ends, together.text.len())?;
        push(&mut together.rows, row)?;
        push(&mut together.omitted, omitted)
    }

    /// Ends the batch.
    pub fn finish(&mut self) {
        self.ascii.text.push(b']');
        self.wide.text.push(b']');
    }

    /// The rows that were added.
    pub fn rows(&self) -> impl Iterator<Item = RowNo> + '_ {
        let together = self.ascii.rows.iter().chain(&self.wide.rows).copied();
        together.chain(self.alone.iter().map(|(row, ..)| *row))
    }

    /// Makes the entries in their places of a list. Their bodies are read from `source`. Gives a line that is not an entry
    /// of its row, if there is one.
    pub fn make(
        &self,
        js: JsEnv<'_>,
        tree: &Tree,
        list: JsVal<'_>,
        source: Option<JsVal<'_>>,
    ) -> Result<Option<UnusableLine>> {
        let source = source.map_or_else(|| js.undefined(), Ok)?;
        let to = EntryTarget { js, tree, list, source };
        for (row, line, omitted) in &self.alone {
            if let Some(unusable) = to.make(*row, line, *omitted)? {
                return Ok(Some(unusable));
            }
        }
        match self.ascii.make(&to)? {
            None => self.wide.make(&to),
            unusable => Ok(unusable),
        }
    }
}

impl JoinedLines {
    fn make(&self, to: &EntryTarget<'_, '_>) -> Result<Option<UnusableLine>> {
        if self.rows.is_empty() {
            return Ok(None);
        }
        let mut ids = Vec::new();
        for &row in &self.rows {
            let joined = append(&mut ids, to.tree.id_of(row)).and_then(|()| append(&mut ids, b"\n"));
            joined.or_throw(to.js)?;
        }
        let filled = to.js.scoped(|js, _| {
            let (rows, omitted) = (js.u32s(&self.rows)?, js.u8s(&self.omitted)?);
            let (text, ids) = (js.string(&self.text)?, js.string(&ids)?);
            let filled = factory::call(js, FactoryFn::Fill, &[to.list, rows, omitted, to.source, text, ids])?;
            js.is_truthy(filled)
        })?;
        // Lines that were not filled in are JSON together, but not each by itself.
        if filled {
            Ok(None)
        } else {
            self.one_by_one(to)
        }
    }

    fn one_by_one(&self, to: &EntryTarget<'_, '_>) -> Result<Option<UnusableLine>> {
        let mut from = 1;
        for ((&row, &omitted), &end) in self.rows.iter().zip(&self.omitted).zip(&self.ends) {
            // It was a text when it was added.
            let line = std::str::from_utf8(self.text.get(from..end).unwrap_or_default()).unwrap_or_default();
            if let Some(unusable) = to.make(row, line, omitted)? {
                return Ok(Some(unusable));
            }
            from = end + 1;
        }
        Ok(None)
    }
}

/// Where entries are made.
struct EntryTarget<'a, 'env> {
    js: JsEnv<'env>,
    tree: &'a Tree,
    list: JsVal<'env>,
    source: JsVal<'env>,
}

impl EntryTarget<'_, '_> {
    /// Makes one entry of its line.
    fn make(&self, row: RowNo, line: &str, omitted: u8) -> Result<Option<UnusableLine>> {
        let js = self.js;
        js.scoped(|js, _| {
            let entry = match parse(js, line) {
                Err(_) if line.len() > LONGEST_TEXT => {
                    js.take_exception()?;
                    return Ok(Some(UnusableLine::TooLong(row, line.len())));
                }
                entry => entry?,
            };
            if js.text(js.get(entry, c"id")?)?.as_deref() != Some(self.tree.id_of(row)) {
                return Ok(Some(UnusableLine::Other(row)));
            }
            let entry = match omitted {
                0 => entry,
                _ => {
                    let [row, omitted] = [js.number(f64::from(row))?, js.number(f64::from(omitted))?];
                    factory::call(js, FactoryFn::Defer, &[entry, row, omitted, self.source])?
                }
            };
            js.set_at(self.list, row, entry)?;
            Ok(None)
        })
    }
}
