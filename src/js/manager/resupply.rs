//! Gives the core lines that only objects still have: when the file of a session was deleted or replaced, entries that cannot be
//! read any more exist only in memory.

use std::cell::RefCell;
use std::collections::HashMap;

use napi::Result;

use super::materialize::{ensure, object};
use super::object_lines::kept_lines;
use super::state::ManagerState;
use crate::js::convert::errors::{thrown, wrong_argument, OrThrow};
use crate::js::convert::text::line_of;
use crate::js::engine::JsEnv;
use pi_session_core::base::error::{Error as CoreError, Result as CoreResult};
use pi_session_core::base::memory::{collect, insert};
use pi_session_core::session::Session;
use pi_session_core::tree::tree::RowNo;

/// What was done for one call so far: each step is taken once.
#[derive(Default)]
pub struct Resupply {
    recreated: bool,
    supplied: bool,
}

impl Resupply {
    /// Does it, so that the call can be tried again. Throws the error if nothing can be done. The caller's code may run.
    pub fn give(&mut self, state: &RefCell<ManagerState>, js: JsEnv<'_>, error: CoreError) -> Result<()> {
        if error.is_lost() && !self.recreated {
            self.recreated = true;
            let rows = state.borrow().session.tree().len() as RowNo;
            if ensure(state, js, 0..rows).is_err() {
                // The entries that cannot be made are those that the error reports as lost.
                js.take_exception()?;
                return Err(thrown(js, &error));
            }
            write_from_objects(state, js)
        } else if error.needs_lines() && !self.supplied {
            self.supplied = true;
            supply_lines(state, js)
        } else {
            Err(thrown(js, &error))
        }
    }
}

/// Runs work that needs the file. Recreates the file or supplies lines if the core asks for it, and renumbers the objects if
/// rows have changed.
pub fn with_file(
    state: &RefCell<ManagerState>,
    js: JsEnv<'_>,
    work: impl Fn(&mut Session) -> CoreResult<()>,
) -> Result<()> {
    let mut resupply = Resupply::default();
    loop {
        let done = {
            let mut state = state.borrow_mut();
            let done = work(&mut state.session);
            state.follow_remap(js)?;
            done
        };
        match done {
            Ok(()) => return Ok(()),
            Err(error) => resupply.give(state, js, error)?,
        }
    }
}

/// Reads. If a line is not where it was, takes in the file's changes and reads again.
pub fn reading<T>(state: &RefCell<ManagerState>, js: JsEnv<'_>, read: impl Fn() -> Result<T>) -> Result<T> {
    let result = read();
    if result.is_ok() || !state.borrow().session.is_suspect() {
        return result;
    }
    let exception = js.take_exception()?;
    let recovered = {
        let mut state = state.borrow_mut();
        let recovered = state.session.refresh_for_read();
        state.follow_remap(js)?;
        recovered
    };
    match (recovered, exception) {
        (Ok(()), _) => read(),
        (Err(_), Some(exception)) => Err(js.throw(exception)),
        (Err(_), None) => result,
    }
}

/// Supplies the lines of entries that are missing in the file that replaced ours, made from the caller's objects.
fn supply_lines(state: &RefCell<ManagerState>, js: JsEnv<'_>) -> Result<()> {
    let (generation, missing) = {
        let state = state.borrow();
        (state.generation, collect(state.session.missing_rows().iter().copied()).or_throw(js)?)
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
        // An object that cannot be written as its entry counts as missing.
        let line = line.and_then(|line| {
            let known = state.borrow().session.line_as_known(row, line);
            known.or_throw(js)
        });
        match line {
            Ok(line) => drop(insert(&mut lines, row, line).or_throw(js)?),
            // A body that was never read is lost with the file. Without an ancestor its children become orphans;
            // without an entry that was appended here the next check is an error.
            Err(_) => drop(js.take_exception()?),
        }
    }
    let mut state = state.borrow_mut();
    if state.generation != generation {
        return Err(wrong_argument(js, "The session changed while it was written again"));
    }
    state.session.supply_lines(lines);
    Ok(())
}

/// Writes the lost file of a session again from its objects. An error if not all entries have one.
fn write_from_objects(state: &RefCell<ManagerState>, js: JsEnv<'_>) -> Result<()> {
    let (generation, rows) = {
        let state = state.borrow();
        (state.generation, state.session.tree().len())
    };
    super::materialize::header(state, js)?;
    let lines = kept_lines(state, js)?;
    let mut state = state.borrow_mut();
    if state.generation != generation || state.session.tree().len() != rows || lines.len() != rows + 1 {
        return Err(wrong_argument(js, "The session changed while it was written again"));
    }
    state.session.write_from_objects(lines.iter().map(Vec::as_slice)).or_throw(js)
}
