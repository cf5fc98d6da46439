//! Bodies from here to JavaScript: what the accessors of lazy entries (`lazy.js`) call when they are looked at.
//!
//! An entry may outlive its manager, or the manager may have gone to another session: what reads bodies is a
//! [`Source`], which finds the session wherever it is by then, and keeps it when its manager lets it go.

use std::cell::RefCell;
use std::ffi::c_void;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::ptr::null_mut;
use std::rc::{Rc, Weak};

use napi::{sys, Error, Result, Status};

use super::errors::thrown;
use super::host::{make, F};
use super::raw::{Js, Kept, Val};
use super::state::State;
use super::values::parse;
use crate::core::body::BodyOf;
use crate::core::entry::{read_line_and_bodies, Line};
use crate::core::error::{Error as CoreError, Result as CoreResult};
use crate::core::session::Session;
use crate::core::text::shown;
use crate::core::tree::RowNo;

/// The environment variable that turns laziness off.
const SWITCH: &str = "PI_SESSION_LAZY_BODIES";

/// Finds a session as long as somebody may read its bodies.
pub struct Source {
    manager: Weak<RefCell<State>>,
    epoch: u64,
    /// The session, once its manager has let it go.
    left: RefCell<Option<Session>>,
}

impl Source {
    fn with_session<T>(&self, work: impl FnOnce(&Session) -> Result<T>) -> Result<T> {
        if let Some(session) = &*self.left.borrow() {
            return work(session);
        }
        let manager = self.manager.upgrade();
        let state = manager.as_ref().map(|state| state.borrow()).filter(|state| state.epoch == self.epoch);
        match state {
            Some(state) => work(&state.session),
            None => Err(Error::from_reason("The session of an entry is gone")),
        }
    }
}

/// A manager's hold on the source of its session.
pub struct Bodies {
    source: Rc<Source>,
    /// The source as JavaScript holds it.
    external: Kept,
}

impl Bodies {
    /// Makes the source of a manager's session; None if laziness is turned off.
    pub fn of(js: Js, manager: Weak<RefCell<State>>, epoch: u64) -> Result<Option<Self>> {
        let value = make(js, F::Env, &[js.string(SWITCH.as_bytes())?])?;
        let switch = js.text(value)?.unwrap_or_default();
        if matches!(switch.as_slice(), b"off" | b"0" | b"false") {
            return Ok(None);
        }
        let source = Rc::new(Source { manager, epoch, left: RefCell::default() });
        let data = Rc::into_raw(source.clone()).cast_mut().cast::<c_void>();
        let mut external = null_mut();
        // SAFETY: `data` is one count of the source, which `release` gives back.
        let status = unsafe { sys::napi_create_external(js.raw(), data, Some(release), null_mut(), &mut external) };
        if status != sys::Status::napi_ok {
            // SAFETY: the engine did not take it.
            drop(unsafe { Rc::from_raw(data.cast::<Source>()) });
            return Err(Error::new(Status::from(status), "The source of bodies could not be made"));
        }
        Ok(Some(Self { source, external: js.keep(external)? }))
    }

    /// The source as JavaScript holds it.
    pub fn external(&self, js: Js) -> Result<Val> {
        js.kept(&self.external)
    }

    /// Leaves the session to the entries that may still read their bodies from it.
    pub fn leave(self, js: Js, session: Session) -> Result<()> {
        self.source.left.replace(Some(session));
        js.release(self.external)
    }
}

// SAFETY: called by the engine alone, once, with what `Bodies::of` gave it.
unsafe extern "C" fn release(_env: sys::napi_env, data: *mut c_void, _hint: *mut c_void) {
    // SAFETY: the count that `Bodies::of` gave away.
    drop(unsafe { Rc::from_raw(data.cast::<Source>()) });
}

