//! What the core needs of the objects when the file under a session is gone or another one: entries that cannot be
//! read any more are in memory alone.

use std::cell::RefCell;
use std::collections::HashMap;

use napi::Result;

use super::materialize::{ensure, object};
use super::object_lines::kept_lines;
use super::state::State;
use crate::core::base::error::{Error as CoreError, Result as CoreResult};
use crate::core::session::Session;
use crate::core::tree::tree::RowNo;
use crate::js::convert::errors::{thrown, wrong_argument};
use crate::js::convert::text::line_of;
use crate::js::engine::JsEnv;

/// The help that one call has had: each kind is given once.
#[derive(Default)]
pub struct Resupply {
    recreated: bool,
    supplied: bool,
}

impl Resupply {
    /// Whether something can be done about an error.
    pub fn can(&self, error: &CoreError) -> bool {
        (error.is_lost() && !self.recreated) || (error.needs_lines() && !self.supplied)
    }

    /// Does it, so that the call can be tried again; else throws the error. The caller's code may run.
    pub fn give(&mut self, state: &RefCell<State>, js: JsEnv<'_>, error: CoreError) -> Result<()> {
        if !self.can(&error) {
            return Err(thrown(js, &error));
        }
        match error.is_lost() {
            true => {
                self.recreated = true;
                let rows = state.borrow().session.tree().len() as RowNo;
                if ensure(state, js, 0..rows).is_err() {
                    // What cannot be read now is what the error says is lost.
                    js.take_exception()?;
                    return Err(thrown(js, &error));
                }
                recreate_file(state, js)
            }
            false => {
                self.supplied = true;
                supply_lines(state, js)
            }
        }
    }
}

/// Does something that looks at the file, with all the help there is; the objects follow what comes in.
pub fn with_file(state: &RefCell<State>, js: JsEnv<'_>, work: impl Fn(&mut Session) -> CoreResult<()>) -> Result<()> {
    let mut resupply = Resupply::default();
    loop {
        let done = {
            let mut state = state.borrow_mut();
            let done = work(&mut state.session);
            state.settle(js)?;
            done
        };
        match done {
            Ok(()) => return Ok(()),
            Err(error) => resupply.give(state, js, error)?,
        }
    }
}

/// Reads; where a line is not where it was, takes in what is there now and reads again.
pub fn reading<T>(state: &RefCell<State>, js: JsEnv<'_>, read: impl Fn() -> Result<T>) -> Result<T> {
    let result = read();
    if result.is_ok() || !state.borrow().session.is_suspect() {
        return result;
    }
    let exception = js.take_exception()?;
    let recovered = {
        let mut state = state.borrow_mut();
        let recovered = state.session.recover();
        state.settle(js)?;
        recovered
    };
    match (recovered, exception) {
        (Ok(()), _) => read(),
        (Err(_), Some(exception)) => Err(js.throw(exception)),
        (Err(_), None) => result,
    }
}

/// Gives the lines of entries that the file in the place of ours lacks, as the caller has them now.
fn supply_lines(state: &RefCell<State>, js: JsEnv<'_>) -> Result<()> {
    let (epoch, missing) = {
        let state = state.borrow();
        (state.epoch, state.session.missing_rows())
    };
    let mut lines = HashMap::new();
    for row in missing {
        let is_kept = {
            let state = state.borrow();
            state.cache.has(row) || state.cache.has_own(row)
        };
        if !is_kept {
            continue;
        }
        let line = js.scoped(|js, _| line_of(js, object(state, js, row)?));
        // An object that cannot be its entry any more is as good as none.
        let line = line.and_then(|line| {
            let known = state.borrow().session.line_as_known(row, line);
            known.map_err(|error| thrown(js, &error))
        });
        match line {
            Ok(line) => drop(lines.insert(row, line)),
            // A body that nobody looked at went with the file. Without an ancestor its children are orphans; without
            // an entry that was appended here the look that follows is an error.
            Err(_) => drop(js.take_exception()?),
        }
    }
    let mut state = state.borrow_mut();
    if state.epoch != epoch {
        return Err(wrong_argument(js, "The session changed while it was written again"));
    }
    state.session.supply_lines(lines);
    Ok(())
}

/// Writes a session whose file is lost again, from the objects that were made of it: an error if not all were.
fn recreate_file(state: &RefCell<State>, js: JsEnv<'_>) -> Result<()> {
    let (epoch, rows) = {
        let state = state.borrow();
        (state.epoch, state.session.tree().len())
    };
    super::materialize::header(state, js)?;
    let lines = kept_lines(state, js)?;
    let mut state = state.borrow_mut();
    if state.epoch != epoch || state.session.tree().len() != rows || lines.len() != rows + 1 {
        return Err(wrong_argument(js, "The session changed while it was written again"));
    }
    state.session.recreate_file(lines.iter().map(Vec::as_slice)).map_err(|error| thrown(js, &error))
}
