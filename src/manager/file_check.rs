//! Calls that check the session's file and read the changes of others.

use std::cell::RefCell;

use napi::Result;

use super::state::ManagerState;
use crate::convert::errors::thrown;
use crate::engine::JsEnv;
use pi_session_core::{Result as CoreResult, Session};

/// Runs work that needs the file, and renumbers the objects if rows have changed.
pub fn with_file(
    state: &RefCell<ManagerState>,
    js: JsEnv<'_>,
    work: impl FnOnce(&mut Session) -> CoreResult<()>,
) -> Result<()> {
    let done = {
        let mut state = state.borrow_mut();
        let done = work(&mut state.session);
        state.follow_remap(js)?;
        done
    };
    done.map_err(|error| thrown(js, &error))
}

/// How often a read starts over because others replace the file.
const TRIES: usize = 8;

/// Reads. If a line is not at its position, or another file has the session's name, reads the present content of the
/// file and then reads again. If that fails, the next read reports it, or reads the old file.
pub fn reading<T>(state: &RefCell<ManagerState>, js: JsEnv<'_>, read: impl Fn() -> Result<T>) -> Result<T> {
    for _ in 0..TRIES {
        let result = read();
        if result.is_ok() || !state.borrow().session.is_suspect() {
            return result;
        }
        js.take_exception()?;
        let mut state = state.borrow_mut();
        let taken_in = state.session.refresh_for_read();
        state.follow_remap(js)?;
        if taken_in.is_err() {
            break;
        }
    }
    read()
}
