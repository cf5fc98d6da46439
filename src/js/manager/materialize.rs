//! Entries as objects: made from their lines when they are first asked for, then always the same ones.

use std::cell::RefCell;

use napi::{Error, Result};

use super::parse_batch::{ParseBatch, UnusableLine};
use super::state::{source, ManagerState};
use crate::js::convert::args::template_text;
use crate::js::convert::errors::{thrown, OrThrow};
use crate::js::convert::time::iso;
use crate::js::convert::values::parse;
use crate::js::engine::{JsEnv, JsVal};
use crate::js::factory::{self, FactoryFn};
use pi_session_core::base::error::{Error as CoreError, Result as CoreResult};
use pi_session_core::base::memory::{collect, extend, with_capacity};
use pi_session_core::base::time::Time;
use pi_session_core::base::wtf8::shown;
use pi_session_core::format::entry::EntryKind;
use pi_session_core::format::serialize::KeyOrder;
use pi_session_core::session::Session;
use pi_session_core::tree::tree::{ParentRef, RowNo};

/// How many bytes of lines are made into objects in one batch.
const BATCH_BYTES: usize = 1 << 18;

/// Makes the objects of these rows that are not made yet.
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
    let mut made = with_capacity(missing.len()).or_throw(js)?;
    let result = make_missing(&state.borrow(), js, source, &missing, &mut made);
    state.borrow_mut().cache.mark_made(js, made.into_iter())?;
    match result {
        Ok(()) => Ok(()),
        Err(Failed::UnusableLine(UnusableLine::TooLong(row, size))) => Err(thrown(js, &too_long(state, row, size))),
        Err(Failed::UnusableLine(UnusableLine::Other(row))) => Err(thrown(js, &another(state, row))),
        Err(Failed::Read(error)) => Err(thrown(js, &error)),
        Err(Failed::Make(error)) => Err(unreadable(state, js, error)?),
    }
}

/// Why entries could not be made.
enum Failed {
    Read(CoreError),
    Make(Error),
    UnusableLine(UnusableLine),
}

/// Makes entries of their lines and says which were `made`. Nothing here runs the caller's code, so the state may be
/// borrowed meanwhile.
fn make_missing(
    state: &ManagerState,
    js: JsEnv<'_>,
    source: Option<JsVal<'_>>,
    rows: &[RowNo],
    made: &mut Vec<RowNo>,
) -> std::result::Result<(), Failed> {
    let list = state.cache.list(js).map_err(Failed::Make)?;
    let session = &state.session;
    let mut rest = rows;
    while !rest.is_empty() {
        let (some, later) = rest.split_at(batch_len(session, rest, source.is_some()));
        let batch = batch_of(session, some, source.is_some()).map_err(Failed::Read)?;
        match batch.make(js, session.tree(), list, source).map_err(Failed::Make)? {
            None => extend(made, batch.rows()).or_throw(js).map_err(Failed::Make)?,
            Some(unusable) => return Err(Failed::UnusableLine(unusable)),
        }
        rest = later;
    }
    Ok(())
}

/// How many of these rows, at least one, are made in one batch. `lazy`: without their bodies.
fn batch_len(session: &Session, rows: &[RowNo], lazy: bool) -> usize {
    let index = session.index();
    let mut size = 0;
    let fitting = rows.iter().take_while(|&&row| {
        size += 1 + match lazy {
            true => index.length_without_bodies(row),
            false => index.line_span(row).map_or(0, |span| span.len as usize),
        };
        size <= BATCH_BYTES
    });
    fitting.count().clamp(1, rows.len())
}

/// The lines of these rows.
fn batch_of(session: &Session, rows: &[RowNo], lazy: bool) -> CoreResult<ParseBatch> {
    let mut batch = ParseBatch::default();
    let mut take = |row, line: &str, omitted| Ok(batch.add(row, line, omitted)?);
    match lazy {
        true => session.lines_without_bodies(rows, &mut take),
        false => session.lines(rows, &mut take),
    }?;
    batch.finish();
    Ok(batch)
}

/// The error for a line that began as its entry's and is another one.
fn another(state: &RefCell<ManagerState>, row: RowNo) -> CoreError {
    let state = state.borrow();
    state.session.mark_suspect();
    let what = format!("entry {} is no longer where it was", shown(state.session.tree().id_of(row)));
    CoreError::changed(state.session.file().unwrap_or_default(), what)
}

fn too_long(state: &RefCell<ManagerState>, row: RowNo, size: usize) -> CoreError {
    let state = state.borrow();
    let id = shown(state.session.tree().id_of(row));
    CoreError::value_too_long(state.session.file().unwrap_or_default(), &id, "a value", size)
}

/// Makes the object of an entry that was appended here from its own fields and its row.
fn make_appended(state: &RefCell<ManagerState>, js: JsEnv<'_>, row: RowNo) -> Result<()> {
    let (shape, args) = {
        let state = state.borrow();
        let tree = state.session.tree();
        let Some(entry) = tree.row(row) else {
            return Ok(());
        };
        let shape = match (entry.kind, KeyOrder::of(entry.kind)) {
            (EntryKind::Message, _) => FactoryFn::MessageEntry,
            (_, KeyOrder::EnvelopeFirst) => FactoryFn::EnvelopeFirst,
            (_, KeyOrder::EnvelopeLast) => FactoryFn::EnvelopeLast,
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
    let object = factory::call(js, shape, &args)?;
    state.borrow_mut().cache.set(js, row, object)
}

fn is_out_of_memory(js: JsEnv<'_>, exception: JsVal<'_>) -> Result<bool> {
    Ok(js.is_object(exception)? && js.text(js.get(exception, c"code")?)?.as_deref() == Some(b"ENOMEM"))
}

/// The error for lines that were whole when they were indexed and cannot be read now.
fn unreadable(state: &RefCell<ManagerState>, js: JsEnv<'_>, error: Error) -> Result<Error> {
    let reason = match js.take_exception()? {
        Some(exception) if is_out_of_memory(js, exception)? => return Ok(js.throw(exception)),
        Some(exception) => template_text(js, exception)?,
        None => error.reason.to_string(),
    };
    let state = state.borrow();
    state.session.mark_suspect();
    let file = state.session.file().unwrap_or_default();
    Ok(thrown(js, &CoreError::changed(file, format!("an entry cannot be read ({reason})"))))
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
