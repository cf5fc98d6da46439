//! `createBranchedSession`: a path as a session of its own.

use std::cell::RefCell;

use napi::{Error, Result};

use super::cache::Cache;
use super::entries::{ensure, object};
use super::errors::{thrown, wrong_argument};
use super::host::{self, make, F};
use super::raw::{Js, Val};
use super::state::{iso, line_of, make_header, session_file, swap, State};
use crate::core::branch::{plan, BranchLabel, BranchPlan, BranchStep};
use crate::core::entry::time_of;
use crate::core::entry::{EntryHead, Kind, Parent};
use crate::core::error::{Error as CoreError, Result as CoreResult};
use crate::core::ids;
use crate::core::session::{Persistence, Session};
use crate::core::storage::{NewFile, Place};
use crate::core::tree::RowNo;

/// Moves the manager to a new session that holds the path to `to`. Gives the new file's path, if it writes files.
pub fn branched_session(state: &RefCell<State>, js: Js, to: RowNo) -> Result<Option<String>> {
    let now = host::now(js)?;
    let timestamp = iso(js, now)?;
    let id = ids::session_id(now).into_bytes();
    let plan = plan(state.borrow().session.tree(), to);
    let (persistence, options, cwd, dir, old_file, conversation) = {
        let state = state.borrow();
        let tree = state.session.tree();
        let conversation = plan
            .steps
            .iter()
            .any(|step| tree.row(step.row).and_then(|row| row.role()).is_some_and(|r| r.is_conversation()));
        let file = state.session.file().map(str::to_owned);
        (state.persistence, state.options, state.cwd.clone(), state.dir.clone(), file, conversation)
    };
    let on_disk = persistence == Persistence::File;
    let parent = old_file.as_deref().filter(|_| on_disk);
    let header = make_header(js, &id, &timestamp, &cwd, js.optional_string(parent.map(str::as_bytes))?)?;
    let file = match on_disk {
        true => Some(session_file(&dir, &timestamp, &id)),
        false => old_file,
    };
    let writes = on_disk && conversation;
    if !writes {
        // The new session's entries are kept as objects: all of them must be there.
        ensure(state, js, plan.steps.iter().map(|step| step.row))?;
    }
    ensure(state, js, plan.labels.iter().map(|label| label.from))?;
    let mut next = Branched {
        session: Session::new(id, persistence, file.clone())
            .with_options(options)
            .map_err(|error| thrown(js, &error))?,
        cache: Cache::new(js, plan.steps.len() + plan.labels.len())?,
    };
    let built = next.build(state, js, &plan, header, file.as_deref().filter(|_| writes));
    match built {
        Ok(()) => swap(state, js, (next.session, next.cache))?,
        Err(error) => {
            next.cache.release(js)?;
            return Err(error);
        }
    }
    Ok(file.filter(|_| on_disk))
}

struct Branched {
    session: Session,
    cache: Cache,
}

impl Branched {
    fn build(
        &mut self,
        state: &RefCell<State>,
        js: Js,
        plan: &BranchPlan,
        header: Val,
        file: Option<&str>,
    ) -> Result<()> {
        let fail = |error: CoreError| thrown(js, &error);
        self.cache.set_header(js, header)?;
        let mut out = file.map(NewFile::create).transpose().map_err(fail)?;
        let mut places = Vec::new();
        let mut write = |line: &[u8], out: &mut Option<NewFile>| -> Result<()> {
            if let Some(out) = out {
                places.push(out.line(line).map_err(fail)?);
            }
            Ok(())
        };
        if out.is_some() {
            write(&line_of(js, header)?, &mut out)?;
        }
        let epoch = state.borrow().epoch;
        for (at, step) in plan.steps.iter().enumerate() {
            let made = {
                let state = state.borrow();
                state.cache.has(step.row) || state.cache.has_own(step.row)
            };
            if made {
                js.scoped(|| {
                    let entry = rechained(state, js, step)?;
                    self.cache.set(js, at as RowNo, entry)?;
                    if out.is_some() {
                        write(&line_of(js, entry)?, &mut out)?;
                    }
                    Ok(())
                })?;
            } else {
                let line = state.borrow().session.line(step.row).map_err(fail)?;
                let line = line.ok_or_else(|| Error::from_reason("An entry of the branch has no line"))?;
                write(&step.line(&line), &mut out)?;
            }
            same_session(state, js, epoch)?;
            let state = state.borrow();
            let head = step.head(state.session.tree());
            self.session.push_kept(&head.ok_or_else(|| Error::from_reason("An entry of the branch is gone"))?);
        }
        for (at, label) in plan.labels.iter().enumerate() {
            js.scoped(|| {
                same_session(state, js, epoch)?;
                let entry = self.push_label(state, js, label)?;
                self.cache.set(js, (plan.steps.len() + at) as RowNo, entry)?;
                if out.is_some() {
                    write(&line_of(js, entry)?, &mut out)?;
                }
                Ok(())
            })?;
        }
        same_session(state, js, epoch)?;
        self.finish(out, places).map_err(fail)
    }

    fn finish(&mut self, out: Option<NewFile>, places: Vec<Place>) -> CoreResult<()> {
        if let Some(out) = out {
            self.session.adopt_file(out.finish(self.session.options().durability)?, places);
        }
        Ok(())
    }

    fn push_label(&mut self, state: &RefCell<State>, js: Js, label: &BranchLabel) -> Result<Val> {
        let from = object(state, js, label.from)?;
        let timestamp = js.get(from, c"timestamp")?;
        let args = [
            js.string(label.id.as_bytes())?,
            js.string(&label.parent)?,
            timestamp,
            js.string(&label.target)?,
            js.get(from, c"label")?,
        ];
        let entry = make(js, F::LabelEntry, &args)?;
        let handle = super::object::Handle::of(js, timestamp);
        self.session.push_kept(&EntryHead {
            kind: Kind::Label,
            id: label.id.as_bytes().into(),
            parent: Parent::Id(label.parent.as_slice().into()),
            time: time_of(Some(&handle).filter(|handle| !handle.is_undefined())),
            message: None,
            first_kept: None,
            target: Some(label.target.as_slice().into()),
            sets_label: true,
            has_summary: false,
        });
        Ok(entry)
    }
}

/// Serialising runs the caller's code, which may have taken the manager to another session.
fn same_session(state: &RefCell<State>, js: Js, epoch: u64) -> Result<()> {
    match state.borrow().epoch == epoch {
        true => Ok(()),
        false => Err(wrong_argument(js, "The manager went to another session while its branch was written")),
    }
}

/// A new object of an entry in its new place, around the same payload.
fn rechained(state: &RefCell<State>, js: Js, step: &BranchStep) -> Result<Val> {
    let entry = object(state, js, step.row)?;
    let parent = match &step.parent {
        Some(parent) => js.string(parent)?,
        None => js.null()?,
    };
    let kind = state.borrow().session.tree().row(step.row).map(|row| row.kind);
    match kind {
        Some(Kind::Compaction) => {
            let first_kept = js.optional_string(step.first_kept.as_deref())?;
            make(js, F::RechainedCompaction, &[entry, parent, first_kept])
        }
        _ => make(js, F::Rechained, &[entry, parent]),
    }
}
