//! Appends an entry: writes its own fields as a line, and keeps them for the entry object.
//!
//! Everything that may run the caller's code (`toJSON`, getters, the clock) runs first, while nothing is borrowed. Then
//! envelope, line and index change in one step. If the caller's code moved the manager to another session, the append
//! fails.

use std::borrow::Cow;
use std::cell::RefCell;

use napi::Result;

use super::materialize::object;
use super::object_lines::kept_lines;
use super::state::ManagerState;
use crate::convert::errors::{thrown, wrong_argument};
use crate::convert::text::{line_of, recycle};
use crate::engine::{JsEnv, JsVal};
use crate::factory::process::now;
use crate::factory::{self, FactoryFn};
use pi_session_core::addon::{AppendPlan, NewHead};
use pi_session_core::{EntryKind, NewEntry, ParentChoice, RowNo};

/// How often an append starts over because the caller's own code changed the session during it.
const ATTEMPTS: usize = 16;

/// A new entry.
pub struct PendingEntry<'env> {
    pub kind: EntryKind,
    /// An object with the entry's own fields, in order; for a message entry its message, which is its only own field.
    pub own: JsVal<'env>,
    /// The JSON text of the own fields, if it exists already.
    pub text: Option<Vec<u8>>,
    pub head: NewHead,
    pub parent: ParentChoice,
    /// An id to which the own fields already refer.
    pub id: Option<String>,
    /// A time to which the own fields already refer, ms since 1970.
    pub time: Option<f64>,
}

impl<'env> PendingEntry<'env> {
    /// An entry whose parent is the leaf.
    pub fn entry(kind: EntryKind, own: JsVal<'env>) -> Self {
        Self { kind, own, text: None, head: NewHead::default(), parent: ParentChoice::Leaf, id: None, time: None }
    }

    /// The JSON text of the own fields. The caller's code may run.
    fn text(&self, js: JsEnv<'env>) -> Result<Vec<u8>> {
        match self.kind {
            EntryKind::Message => line_of(js, js.record(&[(c"message", self.own)])?),
            _ => line_of(js, self.own),
        }
    }
}

/// Appends an entry and calls the listeners. Returns the result of `wanted` for its row, or `undefined` if memory or
/// stack is exhausted.
pub fn append<'env>(
    state: &RefCell<ManagerState>,
    js: JsEnv<'env>,
    new: PendingEntry<'env>,
    wanted: impl FnOnce(RowNo) -> Result<JsVal<'env>>,
) -> Result<JsVal<'env>> {
    let row = append_silently(state, js, new)?;
    // Before the listeners run, because they may move the manager to another session, where rows have other numbers.
    let wanted = unless_failed(js, wanted(row))?;
    if state.borrow().listens {
        unless_failed(js, notify(state, js, row))?;
    }
    wanted.map_or_else(|| js.undefined(), Ok)
}

fn notify(state: &RefCell<ManagerState>, js: JsEnv<'_>, row: RowNo) -> Result<()> {
    let entry = object(state, js, row)?;
    let anchor = state.borrow().cache.anchor(js)?;
    let called = anchor.map(|anchor| factory::call(js, FactoryFn::Notify, &[anchor, entry]));
    called.transpose().map(drop)
}

/// Ignores a failure after an entry was written, because the append has succeeded: on an error the caller would append
/// the entry again.
fn unless_failed<T>(js: JsEnv<'_>, result: Result<T>) -> Result<Option<T>> {
    if result.is_err() {
        js.take_exception()?;
    }
    Ok(result.ok())
}

fn append_silently<'env>(state: &RefCell<ManagerState>, js: JsEnv<'env>, mut new: PendingEntry<'env>) -> Result<RowNo> {
    let generation = state.borrow().generation;
    for _ in 0..ATTEMPTS {
        let planned = state.borrow().session.append_plan(&new.head);
        if planned != AppendPlan::Keep && new.text.is_none() {
            // The caller's code runs here, once. After it the plan is made again.
            new.text = Some(new.text(js)?);
            continue;
        }
        let before = if matches!(planned, AppendPlan::MakeFile { .. }) { kept_lines(state, js)? } else { Vec::new() };
        let time = new.time.map_or_else(|| now(js), Ok)?;
        let appended = {
            let mut state = state.borrow_mut();
            if state.generation != generation {
                return Err(wrong_argument(js, "The manager went to another session while a value was written"));
            }
            if state.session.append_plan(&new.head) != planned {
                continue;
            }
            let entry = NewEntry {
                kind: new.kind,
                own_fields: Cow::Borrowed(new.text.as_deref().unwrap_or_default()),
                parent: new.parent,
                id: new.id.as_deref(),
                time,
            };
            state.cache.make_room(js)?;
            let appended = state.session.append_as_planned(&entry, &new.head, planned, &before);
            // Even a failed append may have read entries of others.
            let followed = state.follow_remap(js).and_then(|()| match appended {
                Ok(row) if state.session.is_own(row) => state.cache.set_own(js, row, new.own),
                // A redaction in between changed its line.
                Ok(_) | Err(_) => Ok(()),
            });
            match appended {
                // Its object is then created from its line.
                Ok(_) => drop(unless_failed(js, followed)?),
                Err(_) => followed?,
            }
            appended
        };
        if let Some(text) = new.text.take() {
            recycle(text);
        }
        return appended.map_err(|error| thrown(js, &error));
    }
    Err(wrong_argument(js, "A toJSON method or getter changed the session each time it was written"))
}
