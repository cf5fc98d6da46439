//! Entries made of their lines, many by one call to `JSON.parse`.
//!
//! Ids tell whether a batch was parsed right: several damaged lines can be valid JSON together, though none is by itself.
//! If an id is not the expected one, the lines are parsed one by one.

use napi::{Error, Result};

use crate::js::convert::values::{parse, LONGEST_TEXT};
use crate::js::engine::{JsEnv, JsVal};
use crate::js::factory::{self, FactoryFn};
use pi_session_core::base::error::{Error as CoreError, Result as CoreResult};
use pi_session_core::base::memory::{self, append, push, reserve};
use pi_session_core::base::wtf8::shown;
use pi_session_core::session::Session;
use pi_session_core::tree::tree::RowNo;

/// How many bytes of lines are made into objects in one batch, a longer line aside.
const BATCH_BYTES: usize = 1 << 18;

/// Why entries could not be made: of what the core says, or of what the engine does.
pub enum Failed {
    Core(CoreError),
    Engine(Error),
}

impl From<CoreError> for Failed {
    fn from(error: CoreError) -> Self {
        Self::Core(error)
    }
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self::Engine(error)
    }
}

/// Where entries are made. Nothing here runs the caller's code.
pub struct EntryMaker<'a, 'env> {
    pub session: &'a Session,
    /// The entries come into this list, at their rows.
    pub list: JsVal<'env>,
    /// What their bodies are read from; None if they are made whole.
    pub source: Option<JsVal<'env>>,
}

/// A JSON list of lines.
#[derive(Default)]
struct JoinedLines {
    text: Vec<u8>,
    rows: Vec<RowNo>,
    /// The codes of the bodies that each of them lacks.
    omitted: Vec<u8>,
}

impl<'env> EntryMaker<'_, 'env> {
    /// Makes the entries of these rows. After an error those that were not made are left in `rows`.
    pub fn make(&self, js: JsEnv<'env>, rows: &mut &[RowNo]) -> std::result::Result<(), Failed> {
        while !rows.is_empty() {
            let (batch, later) = rows.split_at(self.batch_len(rows));
            js.scoped(|js, _| Ok(self.make_batch(js, batch)))??;
            *rows = later;
        }
        Ok(())
    }

    /// How many of these rows, at least one, are made in one batch.
    fn batch_len(&self, rows: &[RowNo]) -> usize {
        let index = self.session.index();
        let mut size = 0;
        let fitting = rows.iter().take_while(|&&row| {
            size += 1 + match self.source {
                Some(_) => index.length_without_bodies(row),
                None => index.line_span(row).map_or(0, |span| span.len as usize),
            };
            size <= BATCH_BYTES
        });
        fitting.count().clamp(1, rows.len())
    }

    fn make_batch(&self, js: JsEnv<'env>, rows: &[RowNo]) -> std::result::Result<(), Failed> {
        let lines = self.lines(rows)?;
        match lines.rows.as_slice() {
            [] => Ok(()),
            [row] => self.make_one(js, *row, &lines),
            _ if self.make_together(js, &lines)? => Ok(()),
            // They are JSON together, but not each by itself, or one is another entry's.
            _ => rows.iter().try_for_each(|row| self.make_batch(js, std::slice::from_ref(row))),
        }
    }

    fn lines(&self, rows: &[RowNo]) -> CoreResult<JoinedLines> {
        let mut lines = JoinedLines::default();
        let mut take = |row, line: &str, omitted| Ok(lines.add(row, line, omitted)?);
        match self.source {
            Some(_) => self.session.lines_without_bodies(rows, &mut take),
            None => self.session.lines(rows, &mut take),
        }?;
        lines.text.push(b']');
        Ok(lines)
    }

    /// Gives false if the lines are not the entries of their rows.
    fn make_together(&self, js: JsEnv<'env>, lines: &JoinedLines) -> std::result::Result<bool, Failed> {
        let mut ids = Vec::new();
        for &row in &lines.rows {
            let joined = append(&mut ids, self.session.tree().id_of(row)).and_then(|()| append(&mut ids, b"\n"));
            joined.map_err(CoreError::from)?;
        }
        let (rows, omitted) = (js.u32s(&lines.rows)?, js.u8s(&lines.omitted)?);
        let (text, ids) = (js.string(&lines.text)?, js.string(&ids)?);
        let args = [self.list, rows, omitted, self.source(js)?, text, ids];
        Ok(js.is_truthy(factory::call(js, FactoryFn::Fill, &args)?)?)
    }

    fn make_one(&self, js: JsEnv<'env>, row: RowNo, lines: &JoinedLines) -> std::result::Result<(), Failed> {
        let line = lines.text.get(1..lines.text.len() - 1).unwrap_or_default();
        // It was a text when it was added.
        let line = std::str::from_utf8(line).unwrap_or_default();
        let known = self.session.tree().id_of(row);
        let entry = match parse(js, line) {
            Err(_) if line.len() > LONGEST_TEXT => {
                js.take_exception()?;
                return Err(CoreError::value_too_long(self.path(), &shown(known), "a value", line.len()).into());
            }
            entry => entry?,
        };
        if js.text(js.get(entry, c"id")?)?.as_deref() != Some(known) {
            self.session.mark_suspect();
            let what = format!("entry {} is no longer where it was", shown(known));
            return Err(CoreError::changed(self.path(), what).into());
        }
        let entry = match lines.omitted.first() {
            None | Some(0) => entry,
            Some(&omitted) => {
                let [row, omitted] = [js.number(f64::from(row))?, js.number(f64::from(omitted))?];
                factory::call(js, FactoryFn::Defer, &[entry, row, omitted, self.source(js)?])?
            }
        };
        Ok(js.set_at(self.list, row, entry)?)
    }

    fn source(&self, js: JsEnv<'env>) -> Result<JsVal<'env>> {
        self.source.map_or_else(|| js.undefined(), Ok)
    }

    fn path(&self) -> &str {
        self.session.file().unwrap_or_default()
    }
}

impl JoinedLines {
    fn add(&mut self, row: RowNo, line: &str, omitted: u8) -> memory::Result<()> {
        // The bracket at the end included.
        reserve(&mut self.text, line.len() + 2)?;
        self.text.push(if self.text.is_empty() { b'[' } else { b',' });
        self.text.extend_from_slice(line.as_bytes());
        push(&mut self.rows, row)?;
        push(&mut self.omitted, omitted)
    }
}
