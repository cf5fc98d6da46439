//! Appending: own fields in, line out, entry object kept.
//!
//! What may run the caller's code (`toJSON`, getters, the clock) runs first, while nothing is borrowed. Then envelope, line and
//! index change in one step. If the caller's code moved the manager to another session, that is an error.

use std::cell::RefCell;

use napi::{Error, Result};

use super::materialize::object;
use super::object_lines::kept_lines;
use super::resupply::Resupply;
use super::state::ManagerState;
use crate::js::convert::errors::{thrown, wrong_argument};
use crate::js::convert::text::line_of;
use crate::js::convert::time::iso;
use crate::js::engine::{JsEnv, JsVal};
use crate::js::factory::process::now;
use crate::js::factory::{self, FactoryFn};
use pi_session_core::base::error::Result as CoreResult;
use pi_session_core::format::entry::EntryKind;
use pi_session_core::format::serialize::{line, NewHead};
use pi_session_core::session::append::NewEntry;
pub use pi_session_core::session::append::ParentChoice;
use pi_session_core::session::Session;
use pi_session_core::tree::tree::RowNo;

/// How often an append starts over because the caller's own code changed the session under it.
const ATTEMPTS: usize = 16;

/// An entry to append.
pub struct PendingEntry<'env> {
    pub kind: EntryKind,
    /// The entry's own fields, in order.
    pub own: OwnFields<'env>,
    /// Their JSON text, if it was made already.
    pub text: Option<Vec<u8>>,
    pub head: NewHead,
    pub below: ParentChoice,
    /// An id that the own fields refer to already.
    pub id: Option<String>,
    /// A time that the own fields refer to already, ms since 1970.
    pub time: Option<f64>,
}

/// An object with an entry's own fields.
#[derive(Clone, Copy)]
pub enum OwnFields<'env> {
    Given(JsVal<'env>),
    /// It is in the manager's array of entries already: that of the session that the append began with, and ends with or fails.
    InArray(ArraySlot<'env>),
}

/// An element at the end of a manager's array of entries.
#[derive(Clone, Copy)]
pub struct ArraySlot<'env> {
    pub array: JsVal<'env>,
    pub index: u32,
}

impl<'env> ArraySlot<'env> {
    /// Removes the object from the array again. Gives back `reason`, its exception still pending.
    pub fn remove_again(self, js: JsEnv<'_>, reason: Error) -> Error {
        let exception = js.take_exception();
        let taken = js.number(f64::from(self.index)).and_then(|index| js.set(self.array, c"length", index));
        match (exception, taken) {
            (Ok(Some(exception)), Ok(())) => js.throw(exception),
            (Ok(None), Ok(())) => reason,
            (Err(error), _) | (_, Err(error)) => error,
        }
    }
}

impl<'env> OwnFields<'env> {
    /// Takes the object out of the array, if it is in it: the caller's code may append where it runs, and the entry that it
    /// appends takes this index.
    pub fn taken_out(&mut self, js: JsEnv<'env>) -> Result<JsVal<'env>> {
        let value = match *self {
            OwnFields::Given(value) => value,
            OwnFields::InArray(ArraySlot { array, index }) => {
                let value = js.at(array, index)?;
                js.set(array, c"length", js.number(f64::from(index))?)?;
                value
            }
        };
        *self = OwnFields::Given(value);
        Ok(value)
    }
}

impl<'env> PendingEntry<'env> {
    /// An entry below the leaf.
    pub fn entry(kind: EntryKind, own: JsVal<'env>) -> Self {
        Self::with_own(kind, OwnFields::Given(own))
    }

    /// The same with own fields that may be in the array.
    pub fn with_own(kind: EntryKind, own: OwnFields<'env>) -> Self {
        Self { kind, own, text: None, head: NewHead::default(), below: ParentChoice::Leaf, id: None, time: None }
    }

    /// The same with what the index takes of it.
    pub fn with_head(self, head: NewHead) -> Self {
        Self { head, ..self }
    }
}

/// What an append is going to do, and to which state of the session.
#[derive(PartialEq, Eq)]
enum AppendPlan {
    /// Keep the caller's object: nothing is written.
    Keep,
    WriteLine,
    /// Write a file with all entries. Their number tells whether an entry was added since they were serialised.
    MakeFile {
        entries: usize,
    },
}

fn plan(state: &ManagerState, head: &NewHead) -> AppendPlan {
    if state.session.writes_lines() {
        AppendPlan::WriteLine
    } else if state.session.makes_file_with(head) {
        AppendPlan::MakeFile { entries: state.session.tree().len() }
    } else {
        AppendPlan::Keep
    }
}

/// An entry that was appended.
pub enum Appended<'env> {
    Row(RowNo),
    /// Listeners were called. They may have moved the manager to another session, where rows have other numbers.
    Notified {
        id: JsVal<'env>,
        entry: JsVal<'env>,
    },
}

