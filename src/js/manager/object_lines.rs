//! Lines of the manager's objects, as `JSON.stringify` gives them.

use std::cell::RefCell;

use napi::Result;

use super::materialize::ensure;
use super::state::State;
use crate::core::base::error::Result as CoreResult;
use crate::core::tree::tree::RowNo;
use crate::js::convert::errors::{thrown, wrong_argument};
use crate::js::convert::text::text_of;
use crate::js::engine::JsEnv;
use crate::js::factory::{self, FactoryFn};

/// The lines of the header and of every entry that the manager holds as objects, serialised now. Ids, parents and types are
/// those of the tree.
pub fn kept_lines(state: &RefCell<State>, js: JsEnv<'_>) -> Result<Vec<Vec<u8>>> {
    let rows = state.borrow().session.tree().len() as RowNo;
    ensure(state, js, 0..rows)?;
    let (header, entries) = {
        let state = state.borrow();
        (state.cache.header(js)?, state.cache.list(js)?)
    };
    let mut lines = Vec::new();
    for values in [js.array_of(header.as_slice())?, entries] {
        let texts = factory::call(js, FactoryFn::Lines, &[values])?;
        for at in 0..js.len(texts)? {
            js.scoped(|js, _| {
                let text = text_of(js, js.at(texts, at)?)?;
                lines.push(text.ok_or_else(|| wrong_argument(js, "An entry has no JSON text"))?);
                Ok(())
            })?;
        }
    }
    let state = state.borrow();
    let is_header = |at: usize| at < usize::from(header.is_some());
    let known = lines.into_iter().enumerate().map(|(at, line)| match is_header(at) {
        true => state.session.header_as_known(line),
        false => state.session.line_as_known((at - usize::from(header.is_some())) as RowNo, line),
    });
    known.collect::<CoreResult<_>>().map_err(|error| thrown(js, &error))
}
