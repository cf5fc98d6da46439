//! Entries made of their lines, many in one stroke.

use napi::Result;

use super::host::{make, F};
use super::raw::{Js, Val};
use super::values::{parse, LONGEST_TEXT};
use crate::core::tree::RowNo;

/// Lines to be made into entries. ASCII ones are made together, by one call to `JSON.parse` for many.
#[derive(Default)]
pub struct Stroke {
    /// A list of the lines that are made together.
    text: Vec<u8>,
    together: Vec<RowNo>,
    /// The codes of the bodies that each of them lacks.
    lacks: Vec<u8>,
    alone: Vec<(RowNo, String, u8)>,
}

impl Stroke {
    /// Adds a row's line, which lacks the bodies with these codes.
    pub fn add(&mut self, row: RowNo, line: &str, lacks: u8) {
        // Those made together stand between brackets.
        if !line.is_ascii() || line.len() > LONGEST_TEXT - 2 {
            self.alone.push((row, line.to_owned(), lacks));
            return;
        }
        self.text.push(if self.text.is_empty() { b'[' } else { b',' });
        self.text.extend_from_slice(line.as_bytes());
        self.together.push(row);
        self.lacks.push(lacks);
    }

    /// The rows that were added.
    pub fn rows(&self) -> impl Iterator<Item = RowNo> + '_ {
        self.together.iter().copied().chain(self.alone.iter().map(|(row, ..)| *row))
    }

    /// Makes the entries in their places of a list. Their bodies are read from `source`. Gives a row whose line, of
    /// that many bytes, holds what no JavaScript string can, if there is one.
    pub fn make(&mut self, js: Js, list: Val, source: Option<Val>) -> Result<Option<(RowNo, usize)>> {
        let source = source.map_or_else(|| js.undefined(), Ok)?;
        for (row, line, lacks) in &self.alone {
            let made = js.scoped(|| {
                let entry = match parse(js, line) {
                    Err(_) if line.len() > LONGEST_TEXT => {
                        js.take_exception()?;
                        return Ok(false);
                    }
                    entry => entry?,
                };
                let entry = match lacks {
                    0 => entry,
                    _ => {
                        let [row, lacks] = [js.number(f64::from(*row))?, js.number(f64::from(*lacks))?];
                        make(js, F::Defer, &[entry, row, lacks, source])?
                    }
                };
                js.set_at(list, *row, entry)?;
                Ok(true)
            })?;
            if !made {
                return Ok(Some((*row, line.len())));
            }
        }
        if self.together.is_empty() {
            return Ok(None);
        }
        self.text.push(b']');
        js.scoped(|| {
            let args = [list, js.u32s(&self.together)?, js.u8s(&self.lacks)?, source, js.string(&self.text)?];
            make(js, F::Fill, &args).map(|_| None)
        })
    }
}
