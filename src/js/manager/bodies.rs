//! Reads bodies for JavaScript: the accessors of lazy entries (`lazy.js`) call this on first access.
//!
//! An entry may outlive its manager, or the manager may have gone to another session: what reads bodies is a
//! [`BodyReader`], which finds the session wherever it is by then, and keeps it when its manager lets it go.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::{Rc, Weak};

use napi::{Error, Result, Status};

use super::gc::{self, Releasable};
use crate::js::convert::errors::thrown;
use crate::js::convert::values::{can_be_strings, value_of, values_of};
use crate::js::engine::{ExternalMemory, JsEnv, JsVal, Persistent};
use crate::js::factory::{self, FactoryFn};
use pi_session_core::base::error::{Error as CoreError, Result as CoreResult};
use pi_session_core::base::wtf8::to_string_lossy;
use pi_session_core::format::body::BodyOf;
use pi_session_core::format::entry::{read_line_and_bodies, EntryKind, Line};
use pi_session_core::index::read_ahead::{AheadBody, ReadAhead, FIRST, NEAR};
use pi_session_core::json::long_strings::Parts;
use pi_session_core::session::Session;
use pi_session_core::tree::tree::RowNo;

/// From how many bodies on, asked for one after another, the next ones are read ahead.
const LONG_SEQUENCE: usize = 8;
/// How many threads read ahead: for one, the reader of a long session waits nearly half of the time.
const THREADS: usize = 3;

/// The environment variable that turns laziness off.
const SWITCH: &str = "PI_SESSION_LAZY_BODIES";

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
    sequence: RefCell<Sequence>,
    /// The session, once its manager has let it go.
    left: RefCell<Option<(Session, ExternalMemory)>>,
}

/// Which bodies are asked for, one after another, and what is read ahead for that reason.
#[derive(Default)]
struct Sequence {
    last: RowNo,
    /// The row after those that were read ahead and handed to JavaScript, which asks for none of them again.
    end: RowNo,
    /// How many bodies were asked for in order.
    length: usize,
    ahead: VecDeque<ReadAhead>,
    /// Memory into which lines were read ahead, for the next ones.
    rooms: Vec<Vec<u8>>,
}

impl Sequence {
    /// Notes that a row's body is asked for. Gives those that were read ahead, if it is one of them.
    fn next(&mut self, session: &Session, row: RowNo) -> Vec<AheadBody> {
        let is_next = row >= self.last && row < self.last.max(self.end) + NEAR;
        (self.length, self.last) = (if is_next { self.length + 1 } else { 0 }, row);
        if self.length < LONG_SEQUENCE {
            (self.ahead, self.rooms) = (VecDeque::new(), Vec::new());
            return Vec::new();
        }
        // The reader may leave rows out.
        while self.ahead.front().is_some_and(|ahead| ahead.next().0 <= row) {
            self.ahead.pop_front();
        }
        let ahead = match self.ahead.front() {
            Some(ahead) if ahead.has(row) => self.ahead.pop_front(),
            Some(_) => None,
            None => {
                self.end = row + 1;
                self.read_on(session, (self.end, FIRST));
                None
            }
        };
        let Some(ahead) = ahead else { return Vec::new() };
        let next = ahead.next();
        self.end = next.0;
        let (bodies, room) = session.finish_read_ahead(ahead).unwrap_or_default();
        self.rooms.push(room);
        self.read_on(session, self.ahead.back().map_or(next, ReadAhead::next));
        if self.ahead.is_empty() {
            self.rooms.clear();
        }
        bodies
    }

    /// Starts to read ahead from a row on, about so many bytes at first, until as many threads read as may.
    fn read_on(&mut self, session: &Session, (mut from, mut bytes): (RowNo, usize)) {
        while self.ahead.len() < THREADS {
            let room = self.rooms.pop().unwrap_or_default();
            let Some(ahead) = session.read_ahead(from, bytes, room) else { break };
            (from, bytes) = ahead.next();
            self.ahead.push_back(ahead);
        }
    }
}

impl Releasable for BodyReader {
    fn release(&self) {
        self.sequence.take();
        self.left.take();
    }
}

thread_local! {
    /// The reader whose bodies are read ahead: one on each thread, for it keeps a file open and memory for lines.
    static AHEAD: RefCell<Weak<BodyReader>> = const { RefCell::new(Weak::new()) };
}

