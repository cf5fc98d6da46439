//! Reads bodies for JavaScript: the accessors of lazy entries (`lazy.js`) call this on first access.
//!
//! An entry may outlive its manager, or the manager may have gone to another session: what reads bodies is a
//! [`BodyReader`], which finds the session wherever it is by then, and keeps it when its manager lets it go.

use std::cell::RefCell;
use std::rc::{Rc, Weak};

use napi::{Error, Result, Status};

use super::gc::{self, Releasable};
use crate::js::convert::errors::thrown;
use crate::js::convert::values::value_of;
use crate::js::engine::{JsEnv, JsVal, Persistent};
use crate::js::factory::{self, FactoryFn};
use pi_session_core::base::error::{Error as CoreError, Result as CoreResult};
use pi_session_core::base::wtf8::to_string_lossy;
use pi_session_core::format::body::BodyOf;
use pi_session_core::format::entry::{read_line_and_bodies, EntryKind, Line};
use pi_session_core::json::long_strings::Parts;
use pi_session_core::session::Session;
use pi_session_core::tree::tree::RowNo;

/// The environment variable that turns laziness off.
const SWITCH: &str = "PI_SESSION_NATIVE_LAZY_BODIES";

/// A manager, as the reader of its session's bodies sees it.
pub trait Manager {
    /// Does something with the manager's session; None if the manager is at another generation.
    fn with_session(&self, generation: u64, work: &mut dyn FnMut(&Session)) -> Option<()>;

    /// Does something with the session that the manager is at now, after taking in what is in its file by now, if a line
    /// was not where it was indexed.
    fn with_current_session(&self, js: JsEnv<'_>, work: &mut dyn FnMut(&Session)) -> Result<()>;
}

/// Finds a session as long as an entry may read its bodies.
pub struct BodyReader {
    manager: Weak<dyn Manager>,
    generation: u64,
    /// The session, once its manager has let it go.
    left: RefCell<Option<Session>>,
}

impl Releasable for BodyReader {
    fn release(&self) {
        self.left.take();
    }

    fn memory(&self) -> usize {
        self.left.borrow().as_ref().map_or(0, Session::memory)
    }
}

impl BodyReader {
    /// Does something with the session that the entry was given out of.
    fn with_session<T>(&self, work: impl FnOnce(&Session) -> CoreResult<T>) -> Result<CoreResult<T>> {
        if let Some(session) = &*self.left.borrow() {
            return Ok(work(session));
        }
        let mut work = Some(work);
        let mut done = None;
        if let Some(manager) = self.manager.upgrade() {
            manager.with_session(self.generation, &mut |session| done = work.take().map(|work| work(session)));
        }
        done.ok_or_else(|| Error::from_reason("The session of an entry is gone"))
    }

    /// Finds a body that is not where it was: the manager takes in what is there now, and where it is still at the same
    /// session, it may have the entry elsewhere. None if not.
    fn find(&self, js: JsEnv<'_>, id: &[u8], of: BodyOf, was: &Was) -> Result<Option<BodyText>> {
        let Some(manager) = self.manager.upgrade() else {
            return Ok(None);
        };
        let mut text = None;
        manager.with_current_session(js, &mut |session| {
            let row = session.tree().find(id).filter(|_| session.id() == was.session);
            let row = row.filter(|&row| session.tree().row(row).map(|row| row.kind) == was.kind);
            text = row.and_then(|row| body_text(session, row, of).ok());
        })?;
        Ok(text.filter(|text| was.len.is_none_or(|len| len as usize == text.len)))
    }
}

/// What was known of a body that is not where it was.
struct Was {
    session: Vec<u8>,
    kind: Option<EntryKind>,
    len: Option<u32>,
}

/// A manager's hold on the reader of its session.
pub struct Bodies {
    reader: Rc<BodyReader>,
    /// The reader as JavaScript holds it.
    external: Persistent,
}

impl Bodies {
    /// Makes the reader of a manager's session; None if laziness is turned off.
    pub fn of(js: JsEnv<'_>, manager: Weak<dyn Manager>, generation: u64) -> Result<Option<Self>> {
        let value = factory::call(js, FactoryFn::Env, &[js.string(SWITCH.as_bytes())?])?;
        let switch = js.text(value)?.unwrap_or_default();
        if matches!(switch.as_slice(), b"off" | b"0" | b"false") {
            return Ok(None);
        }
        let reader = Rc::new(BodyReader { manager, generation, left: RefCell::default() });
        let external = js.external(reader.clone())?;
        Ok(Some(Self { reader, external: js.keep(external)? }))
    }

