//! `list` and `listAll`: another thread lists; its events arrive here in slices and become progress, partial lists and the
//! result.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::HashMap;
use std::rc::Rc;

use napi::Result;

use super::info::{info_object, InfoArgs};
use super::task::{self, abort_reason, reason_of, reason_of_abort, Deferred, Task};
use crate::core::base::error::Error as CoreError;
use crate::core::base::paths::Host;
use crate::core::catalog::background::spawn;
use crate::core::catalog::location::{location, Location};
use crate::core::listing::list::{list, ListEvent, ListedFile, Listing, PartialLists, SortRequest};
use crate::core::summary::session_summary::ListedSession;
use crate::js::convert::errors::thrown;
use crate::js::convert::paths::on_paths;
use crate::js::convert::values::parse;
use crate::js::engine::{queue, JsEnv, JsVal, Persistent, Sender};
use crate::js::factory::{self, scratch, FactoryFn};

/// The catalog's location and the working directory, as JavaScript sees them now. If reading the environment fails, there is
/// no catalog.
pub fn surroundings(js: JsEnv<'_>) -> Result<(Option<Location>, String)> {
    let asked = on_paths(js, |host| Ok((location(host)?, host.cwd()?)));
    match asked {
        Ok(found) => Ok(found),
        Err(_) => js.take_exception().map(|_| (None, String::new())),
    }
}

/// What the listing thread sends.
enum Event {
    List(ListEvent),
    Failed(Box<CoreError>),
    Aborted,
}

/// Starts a listing and gives its promise.
pub fn promise<'env>(
    js: JsEnv<'env>,
    signal: JsVal<'env>,
    on_progress: JsVal<'env>,
    what: impl FnOnce() -> Result<Listing>,
) -> Result<JsVal<'env>> {
    task::promise(js, |deferred| start(js, signal, on_progress, what, deferred))
}

fn start(
    js: JsEnv<'_>,
    signal: JsVal<'_>,
    on_progress: JsVal<'_>,
    what: impl FnOnce() -> Result<Listing>,
    deferred: Deferred,
) -> Result<()> {
    // As in the reference, an aborted list has made the default directory already.
    let listing = what()?;
    let (location, cwd) = surroundings(js)?;
    let task = Task::new(js, deferred, signal, on_progress)?;
    let cancelled = task.cancelled.clone();
    let progress = Rc::new(RefCell::new(Progress {
        task,
        infos: Some(js.keep(js.array(0)?)?),
        results: None,
        unparsed_dates: HashMap::new(),
        times: Vec::new(),
        catalog: location.as_ref().map(|location| location.path.to_string_lossy().into_owned()),
        partial: listing.partial_lists(),
        listing: Rc::new(listing.clone()),
        total: 0,
    }));
    let begin = || {
        let handled = progress.clone();
        let sender =
            queue(js, factory::function(js, FactoryFn::Slices)?, Box::new(move |js, event| take(&handled, js, event)))?;
        progress.borrow_mut().task.listen(js, sender.weak(), || Event::Aborted)?;
        let at = location.clone();
        let stop = cancelled.clone();
        let answer = move |sender: &Sender<Event>| {
            list(&listing, &cwd, at.as_ref(), &stop, &|event| sender.send(Event::List(event)))
        };
        let failed = |sender: &Sender<Event>, error| sender.send(Event::Failed(Box::new(error)));
        spawn("list", cancelled, location, sender, answer, failed).map_err(|error| thrown(js, &error))
    };
    begin().or_else(|error| end(&progress, js, reason_of(js, &error)?, false))
}

/// A list that is running.
struct Progress {
    task: Task,
    /// The sessions read so far, sorted; None when the list is over.
    infos: Option<Persistent>,
    /// The sessions at their files' positions; None before the files are known, too.
    results: Option<Persistent>,
    /// The newest date that the host parsed for files that are not complete yet, by their positions.
    unparsed_dates: HashMap<usize, f64>,
    /// When the sessions read so far were modified, and their positions.
    times: Vec<(f64, u32)>,
    /// The catalog's path, for texts that are asked for later.
    catalog: Option<String>,
    listing: Rc<Listing>,
    partial: PartialLists,
    total: usize,
}