/// Ends the reading ahead of all other readers.
fn end_other_sequences(reader: &Rc<BodyReader>) {
    let is_other = |last: &RefCell<Weak<BodyReader>>| last.borrow().as_ptr() != Rc::as_ptr(reader);
    if AHEAD.with(is_other) {
        if let Some(other) = AHEAD.replace(Rc::downgrade(reader)).upgrade() {
            other.sequence.take();
        }
    }
}

impl BodyReader {
    /// Does something with the session that the entry was given out of.
    fn with_session<T>(&self, work: impl FnOnce(&Session) -> CoreResult<T>) -> Result<CoreResult<T>> {
        if let Some((session, _)) = &*self.left.borrow() {
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
        let reader =
            Rc::new(BodyReader { manager, generation, sequence: RefCell::default(), left: RefCell::default() });
        let external = js.external(reader.clone())?;
        Ok(Some(Self { reader, external: js.keep(external)? }))
    }

    /// The reader as JavaScript holds it.
    pub fn external<'env>(&self, js: JsEnv<'env>) -> Result<JsVal<'env>> {
        js.kept(&self.external)
    }

    /// Leaves the session to the entries that may still read their bodies from it.
    pub fn leave(self, js: JsEnv<'_>, session: Session, memory: ExternalMemory) -> Result<()> {
        // What is read ahead keeps the file open.
        self.reader.sequence.take();
        self.reader.left.replace(Some((session, memory)));
        let reader = Rc::downgrade(&self.reader);
        gc::register_reader(js, reader, self.external)
    }
}

/// The functions `readBody(reader, row, id, code)` and `reportMemory()` for `lazy.js`; nothing else gets them.
pub fn functions<'env>(js: JsEnv<'env>) -> Result<[JsVal<'env>; 2]> {
    let read_body = js.function("readBody", |js, args| {
        read_body(js, args).map_err(|error| match error.status {
            Status::PendingException => error,
            // An exception that is pending stays.
            _ => thrown(js, &CoreError::internal(&error.reason)),
        })
    })?;
    let report_memory = js.function("reportMemory", |js, _| {
        js.report_external_memory();
        js.undefined()
    })?;
    Ok([read_body, report_memory])
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
    match body_ahead(js, &reader, source, row, &id, of)? {
        Some(value) => Ok(value),
        None => body(js, &reader, row, &id, of),
    }
}

/// A body that was read ahead. Others that were read with it are handed to `lazy.js`, which needs no call for them.
fn body_ahead<'env>(
    js: JsEnv<'env>,
    reader: &Rc<BodyReader>,
    source: JsVal<'env>,
    row: RowNo,
    id: &[u8],
    of: BodyOf,
) -> Result<Option<JsVal<'env>>> {
    let (mut rows, mut codes, mut all) = (Vec::new(), Vec::new(), Vec::new());
    let mut ids = js.undefined()?;
    end_other_sequences(reader);
    let found = reader.with_session(|session| {
        if session.tree().id_of(row) != id {
            return Ok(Ok(()));
        }
        for AheadBody { row, of, parts } in reader.sequence.borrow_mut().next(session, row) {
            let Parts::Apart(apart) = parts else { continue };
            if can_be_strings(&apart.strings) {
                rows.push(row);
                codes.push(of as u8);
                all.push(apart);
            }
        }
        Ok(js.array(0).and_then(|list| {
            ids = list;
            let each = |(at, &row): (usize, &RowNo)| js.set_at(list, at as u32, js.string(session.tree().id_of(row))?);
            rows.iter().enumerate().try_for_each(each)
        }))
    })?;
    if let Ok(made) = found {
        made?;
    }
    if all.is_empty() {
        return Ok(None);
    }
    let at = rows.iter().zip(&codes).position(|(&at, &code)| at == row && code == of as u8);
    let keep = || {
        let values = values_of(js, all)?;
        let place = js.number(at.unwrap_or(rows.len()) as f64)?;
        factory::call(js, FactoryFn::KeepAhead, &[source, js.u32s(&rows)?, js.u8s(&codes)?, ids, values, place])
    };
    // `lazy.js` reports the memory of these strings when the job ends.
    js.defer_external_memory();
    let value = keep().inspect_err(|_| js.report_external_memory())?;
    Ok(at.map(|_| value))
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
    value_of(js, text.parts).map_err(|_| match js.take_exception() {
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
    let parts = Parts::of(text);
    parts.map(|parts| BodyText { parts, len }).ok_or_else(|| changed(&format!("has a {} that is no JSON", of.name())))
}
