//! Lines of the manager's objects, as `JSON.stringify` writes them.

use std::cell::RefCell;

use napi::Result;

use super::materialize::ensure;
use super::state::ManagerState;
use crate::convert::errors::{wrong_argument, OrThrow};
use crate::convert::text::written_text;
use crate::engine::JsEnv;
use crate::factory::{self, FactoryFn};
use pi_session_core::addon::memory::push;
use pi_session_core::wtf8::shown;
use pi_session_core::RowNo;

/// The lines of the header and of every entry that the manager keeps as an object, serialized now. Ids, parents and
/// types are the tree's.
pub fn kept_lines(state: &RefCell<ManagerState>, js: JsEnv<'_>) -> Result<Vec<Vec<u8>>> {
    let rows = state.borrow().session.tree().len() as RowNo;
    ensure(state, js, 0..rows)?;
    let (header, entries) = {
        let state = state.borrow();
        (state.cache.header(js)?, state.cache.list(js)?)
    };
    let headers = usize::from(header.is_some());
    let mut lines = Vec::new();
    for values in [js.array_of(header.as_slice())?, entries] {
        let texts = factory::call(js, FactoryFn::Lines, &[values])?;
        for at in 0..js.len(texts)? {
            js.scoped(|js, _| {
                let text = written_text(js, js.at(texts, at)?)?;
                let row = lines.len().checked_sub(headers);
                let text = text.ok_or_else(|| wrong_argument(js, no_text(state, row)))?;
                push(&mut lines, text).or_throw(js)
            })?;
        }
    }
    let state = state.borrow();
    for (at, line) in lines.iter_mut().enumerate() {
        let given = std::mem::take(line);
        let known = match at.checked_sub(headers) {
            None => state.session.header_as_known(given),
            Some(row) => state.session.line_as_known(row as RowNo, given),
        };
        *line = known.or_throw(js)?;
    }
    Ok(lines)
}

/// The error if the entry of a row, or the header, has no JSON text.
fn no_text(state: &RefCell<ManagerState>, row: Option<usize>) -> String {
    let what = row.map_or("The header".into(), |row| {
        format!("Entry {}", shown(state.borrow().session.tree().id_of(row as RowNo)))
    });
    format!("{what} has no JSON text: its toJSON gave undefined")
}