impl<'env> Appended<'env> {
    /// The entry's id.
    pub fn id(&self, state: &RefCell<ManagerState>, js: JsEnv<'env>) -> Result<JsVal<'env>> {
        match *self {
            Self::Row(row) => js.string(state.borrow().session.tree().id_of(row)),
            Self::Notified { id, .. } => Ok(id),
        }
    }

    /// The entry's object.
    pub fn entry(&self, state: &RefCell<ManagerState>, js: JsEnv<'env>) -> Result<JsVal<'env>> {
        match *self {
            Self::Row(row) => object(state, js, row),
            Self::Notified { entry, .. } => Ok(entry),
        }
    }
}

/// Appends an entry and calls the listeners.
pub fn append<'env>(state: &RefCell<ManagerState>, js: JsEnv<'env>, new: PendingEntry<'env>) -> Result<Appended<'env>> {
    let appended = Appended::Row(append_silently(state, js, new)?);
    if !state.borrow().listens {
        return Ok(appended);
    }
    let (id, entry) = (appended.id(state, js)?, appended.entry(state, js)?);
    let anchor = state.borrow().cache.anchor(js)?;
    if let Some(anchor) = anchor {
        factory::call(js, FactoryFn::Notify, &[anchor, entry])?;
    }
    Ok(Appended::Notified { id, entry })
}

fn append_silently<'env>(state: &RefCell<ManagerState>, js: JsEnv<'env>, mut new: PendingEntry<'env>) -> Result<RowNo> {
    let row = add(state, js, &mut new);
    match new.own {
        OwnFields::Given(own) => {
            let row = row?;
            state.borrow_mut().cache.set_own(js, row, own)?;
            Ok(row)
        }
        OwnFields::InArray(slot) => {
            let row = row.map_err(|error| slot.remove_again(js, error))?;
            let mut state = state.borrow_mut();
            match slot.index == row {
                true => state.cache.mark_own(row),
                // Entries of other processes came in before it.
                false => state.cache.set_own(js, row, js.at(slot.array, slot.index)?)?,
            }
            Ok(row)
        }
    }
}

fn add<'env>(state: &RefCell<ManagerState>, js: JsEnv<'env>, new: &mut PendingEntry<'env>) -> Result<RowNo> {
    state.borrow().session.check_writable().map_err(|error| thrown(js, &error))?;
    let generation = state.borrow().generation;
    let mut text = new.text.take();
    let mut resupply = Resupply::default();
    for _ in 0..ATTEMPTS {
        let planned = plan(&state.borrow(), &new.head);
        if planned != AppendPlan::Keep && text.is_none() {
            // The caller's code runs here, once. The plan is made again after it.
            text = Some(line_of(js, new.own.taken_out(js)?)?);
            continue;
        }
        let kept = match planned {
            AppendPlan::MakeFile { .. } => {
                new.own.taken_out(js)?;
                kept_lines(state, js)?
            }
            _ => Vec::new(),
        };
        let time = new.time.map_or_else(|| now(js), Ok)?;
        let timestamp = iso(js, time)?;
        let committed = {
            let mut state = state.borrow_mut();
            if state.generation != generation {
                return Err(wrong_argument(js, "The manager went to another session while a value was written"));
            }
            if plan(&state, &new.head) == planned {
                let text = text.as_deref().unwrap_or_default();
                let row = write(&mut state.session, new, (time, timestamp), text, &kept);
                // Entries of others may have come in even if that failed.
                if state.follow_remap(js)? {
                    // The array was replaced, too.
                    new.own.taken_out(js)?;
                }
                Some(row)
            } else {
                None
            }
        };
        match committed {
            Some(Ok(row)) => return Ok(row),
            Some(Err(error)) => {
                if resupply.can(&error) {
                    new.own.taken_out(js)?;
                }
                resupply.give(state, js, error)?;
            }
            None => {}
        }
    }
    Err(wrong_argument(js, "A toJSON method or getter changed the session each time it was written"))
}

/// Writes and adds the entry.
fn write(
    session: &mut Session,
    new: &PendingEntry<'_>,
    (time, timestamp): (f64, String),
    text: &[u8],
    kept: &[Vec<u8>],
) -> CoreResult<RowNo> {
    if session.writes_lines() {
        return session.append(&NewEntry {
            kind: new.kind,
            head: &new.head,
            own_fields: text,
            below: new.below,
            id: new.id.as_deref(),
            time,
            timestamp: &timestamp,
        });
    }
    let parent = match new.below {
        ParentChoice::Leaf => session.tree().leaf(),
        ParentChoice::Row(row) => Some(row),
        ParentChoice::Root => None,
    };
    let mut envelope = session.envelope(parent, time, timestamp);
    if let Some(id) = &new.id {
        envelope.id.clone_from(id);
    }
    let head = new.head.with(new.kind, &envelope);
    if !session.makes_file_with(&new.head) {
        return Ok(session.push_kept(&head));
    }
    let last = line(new.kind, &envelope, text)?;
    let lines = kept.iter().map(Vec::as_slice).chain(std::iter::once(last.as_slice()));
    session.make_file(lines, Some(&head))?;
    Ok(session.tree().len() as RowNo - 1)
}