/// Handles an event. Nothing is borrowed while the caller's callback runs.
fn take(progress: &RefCell<Progress>, js: JsEnv<'_>, event: Event) -> Result<()> {
    if progress.borrow().task.is_over() {
        return Ok(());
    }
    let signal = progress.borrow().task.signal(js)?;
    match abort_reason(js, signal) {
        Ok(None) => {}
        Ok(Some(reason)) => return end(progress, js, reason, false),
        // A signal whose properties throw ends the list with that exception.
        Err(error) => {
            let reason = reason_of(js, &error)?;
            return end(progress, js, reason, false);
        }
    }
    let event = if progress.borrow().task.heard_abort() { Event::Aborted } else { event };
    let handled = match event {
        Event::Aborted => {
            let reason = reason_of_abort(js, signal).or_else(|error| reason_of(js, &error))?;
            return end(progress, js, reason, false);
        }
        Event::List(ListEvent::Sort(request)) => sort(js, request),
        Event::List(ListEvent::Found(total)) => found(progress, js, total),
        Event::List(ListEvent::Dates(at, dates)) => parse_dates(progress, js, at, &dates),
        Event::List(ListEvent::Read(at, file)) => read(progress, js, at, file.map(|file| *file)),
        Event::Failed(error) => {
            let reason = reason_of(js, &thrown(js, &error))?;
            return end(progress, js, reason, false);
        }
    };
    if let Err(error) = handled {
        // An error without an exception rejects.
        if js.take_exception()?.is_none() {
            let reason = reason_of(js, &error)?;
            return end(progress, js, reason, false);
        }
        // A progress callback that throws ends the list, empty, as in the reference; an abort comes first.
        let signal = progress.borrow().task.signal(js)?;
        let reason = match abort_reason(js, signal) {
            Ok(reason) => reason,
            // The signal's own code threw. No promise settles while an exception is pending.
            Err(_) => js.take_exception().map(|_| None)?,
        };
        let value = reason.map_or_else(|| js.array(0), Ok)?;
        return end(progress, js, value, reason.is_none());
    }
    Ok(())
}

/// Settles the promise and lets everything go.
fn end(progress: &RefCell<Progress>, js: JsEnv<'_>, value: JsVal<'_>, resolves: bool) -> Result<()> {
    let (ending, kept) = {
        let mut progress = progress.borrow_mut();
        (progress.task.ending(), [progress.infos.take(), progress.results.take()])
    };
    for kept in kept.into_iter().flatten() {
        js.release(kept)?;
    }
    ending.settle(js, value, resolves)
}

/// Sorts files as the host's language sorts their names.
fn sort(js: JsEnv<'_>, request: SortRequest) -> Result<()> {
    let SortRequest { keys, order, answer } = request;
    let names = js.array(keys.len())?;
    for (at, key) in (0..).zip(&keys) {
        js.scoped(|js, _| js.set_at(names, at, js.string(key.name.as_bytes())?))?;
    }
    let times: Vec<f64> = keys.iter().map(|key| key.time).collect();
    let sorted = factory::call(js, FactoryFn::SortFiles, &[js.u32s(&order)?, js.f64s(&times)?, names])?;
    let position = |at: u32| js.scoped(|js, _| Ok(js.number_value(js.at(sorted, at)?)?.unwrap_or_default() as u32));
    let sorted = (0..order.len() as u32).map(position).collect::<Result<_>>()?;
    // Without a receiver the list is over.
    let _ = answer.send(sorted);
    Ok(())
}

/// The number of files is known: they are read from now on.
fn found(progress: &RefCell<Progress>, js: JsEnv<'_>, total: usize) -> Result<()> {
    if total == 0 {
        return end(progress, js, js.array(0)?, true);
    }
    let results = js.keep(js.array(total)?)?;
    let mut progress = progress.borrow_mut();
    progress.total = total;
    progress.results = Some(results);
    Ok(())
}

