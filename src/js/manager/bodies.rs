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

use super::gc::{self, Told};
use super::state::State;
use crate::core::base::error::{Error as CoreError, Result as CoreResult};
use crate::core::base::wtf8::to_string_lossy;
use crate::core::format::body::BodyOf;
use crate::core::format::entry::{read_line_and_bodies, Kind, Line};
use crate::core::session::Session;
use crate::core::tree::tree::RowNo;
use crate::js::convert::errors::thrown;
use crate::js::convert::values::parse;
use crate::js::engine::raw::{Js, Kept, Val};
use crate::js::factory::host::{make, F};

/// The environment variable that turns laziness off.
const SWITCH: &str = "PI_SESSION_LAZY_BODIES";

/// Finds a session as long as somebody may read its bodies.
pub struct Source {
    manager: Weak<RefCell<State>>,
    epoch: u64,
    /// The session, once its manager has let it go.
    left: RefCell<Option<(Session, Told)>>,
}

impl Source {
    /// Does something with the session that the entry was given out of.
    fn with_session<T>(&self, work: impl FnOnce(&Session) -> CoreResult<T>) -> Result<CoreResult<T>> {
        if let Some((session, _)) = &*self.left.borrow() {
            return Ok(work(session));
        }
        let manager = self.manager.upgrade();
        let state = manager.as_ref().map(|state| state.borrow()).filter(|state| state.epoch == self.epoch);
        match state {
            Some(state) => Ok(work(&state.session)),
            None => Err(Error::from_reason("The session of an entry is gone")),
        }
    }

    /// Lets go of the session that its manager left: nobody can ask for bodies any more.
    pub fn forget(&self) {
        self.left.take();
    }

    /// Finds a body that is not where it was: the manager takes in what is there now, and where it is still at the same
    /// session, it may have the entry elsewhere. None if not.
    fn find(&self, js: Js, id: &[u8], of: BodyOf, was: &Was) -> Result<Option<String>> {
        let Some(state) = self.manager.upgrade() else {
            return Ok(None);
        };
        if state.borrow().session.is_suspect() {
            let mut state = state.try_borrow_mut().map_err(|error| Error::from_reason(error.to_string()))?;
            // Whether it could be taken in shows in what is found.
            let _ = state.session.recover();
            state.settle(js)?;
        }
        let state = state.borrow();
        let session = &state.session;
        let row = session.tree().find(id).filter(|_| session.id() == was.session);
        let row = row.filter(|&row| session.tree().row(row).map(|row| row.kind) == was.kind);
        let text = row.and_then(|row| body_text(session, row, of).ok());
        Ok(text.filter(|text| was.len.is_none_or(|len| len as usize == text.len())))
    }
}

/// What was known of a body that is not where it was.
struct Was {
    session: Vec<u8>,
    kind: Option<Kind>,
    len: Option<u32>,
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
    pub fn leave(self, js: Js, session: Session, told: Told) -> Result<()> {
        self.source.left.replace(Some((session, told)));
        gc::list_source(js, &self.source, self.external)
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
    let mut was = None;
    let read = source.with_session(|session| {
        // An id may stand in several lines; and rows have other numbers once another file was taken in.
        let row = if session.tree().id_of(row) == id { Some(row) } else { session.tree().find(id) };
        let gone =
            || CoreError::changed(session.file().unwrap_or_default(), format!("entry {} is gone", to_string_lossy(id)));
        let text = row.ok_or_else(gone).and_then(|row| body_text(session, row, of));
        if text.is_err() {
            let body = row.and_then(|row| session.bodies(row).iter().find(|(_, body)| body.of == of));
            was = Some(Was {
                session: session.id().to_vec(),
                kind: row.and_then(|row| session.tree().row(row)).map(|row| row.kind),
                len: body.map(|(_, body)| body.len),
            });
        }
        text
    })?;
    let text = match (read, was) {
        (Ok(text), _) => text,
        (Err(error), Some(was)) => source.find(js, id, of, &was)?.ok_or_else(|| thrown(js, &error))?,
        (Err(error), None) => return Err(thrown(js, &error)),
    };
    parse(js, &text).map_err(|_| match js.take_exception() {
        Ok(Some(exception)) => js.throw(exception),
        _ => {
            let file = source.with_session(|session| Ok(session.file().unwrap_or_default().to_owned()));
            let file = file.ok().and_then(CoreResult::ok).unwrap_or_default();
            thrown(js, &CoreError::too_long(&file, &to_string_lossy(id), of.name(), text.len()))
        }
    })
}

fn id_of(session: &Session, row: RowNo) -> String {
    to_string_lossy(session.tree().id_of(row)).into_owned()
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
    let is_entry = |line: &Line<'_>| session.is_entry(row, line);
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
