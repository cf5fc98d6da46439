//! Entries as objects: made from their lines when they are first asked for, then always the same ones.

use std::cell::RefCell;

use napi::{Error, Result};

use super::args::shown_value;
use super::cache::fill;
use super::errors::thrown;
use super::host::{make, F};
use super::raw::{Js, Val};
use super::state::{iso, State};
use super::values::parse;
use crate::core::append::Layout;
use crate::core::error::Error as CoreError;
use crate::core::time::Time;
use crate::core::tree::{ParentRef, RowNo};

/// How many bytes of lines are made into objects in one stroke.
const STROKE: usize = 1 << 17;

/// Makes the objects of these rows that are not made yet.
pub fn ensure(state: &RefCell<State>, js: Js, rows: impl Iterator<Item = RowNo>) -> Result<()> {
    let missing: Vec<RowNo> = {
        let state = state.borrow();
        if state.cache.is_full() {
            return Ok(());
        }
        rows.filter(|&row| !state.cache.has(row)).collect()
    };
    let (own, missing): (Vec<_>, Vec<_>) = missing.into_iter().partition(|&row| state.borrow().cache.has_own(row));
    for row in own {
        js.scoped(|| make_appended(state, js, row))?;
    }
    let mut rest = missing.as_slice();
    while !rest.is_empty() {
        let mut lines = Vec::new();
        {
            let state = state.borrow();
            let (stroke, later) = rest.split_at(stroke_len(&state, rest));
            rest = later;
            let read = state.session.lines(stroke, &mut |row, line| {
                lines.push((row, line.to_owned()));
                Ok(())
            });
            read.map_err(|error| thrown(js, &error))?;
        }
        let list = state.borrow().cache.list(js)?;
        fill(js, list, &lines).or_else(|error| Err(unreadable(state, js, error)?))?;
        state.borrow_mut().cache.mark_made(lines.iter().map(|(row, _)| *row));
    }
    Ok(())
}

/// Makes the object of an entry that was appended here from its own fields and its row.
fn make_appended(state: &RefCell<State>, js: Js, row: RowNo) -> Result<()> {
    let (shape, args) = {
        let state = state.borrow();
        let tree = state.session.tree();
        let Some(entry) = tree.row(row) else {
            return Ok(());
        };
        let shape = match Layout::of(entry.kind) {
            Layout::EnvelopeFirst => F::EnvelopeFirst,
            Layout::EnvelopeLast => F::EnvelopeLast,
        };
        let parent = match entry.parent {
            ParentRef::Id(sym) => js.string(tree.id_bytes(sym))?,
            _ => js.null()?,
        };
        let (Time::At(time), kind) = (entry.time, entry.kind) else {
            return Err(Error::from_reason("An entry of ours lost its time"));
        };
        let kind = js.string(kind.name().as_bytes())?;
        let id = js.string(tree.id_bytes(entry.id))?;
        (shape, [kind, id, parent, js.string(iso(js, time)?.as_bytes())?, state.cache.get(js, row)?])
    };
    let object = make(js, shape, &args)?;
    state.borrow_mut().cache.set(js, row, object)
}

/// The error for lines that were whole when they were indexed and cannot be read now.
fn unreadable(state: &RefCell<State>, js: Js, error: Error) -> Result<Error> {
    let reason = match js.take_exception()? {
        Some(exception) => shown_value(js, exception)?,
        None => error.reason.to_string(),
    };
    let state = state.borrow();
    let file = state.session.file().unwrap_or_default();
    Ok(thrown(js, &CoreError::changed(file, format!("an entry cannot be read ({reason})"))))
}

/// How many of these rows go into one stroke; at least one.
fn stroke_len(state: &State, rows: &[RowNo]) -> usize {
    let mut size = 0;
    let fitting = rows.iter().take_while(|&&row| {
        size += state.session.line_len(row) + 1;
        size <= STROKE
    });
    fitting.count().max(1)
}

/// One entry's object.
pub fn object(state: &RefCell<State>, js: Js, row: RowNo) -> Result<Val> {
    ensure(state, js, std::iter::once(row))?;
    state.borrow().cache.get(js, row)
}

/// The header's object.
pub fn header(state: &RefCell<State>, js: Js) -> Result<Val> {
    if let Some(header) = state.borrow().cache.header(js)? {
        return Ok(header);
    }
    let line = state.borrow().session.header_line().map_err(|error| thrown(js, &error))?;
    let Some(line) = line else {
        return js.null();
    };
    let header = parse(js, &line)?;
    state.borrow_mut().cache.set_header(js, header)?;
    Ok(header)
}
