//! The entries of one manager as JavaScript objects, each made once and kept, so that identity holds.

use napi::Result;

use super::host::make;
use super::raw::{Js, Kept, Val};
use super::values::parse;
use crate::core::tree::RowNo;

/// The header and the entries that were made so far.
pub struct Cache {
    /// A list with an element per row; a hole where no object was made yet.
    entries: Kept,
    header: Option<Kept>,
    made: Vec<bool>,
    missing: usize,
}

impl Cache {
    /// A cache for a session of `rows` entries, none made.
    pub fn new(js: Js, rows: usize) -> Result<Self> {
        let entries = js.keep(js.array(rows)?)?;
        Ok(Self { entries, header: None, made: vec![false; rows], missing: rows })
    }

    /// Lets every object go.
    pub fn release(self, js: Js) -> Result<()> {
        if let Some(header) = self.header {
            js.release(header)?;
        }
        js.release(self.entries)
    }

    /// Makes room for rows that came in since.
    pub fn grow(&mut self, rows: usize) {
        if rows > self.made.len() {
            self.missing += rows - self.made.len();
            self.made.resize(rows, false);
        }
    }

    /// The list of entries, holes included.
    pub fn list(&self, js: Js) -> Result<Val> {
        js.kept(&self.entries)
    }

    /// The header's object, if it was made.
    pub fn header(&self, js: Js) -> Result<Option<Val>> {
        self.header.as_ref().map(|kept| js.kept(kept)).transpose()
    }

    /// Keeps the header's object.
    pub fn set_header(&mut self, js: Js, header: Val) -> Result<()> {
        if let Some(old) = self.header.replace(js.keep(header)?) {
            js.release(old)?;
        }
        Ok(())
    }

    /// Whether an entry's object was made.
    pub fn has(&self, row: RowNo) -> bool {
        self.made.get(row as usize).copied().unwrap_or(false)
    }

    /// Whether every entry's object was made.
    pub fn is_full(&self) -> bool {
        self.missing == 0
    }

    /// An entry's object; `undefined` if it was not made.
    pub fn get(&self, js: Js, row: RowNo) -> Result<Val> {
        js.at(self.list(js)?, row)
    }

    /// Keeps an entry's object.
    pub fn set(&mut self, js: Js, row: RowNo, object: Val) -> Result<()> {
        js.set_at(self.list(js)?, row, object)?;
        self.mark(row);
        Ok(())
    }

    fn mark(&mut self, row: RowNo) {
        self.grow(row as usize + 1);
        if let Some(made) = self.made.get_mut(row as usize).filter(|made| !**made) {
            *made = true;
            self.missing -= 1;
        }
    }

    /// Makes the objects of these lines. Short ASCII ones are made together: one call to `JSON.parse` for many.
    pub fn fill(&mut self, js: Js, lines: &[(RowNo, String)]) -> Result<()> {
        let (together, alone): (Vec<_>, Vec<_>) = lines.iter().partition(|(_, line)| line.is_ascii());
        for (row, line) in alone {
            js.scoped(|| self.set(js, *row, parse(js, line)?))?;
        }
        if together.is_empty() {
            return Ok(());
        }
        let mut text = String::with_capacity(together.iter().map(|(_, line)| line.len() + 1).sum::<usize>() + 2);
        for (_, line) in &together {
            text.push(if text.is_empty() { '[' } else { ',' });
            text.push_str(line);
        }
        text.push(']');
        let rows: Vec<u32> = together.iter().map(|(row, _)| *row).collect();
        js.scoped(|| {
            let args = [self.list(js)?, js.u32s(&rows)?, js.string(text.as_bytes())?];
            make(js, c"fill", &args)
        })?;
        rows.into_iter().for_each(|row| self.mark(row));
        Ok(())
    }
}