/// Has the host find the newest of some dates of a file.
fn parse_dates(progress: &RefCell<Progress>, js: JsEnv<'_>, at: usize, times: &str) -> Result<()> {
    let newest = js.number_value(factory::call(js, FactoryFn::NewestTime, &[parse(js, times)?])?)?;
    if let Some(newest) = newest {
        let mut progress = progress.borrow_mut();
        let known = progress.unparsed_dates.entry(at).or_insert(newest);
        *known = known.max(newest);
    }
    Ok(())
}

fn read(progress: &RefCell<Progress>, js: JsEnv<'_>, at: usize, mut file: Option<ListedFile>) -> Result<()> {
    if let Some((newest, ListedFile { listed, .. })) =
        progress.borrow_mut().unparsed_dates.remove(&at).zip(file.as_mut())
    {
        listed.summary.active = Some(listed.summary.active.unwrap_or(0.0).max(newest));
    }
    let info = match file {
        Some(ListedFile { path, file, listed }) if is_listed(progress, js, &listed)? => {
            // The caller's code may run while the object is made: nothing may be borrowed.
            let catalog = progress.borrow().catalog.clone();
            let shown = InfoArgs { path: &path, file: &file, listed: &listed, catalog: catalog.as_deref() };
            let info = info_object(js, &shown)?;
            if info.is_some() {
                let [modified, ..] = scratch(js)?;
                progress.borrow_mut().times.push((modified, at as u32));
            }
            info
        }
        _ => None,
    };
    let (publishes, loaded, total) = {
        let mut progress = progress.borrow_mut();
        let total = progress.total;
        (progress.partial.add(at, total), progress.partial.loaded(), total)
    };
    let (infos, results, on_progress) = {
        let progress = progress.borrow();
        let (Some(infos), Some(results)) = (&progress.infos, &progress.results) else { return Ok(()) };
        (js.kept(infos)?, js.kept(results)?, progress.task.on_progress(js)?)
    };
    if let Some(info) = info {
        js.set_at(results, at as u32, info)?;
    }
    if let Some(on_progress) = on_progress {
        if let Some(info) = info {
            factory::call(js, FactoryFn::InsertNewest, &[infos, info])?;
        }
        let partial = if publishes { factory::call(js, FactoryFn::Copy, &[infos])? } else { js.undefined()? };
        js.call(on_progress, &[js.number(loaded as f64)?, js.number(total as f64)?, partial])?;
    }
    if loaded == total && !progress.borrow().task.is_over() {
        // Everything was read: an abort that the last progress call made comes too late, as in the reference.
        let list = newest_first(progress, js, results)?;
        return end(progress, js, list, true);
    }
    Ok(())
}

/// The list of all results, the newest first; those of one time in their files' order.
fn newest_first<'env>(progress: &RefCell<Progress>, js: JsEnv<'env>, results: JsVal<'env>) -> Result<JsVal<'env>> {
    let mut times = std::mem::take(&mut progress.borrow_mut().times);
    if times.iter().any(|(time, _)| time.is_nan()) {
        return factory::call(js, FactoryFn::NewestFirst, &[results]);
    }
    times.sort_by(|(left, a), (right, b)| right.partial_cmp(left).unwrap_or(Ordering::Equal).then(a.cmp(b)));
    let rows: Vec<u32> = times.into_iter().map(|(_, at)| at).collect();
    factory::call(js, FactoryFn::InOrder, &[results, js.u32s(&rows)?])
}

/// Whether a session is one of those that are listed.
fn is_listed(progress: &RefCell<Progress>, js: JsEnv<'_>, listed: &ListedSession) -> Result<bool> {
    let listing = progress.borrow().listing.clone();
    match listing.is_filtered() {
        true => on_paths(js, |host| Ok(listing.includes(&listed.summary.cwd, host))),
        false => Ok(true),
    }
}