/// The function `readBody(source, row, id, code)` for `lazy.js`, which alone gets it.
pub fn reader(js: Js) -> Result<Val> {
    let mut out = null_mut();
    // SAFETY: `read_body` is such a function; it needs no data.
    let status = unsafe { sys::napi_create_function(js.raw(), null_mut(), 0, Some(read_body), null_mut(), &mut out) };
    match status {
        sys::Status::napi_ok => Ok(out),
        status => Err(Error::new(Status::from(status), "The reader of bodies could not be made")),
    }
}

// SAFETY: called by the engine alone, on its thread.
unsafe extern "C" fn read_body(env: sys::napi_env, info: sys::napi_callback_info) -> sys::napi_value {
    let js = Js::from_raw(env);
    let done = catch_unwind(AssertUnwindSafe(|| {
        let mut args = [null_mut(); 4];
        let mut count = args.len();
        let mut data = null_mut();
        // SAFETY: `info` is this call's; there is room for four arguments, and `lazy.js` gives four, the first
        // a source's external.
        let source = unsafe {
            sys::napi_get_cb_info(env, info, &mut count, args.as_mut_ptr(), null_mut(), null_mut());
            sys::napi_get_value_external(env, args[0], &mut data);
            data.cast::<Source>().as_ref()
        };
        let source = source.ok_or_else(|| Error::from_reason("A body was asked for without its source"))?;
        let number = |value| Ok::<_, Error>(js.number_value(value)?.unwrap_or_default());
        let id = js.text(args[2])?.unwrap_or_default();
        body(js, source, number(args[1])? as RowNo, &id, number(args[3])? as u8)
    }));
    let error = match done {
        Ok(Ok(value)) => return value,
        Ok(Err(error)) => error.reason.to_string(),
        Err(_) => "reading a body failed inside".to_owned(),
    };
    // An exception that is pending already stays.
    thrown(js, &CoreError::failed(error));
    null_mut()
}

fn body(js: Js, source: &Source, row: RowNo, id: &[u8], code: u8) -> Result<Val> {
    let of = BodyOf::from_code(code).ok_or_else(|| Error::from_reason("A body of no kind was asked for"))?;
    source.with_session(|session| {
        // An id may stand in several lines; and rows have other numbers once another file was taken in.
        let row = if session.tree().id_of(row) == id { Some(row) } else { session.tree().find(id) };
        let gone = || CoreError::changed(session.file().unwrap_or_default(), format!("entry {} is gone", shown(id)));
        let row = row.ok_or_else(|| thrown(js, &gone()))?;
        let too_long =
            |size| CoreError::too_long(session.file().unwrap_or_default(), &id_of(session, row), of.name(), size);
        let text = body_text(session, row, of).map_err(|error| thrown(js, &error))?;
        parse(js, &text).map_err(|_| {
            let error = match js.take_exception() {
                Ok(Some(exception)) => return js.throw(exception),
                _ => too_long(text.len()),
            };
            thrown(js, &error)
        })
    })
}

fn id_of(session: &Session, row: RowNo) -> String {
    shown(session.tree().id_of(row)).into_owned()
}

/// The JSON text of a body, found in the entry's line as it is now.
fn body_text(session: &Session, row: RowNo, of: BodyOf) -> CoreResult<String> {
    if let Some(text) = session.body(row, of)? {
        return Ok(text);
    }
    let changed = |what: &str| {
        let what = format!("entry {} {what}", id_of(session, row));
        CoreError::changed(session.file().unwrap_or_default(), what)
    };
    let Some(mut line) = session.line(row)? else {
        return Err(changed("has no line"));
    };
    let is_entry = |line: &Line<'_>| matches!(line, Line::Entry(head) if *head.id == *session.tree().id_of(row));
    let found = read_line_and_bodies(&line, 0, |read, bodies| {
        is_entry(&read).then_some(bodies).and_then(|bodies| bodies.into_iter().find(|body| body.of == of))
    });
    let Some(body) = found else {
        return Err(changed(&format!("has no {} any more", of.name())));
    };
    line.truncate(body.end() as usize);
    line.drain(..body.from as usize);
    Ok(line)
}
