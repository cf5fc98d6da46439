//! Reads bodies for JavaScript. The accessors of lazy entries (`lazy.js`) call this at their first use.
//!
//! An entry may outlive its manager, or the manager may have moved to another session. So bodies are read by a
//! [`BodyReader`], which finds the session, and keeps it after its manager has released it.

use std::rc::Rc;

use napi::{Error, Result, Status};

use super::state::BodyReader;
use crate::convert::errors::thrown;
use crate::convert::values::parse;
use crate::engine::{JsEnv, JsVal};
use pi_session_core::addon::{is_json, BodyOf, BodyPlace, MissingBody, TakeBody};
use pi_session_core::wtf8::shown;
use pi_session_core::{Error as CoreError, RowNo, Session};

impl BodyReader {
    /// Runs `work` with the session from which the entry was returned. The flag is whether `work` should check that the
    /// file still has its name. It should not if the present content could not be read.
    fn with_session<T>(&self, work: impl FnOnce(&Session, bool) -> T) -> Result<T> {
        if let Some(session) = &*self.left.borrow() {
            return Ok(work(session, true));
        }
        match self.manager.upgrade() {
            Some(manager) if manager.borrow().generation == self.generation => {
                let session = &manager.borrow().session;
                Ok(work(session, !session.is_suspect()))
            }
            _ => Err(Error::from_reason("The session of an entry is gone")),
        }
    }

    /// Finds a body that is not at its position: the manager reads the present content of the file. If it still has the
    /// same session, the entry may be at another position. False if the body is not found.
    fn find(
        &self,
        js: JsEnv<'_>,
        place: &BodyPlace<'_>,
        missing: &MissingBody,
        take: &mut TakeBody<'_>,
    ) -> Result<bool> {
        let Some(manager) = self.manager.upgrade() else {
            return Ok(false);
        };
        if manager.borrow().session.is_suspect() {
            let mut state = manager.try_borrow_mut().map_err(|error| Error::from_reason(error.to_string()))?;
            // If this failed, the body is not found below.
            let _ = state.session.refresh_for_read();
            state.follow_remap(js)?;
        }
        let state = manager.borrow();
        Ok(state.session.find_body(place, missing, take))
    }
}

/// Creates the function `readBody(reader, row, id, code)` for `lazy.js`; no other code receives it.
pub fn read_body_function<'env>(js: JsEnv<'env>) -> Result<JsVal<'env>> {
    js.function("readBody", |js, args| {
        read_body(js, args).map_err(|error| match error.status {
            Status::PendingException => error,
            // A pending exception stays.
            _ => thrown(js, &CoreError::internal(&error.reason)),
        })
    })
}

fn read_body<'env>(js: JsEnv<'env>, args: &[JsVal<'env>]) -> Result<JsVal<'env>> {
    let &[source, row, id, code] = args else {
        return Err(Error::from_reason("A body was requested without its position"));
    };
    let reader = js.external_value::<Rc<BodyReader>>(source)?;
    let number = |value| Ok::<_, Error>(js.number_value(value)?.unwrap_or_default());
    let id = js.text(id)?.unwrap_or_default();
    let of = BodyOf::from_code(number(code)? as u8);
    let of = of.ok_or_else(|| Error::from_reason("A body of an unknown kind was requested"))?;
    body(js, &reader, &BodyPlace { row: number(row)? as RowNo, id: &id, of })
}

fn body<'env>(js: JsEnv<'env>, reader: &BodyReader, place: &BodyPlace<'_>) -> Result<JsVal<'env>> {
    let (mut made, mut len) = (None, 0);
    // The caller's code does not run while the session is borrowed, because a value is created from its text alone.
    let mut take = |text: &str| {
        len = text.len();
        let value = parse(js, text);
        if value.is_err() && !is_json(text) {
            return js.take_exception().is_err();
        }
        made = Some(value);
        true
    };
    let taken = reader.with_session(|session, checks_name| session.body_text(place, checks_name, &mut take))?;
    if let Err((error, missing)) = taken {
        if !reader.find(js, place, &missing, &mut take)? {
            if !missing.is_replaced {
                return Err(thrown(js, &error));
            }
            // No open session has the new file, but the old one still has the body.
            let taken = reader.with_session(|session, _| session.body_text(place, false, &mut take))?;
            taken.map_err(|(error, _)| thrown(js, &error))?;
        }
    }
    let made = made.unwrap_or_else(|| Err(Error::from_reason("a body was not taken")));
    made.map_err(|_| match js.take_exception() {
        Ok(Some(exception)) => js.throw(exception),
        _ => {
            let file = reader.with_session(|session, _| session.file().unwrap_or_default().to_owned());
            let (file, id) = (file.unwrap_or_default(), shown(place.id));
            thrown(js, &CoreError::value_too_long(&file, &id, place.of.name(), len))
        }
    })
}
