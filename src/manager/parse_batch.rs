//! Creates entries from their lines, many by one call of `JSON.parse`.
//!
//! The ids show whether a batch was parsed correctly: several damaged lines can be valid JSON together, even if none is
//! by itself. If an id is not the expected one, the lines are parsed one by one.

use encoding_rs::mem::is_utf8_latin1;
use napi::{Error, Result};

use crate::convert::errors::OrThrow;
use crate::convert::values::{parse, LONGEST_TEXT};
use crate::engine::{JsEnv, JsVal};
use crate::factory::{self, FactoryFn};
use pi_session_core::addon::memory;
use pi_session_core::addon::memory::{append, push, reserve};
use pi_session_core::wtf8::{shown, to_string_lossy};
use pi_session_core::{Error as CoreError, Result as CoreResult, RowNo, Session};

/// How many bytes of lines are parsed in one batch, unless a single line is longer.
const BATCH_BYTES: usize = 1 << 18;

/// Creates entries. The caller's code does not run here.
pub struct EntryMaker<'a, 'env> {
    pub session: &'a Session,
    /// The list that receives the entries, at their rows.
    pub list: JsVal<'env>,
    /// The reader of their bodies.
    pub source: JsVal<'env>,
}

/// A JSON list of lines.
#[derive(Default)]
struct JoinedLines {
    text: Vec<u8>,
    rows: Vec<RowNo>,
    /// For each line, the codes of the bodies that were removed from it.
    omitted: Vec<u8>,
}

impl<'env> EntryMaker<'_, 'env> {
    /// Creates the entries of these rows. After an error `rows` contains the rows that were not created.
    pub fn make(&self, js: JsEnv<'env>, rows: &mut &[RowNo]) -> Result<()> {
        while !rows.is_empty() {
            let (batch, later) = rows.split_at(self.batch_len(rows));
            js.scoped(|js, _| self.make_batch(js, batch))?;
            *rows = later;
        }
        Ok(())
    }

    /// How many of these rows, at least one, are in the next batch.
    fn batch_len(&self, rows: &[RowNo]) -> usize {
        let index = self.session.index();
        let mut size = 0;
        let fitting = rows.iter().take_while(|&&row| {
            size += 1 + index.length_without_bodies(row);
            size <= BATCH_BYTES
        });
        fitting.count().clamp(1, rows.len())
    }

    fn make_batch(&self, js: JsEnv<'env>, rows: &[RowNo]) -> Result<()> {
        let [latin1, others] = self.lines(rows).or_throw(js)?;
        self.make_lines(js, &latin1)?;
        self.make_lines(js, &others)
    }

    fn make_lines(&self, js: JsEnv<'env>, lines: &JoinedLines) -> Result<()> {
        match lines.rows.as_slice() {
            [] => Ok(()),
            [row] => self.make_one(js, *row, lines),
            _ if self.make_together(js, lines)? => Ok(()),
            // Together they are JSON, but one by itself is not, or one is another entry's line.
            rows => rows.iter().try_for_each(|row| self.make_batch(js, std::slice::from_ref(row))),
        }
    }

    /// The lines of these rows in two lists: lines in Latin-1, and all others. With one letter beyond Latin-1 a whole
    /// text has two bytes for each letter, and the engine parses it more slowly.
    fn lines(&self, rows: &[RowNo]) -> CoreResult<[JoinedLines; 2]> {
        let (mut latin1, mut others) = (JoinedLines::default(), JoinedLines::default());
        self.session.lines_without_bodies(rows, &mut |row, line: &str, omitted| {
            let lines = if is_utf8_latin1(line.as_bytes()) { &mut latin1 } else { &mut others };
            Ok(lines.add(row, line, omitted)?)
        })?;
        latin1.text.push(b']');
        others.text.push(b']');
        Ok([latin1, others])
    }

    /// Returns false if the lines are not the entries of their rows.
    fn make_together(&self, js: JsEnv<'env>, lines: &JoinedLines) -> Result<bool> {
        let mut ids = Vec::new();
        for &row in &lines.rows {
            let joined = append(&mut ids, self.session.tree().id_of(row)).and_then(|()| append(&mut ids, b"\n"));
            joined.or_throw(js)?;
        }
        let (rows, omitted) = (js.u32s(&lines.rows)?, js.u8s(&lines.omitted)?);
        let (text, ids) = (js.string(&lines.text)?, js.string(&ids)?);
        let args = [self.list, rows, omitted, self.source, text, ids];
        let is_made = factory::call(js, FactoryFn::Fill, &args).or_else(|error| self.unreadable(js, error))?;
        js.is_truthy(is_made)
    }

    fn make_one(&self, js: JsEnv<'env>, row: RowNo, lines: &JoinedLines) -> Result<()> {
        let line = lines.text.get(1..lines.text.len() - 1).unwrap_or_default();
        // It was valid UTF-8 when it was added.
        let line = std::str::from_utf8(line).unwrap_or_default();
        let known = self.session.tree().id_of(row);
        let entry = match parse(js, line) {
            Err(_) if line.len() > LONGEST_TEXT => {
                js.take_exception()?;
                return Err(CoreError::value_too_long(self.path(), &shown(known), "a value", line.len())).or_throw(js);
            }
            entry => entry.or_else(|error| self.unreadable(js, error))?,
        };
        if js.text(js.get(entry, c"id")?)?.as_deref() != Some(known) {
            self.session.mark_suspect();
            let what = format!("entry {} is no longer at its position", shown(known));
            return Err(CoreError::changed(self.path(), what)).or_throw(js);
        }
        let entry = match lines.omitted.first() {
            None | Some(0) => entry,
            Some(&omitted) => {
                let [row, omitted] = [js.number(f64::from(row))?, js.number(f64::from(omitted))?];
                factory::call(js, FactoryFn::Defer, &[entry, row, omitted, self.source])?
            }
        };
        js.set_at(self.list, row, entry)
    }

    /// Throws an error: lines that were valid when they were indexed cannot be read now.
    fn unreadable<T>(&self, js: JsEnv<'env>, error: Error) -> Result<T> {
        let reason = match js.take_exception()? {
            Some(exception) if own_text(js, exception, "code")?.as_deref() == Some("ENOMEM") => {
                return Err(js.throw(exception))
            }
            Some(exception) => own_text(js, exception, "message")?.unwrap_or_default(),
            None => error.reason,
        };
        self.session.mark_suspect();
        Err(CoreError::changed(self.path(), format!("an entry cannot be read ({reason})"))).or_throw(js)
    }

    fn path(&self) -> &str {
        self.session.file().unwrap_or_default()
    }
}

/// An own property of an error, if it is a text. Not a prototype's, which could run the caller's code.
fn own_text(js: JsEnv<'_>, error: JsVal<'_>, key: &str) -> Result<Option<String>> {
    let key = js.string(key.as_bytes())?;
    if !js.is_object(error)? || !js.has_own(error, key)? {
        return Ok(None);
    }
    Ok(js.text(js.get_key(error, key)?)?.map(|text| to_string_lossy(&text).into_owned()))
}

impl JoinedLines {
    fn add(&mut self, row: RowNo, line: &str, omitted: u8) -> memory::Result<()> {
        // Includes the bracket at the end.
        reserve(&mut self.text, line.len() + 2)?;
        self.text.push(if self.text.is_empty() { b'[' } else { b',' });
        self.text.extend_from_slice(line.as_bytes());
        push(&mut self.rows, row)?;
        push(&mut self.omitted, omitted)
    }
}
