//! Entries as objects. They are created from their lines at their first use, and then stay the same.

use std::cell::RefCell;

use napi::{Error, Result};

use super::parse_batch::EntryMaker;
use super::state::{source, ManagerState};
use crate::convert::errors::OrThrow;
use crate::convert::values::parse;
use crate::engine::{JsEnv, JsVal};
use crate::factory::{self, FactoryFn};
use pi_session_core::addon::memory::collect;
use pi_session_core::time::{timestamp, Time};
use pi_session_core::{EntryKind, ParentRef, RowNo};

/// Creates the objects of these rows that do not exist yet.
pub fn ensure(state: &RefCell<ManagerState>, js: JsEnv<'_>, rows: impl Iterator<Item = RowNo>) -> Result<()> {
    let mut missing: Vec<RowNo> = {
        let state = state.borrow();
        if state.cache.is_full() {
            return Ok(());
        }
        collect(rows.filter(|&row| !state.cache.has(row))).or_throw(js)?
    };
    for &row in &missing {
        if state.borrow().cache.has_own(row) {
            js.scoped(|js, _| make_appended(state, js, row))?;
        }
    }
    missing.retain(|&row| !state.borrow().cache.has(row));
    if missing.is_empty() {
        return Ok(());
    }
    let source = source(state, js)?;
    let mut rest = missing.as_slice();
    let made = {
        let state = state.borrow();
        EntryMaker { session: &state.session, list: state.cache.list(js)?, source }.make(js, &mut rest)
    };
    let (done, _) = missing.split_at(missing.len() - rest.len());
    state.borrow_mut().cache.mark_made(js, done.iter().copied())?;
    made
}

/// Creates the object of an entry that was appended here, from its own fields and its row.
fn make_appended(state: &RefCell<ManagerState>, js: JsEnv<'_>, row: RowNo) -> Result<()> {
    let (shape, args) = {
        let state = state.borrow();
        let tree = state.session.tree();
        let Some(entry) = tree.row(row) else {
            return Ok(());
        };
        let shape = match entry.kind {
            EntryKind::Message => FactoryFn::MessageEntry,
            kind if kind.facts().is_envelope_last => FactoryFn::EnvelopeLast,
            _ => FactoryFn::EnvelopeFirst,
        };
        let parent = match entry.parent {
            ParentRef::Id(sym) => js.string(tree.id_bytes(sym))?,
            _ => js.null()?,
        };
        let (Time::At(time), kind) = (entry.time, entry.kind) else {
            return Err(Error::from_reason("An entry that was appended here has no time"));
        };
        let kind = js.string(kind.name().as_bytes())?;
        let id = js.string(tree.id_bytes(entry.id))?;
        (shape, [kind, id, parent, js.string(timestamp(time).or_throw(js)?.as_bytes())?, state.cache.get(js, row)?])
    };
    let object = factory::call(js, shape, &args)?;
    state.borrow_mut().cache.set(js, row, object)
}

/// One entry's object.
pub fn object<'env>(state: &RefCell<ManagerState>, js: JsEnv<'env>, row: RowNo) -> Result<JsVal<'env>> {
    ensure(state, js, std::iter::once(row))?;
    state.borrow().cache.get(js, row)
}

/// The header's object.
pub fn header<'env>(state: &RefCell<ManagerState>, js: JsEnv<'env>) -> Result<JsVal<'env>> {
    if let Some(header) = state.borrow().cache.header(js)? {
        return Ok(header);
    }
    let line = state.borrow().session.header_line().or_throw(js)?;
    let Some(line) = line else {
        return js.null();
    };
    let header = parse(js, &line)?;
    state.borrow_mut().cache.set_header(js, header)?;
    Ok(header)
}