    /// The reader as JavaScript holds it.
    pub fn external<'env>(&self, js: JsEnv<'env>) -> Result<JsVal<'env>> {
        js.kept(&self.external)
    }

    /// Leaves the session to the entries that may still read their bodies from it.
    pub fn leave(self, js: JsEnv<'_>, session: Session) -> Result<()> {
        self.reader.left.replace(Some(session));
        let reader = Rc::downgrade(&self.reader);
        gc::register_reader(js, reader, self.external)
    }
}

/// The function `readBody(reader, row, id, code)` for `lazy.js`; nothing else gets it.
pub fn read_body_function<'env>(js: JsEnv<'env>) -> Result<JsVal<'env>> {
    js.function("readBody", |js, args| {
        read_body(js, args).map_err(|error| match error.status {
            Status::PendingException => error,
            // An exception that is pending stays.
            _ => thrown(js, &CoreError::internal(&error.reason)),
        })
    })
}

fn read_body<'env>(js: JsEnv<'env>, args: &[JsVal<'env>]) -> Result<JsVal<'env>> {
    let &[source, row, id, code] = args else {
        return Err(Error::from_reason("A body was asked for without its place"));
    };
    let reader = js.external_value::<BodyReader>(source)?;
    let reader = reader.ok_or_else(|| Error::from_reason("A body was asked for without its reader"))?;
    let number = |value| Ok::<_, Error>(js.number_value(value)?.unwrap_or_default());
    let id = js.text(id)?.unwrap_or_default();
    let of = BodyOf::from_code(number(code)? as u8);
    let of = of.ok_or_else(|| Error::from_reason("A body of no kind was asked for"))?;
    let row = number(row)? as RowNo;
    body(js, &reader, row, &id, of)
}

fn body<'env>(js: JsEnv<'env>, reader: &BodyReader, row: RowNo, id: &[u8], of: BodyOf) -> Result<JsVal<'env>> {
    let mut was = None;
    let read = reader.with_session(|session| {
        // An id may be in several lines; and rows have other numbers once another file was taken in.
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
        (Err(error), Some(was)) => reader.find(js, id, of, &was)?.ok_or_else(|| thrown(js, &error))?,
        (Err(error), None) => return Err(thrown(js, &error)),
    };
    value_of(js, &text.parts).map_err(|_| match js.take_exception() {
        Ok(Some(exception)) => js.throw(exception),
        _ => {
            let file = reader.with_session(|session| Ok(session.file().unwrap_or_default().to_owned()));
            let file = file.ok().and_then(CoreResult::ok).unwrap_or_default();
            thrown(js, &CoreError::value_too_long(&file, &to_string_lossy(id), of.name(), text.len))
        }
    })
}

fn id_of(session: &Session, row: RowNo) -> String {
    to_string_lossy(session.tree().id_of(row)).into_owned()
}

/// A body's text and its length in bytes.
struct BodyText {
    parts: Parts,
    len: usize,
}

/// The text of a body, found in the entry's line as it is now.
fn body_text(session: &Session, row: RowNo, of: BodyOf) -> CoreResult<BodyText> {
    let len = session.bodies(row).iter().find(|(_, body)| body.of == of).map(|(_, body)| body.len as usize);
    let parts = session.body(row, of)?;
    if let (Some(parts), Some(len)) = (parts, len) {
        return Ok(BodyText { parts, len });
    }
    let changed = |what: &str| {
        let what = format!("entry {} {what}", id_of(session, row));
        CoreError::changed(session.file().unwrap_or_default(), what)
    };
    let Some(line) = session.line(row)? else {
        return Err(changed("has no line"));
    };
    let is_entry = |line: &Line<'_>| session.is_entry(row, line);
    let found = read_line_and_bodies(&line, 0, |read, bodies| {
        is_entry(&read).then_some(bodies).and_then(|bodies| bodies.into_iter().find(|body| body.of == of))
    });
    let Some(body) = found else {
        return Err(changed(&format!("has no {} any more", of.name())));
    };
    let text = line.as_bytes().get(body.from as usize..body.end() as usize).unwrap_or_default();
    let len = text.len();
    let parts = Parts::of(text).map_err(|error| CoreError::io("read", session.file().unwrap_or_default(), error))?;
    parts.map(|parts| BodyText { parts, len }).ok_or_else(|| changed(&format!("has a {} that is no JSON", of.name())))
}
