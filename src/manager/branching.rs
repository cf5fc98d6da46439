//! `createBranchedSession`: a path as a new session. A path here is the entries from the root to an entry.

use std::cell::RefCell;

use napi::Result;

use super::identity_cache::IdentityCache;
use super::materialize::{ensure, object};
use super::open::make_header;
use super::session_dir::session_file;
use super::state::{source, swap, ManagerState};
use crate::convert::errors::{wrong_argument, OrThrow};
use crate::convert::text::line_of;
use crate::engine::{JsEnv, JsVal};
use crate::factory::{self, process, FactoryFn};
use pi_session_core::addon::memory::push;
use pi_session_core::addon::{plan_branch, BranchLabel, BranchLines, BranchPlan, BranchStep};
use pi_session_core::time::timestamp;
use pi_session_core::{ids, EntryKind, Persistence, RowNo, Session};

/// Moves the manager to a new session with the path to `to`. Returns the path of the new file, if the manager writes
/// files.
pub fn branched_session(state: &RefCell<ManagerState>, js: JsEnv<'_>, to: RowNo) -> Result<Option<String>> {
    let now = process::now(js)?;
    let timestamp = timestamp(now).or_throw(js)?;
    let id = ids::session_id(now).into_bytes();
    let (config, old_file, generation) = {
        let state = state.borrow();
        (state.config.clone(), state.session.file().map(str::to_owned), state.generation)
    };
    let on_disk = config.persistence == Persistence::File;
    let parent = old_file.as_deref().filter(|_| on_disk);
    let header = make_header(js, &id, &timestamp, &config.cwd, js.optional_string(parent.map(str::as_bytes))?)?;
    let file = if on_disk { Some(session_file(&config.dir, &timestamp, &id)) } else { old_file };
    let mut session = Session::new(id, config.persistence, file.clone()).with_options(config.options).or_throw(js)?;
    let plan = plan_branch(state.borrow().session.tree(), to).or_throw(js)?;
    session.add_branch(&state.borrow().session, &plan).or_throw(js)?;
    let writes = on_disk && session.tree().has_conversation();
    if !writes {
        // The new session's entries are kept as objects, so all of them must exist.
        ensure(state, js, plan.steps.iter().map(|step| step.row))?;
    }
    ensure(state, js, plan.labels.iter().map(|label| label.from))?;
    let mut cache = IdentityCache::new(js, session.tree().len())?;
    cache.set_header(js, header)?;
    let lines = own_lines(state, js, &plan, &mut cache, writes)?;
    if state.borrow().generation != generation {
        return Err(wrong_argument(js, "The manager went to another session while its branch was written"));
    }
    if writes {
        session.write_branch(&state.borrow().session, &plan, lines).or_throw(js)?;
    } else {
        state.borrow().session.check_has_name().or_throw(js)?;
    }
    swap(state, js, (session, cache))?;
    if writes {
        // The bodies that were not read yet are in the new file now.
        let source = source(state, js)?;
        let list = state.borrow().cache.list(js)?;
        factory::call(js, FactoryFn::MoveTo, &[list, source])?;
    }
    Ok(file.filter(|_| on_disk))
}

/// Creates the objects of a new session, whose header is in its `cache`: its labels, and the entries of the path that
/// have objects. If `writes`, returns the lines that are written from objects: the header's line, the labels' lines,
/// and the lines of entries that differ from their lines in the old file.
fn own_lines(
    state: &RefCell<ManagerState>,
    js: JsEnv<'_>,
    plan: &BranchPlan,
    cache: &mut IdentityCache,
    writes: bool,
) -> Result<BranchLines> {
    let line = |js: JsEnv<'_>, object: JsVal<'_>| if writes { line_of(js, object) } else { Ok(Vec::new()) };
    let header = cache.header(js)?.map_or(Ok(Vec::new()), |header| line(js, header))?;
    let mut lines = BranchLines { header, ..BranchLines::default() };
    for (at, step) in (0..).zip(&plan.steps) {
        let own = js.scoped(|js, _| {
            let has_object = {
                let state = state.borrow();
                state.cache.has(step.row) || state.cache.has_own(step.row)
            };
            if !has_object {
                return Ok(None);
            }
            let entry = rechained(state, js, step)?;
            cache.set(js, at, entry)?;
            if writes && is_as_in_file(state, js, step, entry)? {
                return Ok(None);
            }
            line(js, entry).map(Some)
        })?;
        push(&mut lines.steps, own).or_throw(js)?;
    }
    for (at, label) in (plan.steps.len() as RowNo..).zip(&plan.labels) {
        let own = js.scoped(|js, _| {
            let entry = label_entry(state, js, label)?;
            cache.set(js, at, entry)?;
            line(js, entry)
        })?;
        push(&mut lines.labels, own).or_throw(js)?;
    }
    Ok(lines)
}

/// Whether an entry with unread bodies would be written like its line in the old file, with the new parent. The
/// caller's code may run.
fn is_as_in_file(state: &RefCell<ManagerState>, js: JsEnv<'_>, step: &BranchStep, entry: JsVal<'_>) -> Result<bool> {
    let from = match &state.borrow().bodies {
        Some(bodies) => bodies.external(js)?,
        None => return Ok(false),
    };
    let found = factory::call(js, FactoryFn::UnreadText, &[entry, js.number(f64::from(step.row))?, from])?;
    if js.is_undefined(found)? {
        return Ok(false);
    }
    let codes = js.number_value(js.at(found, 0)?)?;
    let text = js.text(js.at(found, 1)?)?.unwrap_or_default();
    let mut same = false;
    let mut compare = |_, line: &str, omitted: u8| {
        let new = step.line(line)?;
        same = codes == Some(f64::from(omitted)) && new.is_some_and(|line| line == text);
        Ok(())
    };
    let read = state.borrow().session.lines_without_bodies(&[step.row], &mut compare);
    read.or_throw(js)?;
    Ok(same)
}

/// The object of a label entry that is written again.
fn label_entry<'env>(state: &RefCell<ManagerState>, js: JsEnv<'env>, label: &BranchLabel) -> Result<JsVal<'env>> {
    let from = object(state, js, label.from)?;
    js.record(&[
        (c"type", js.string(EntryKind::Label.name().as_bytes())?),
        (c"id", js.string(label.id.as_bytes())?),
        (c"parentId", js.string(&label.parent)?),
        (c"timestamp", js.get(from, c"timestamp")?),
        (c"targetId", js.string(&label.target)?),
        (c"label", js.get(from, c"label")?),
    ])
}

/// A new object of an entry with its new parent and the same values.
fn rechained<'env>(state: &RefCell<ManagerState>, js: JsEnv<'env>, step: &BranchStep) -> Result<JsVal<'env>> {
    let entry = object(state, js, step.row)?;
    let parent = match &step.parent {
        Some(parent) => js.string(parent)?,
        None => js.null()?,
    };
    let (id, is_compaction) = {
        let state = state.borrow();
        let tree = state.session.tree();
        let is_compaction = tree.row(step.row).is_some_and(|row| row.kind == EntryKind::Compaction);
        (js.string(tree.id_of(step.row))?, js.boolean(is_compaction)?)
    };
    let first_kept = js.optional_string(step.first_kept.as_deref())?;
    factory::call(js, FactoryFn::Rechained, &[entry, id, parent, is_compaction, first_kept])
}
