//! `list` and `listAll`. Another thread lists; its events are handled here in slices: progress, partial lists and the
//! result.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::HashMap;

use napi::{Error, Result};

use super::info::info_object;
use super::task::{self, Task, TaskValue};
use crate::convert::paths::on_paths;
use crate::convert::values::parse;
use crate::engine::{JsEnv, JsVal};
use crate::factory::{self, FactoryFn};
use pi_session_core::addon::{list_events, ListEvent};
use pi_session_core::paths::Process;
use pi_session_core::{catalog_location, CatalogLocation, ListScope, ListedFile, PartialLists};

/// The catalog's location and the working directory, as JavaScript sees them now. No catalog if reading the environment
/// fails.
pub fn catalog_and_cwd(js: JsEnv<'_>) -> Result<(Option<CatalogLocation>, String)> {
    let asked = on_paths(js, |process| Ok((catalog_location(process)?, process.cwd()?)));
    match asked {
        Ok(found) => Ok(found),
        Err(_) => js.take_exception().map(|_| (None, String::new())),
    }
}

/// Starts a list. Returns its promise.
pub fn promise<'env>(
    js: JsEnv<'env>,
    signal: JsVal<'env>,
    on_progress: JsVal<'env>,
    what: impl FnOnce() -> Result<ListScope>,
) -> Result<JsVal<'env>> {
    task::promise(js, |deferred| {
        // As in pi, an aborted list has already created the default directory.
        let scope = what()?;
        let (location, cwd) = catalog_and_cwd(js)?;
        let task = Task::new(js, deferred, signal, on_progress)?;
        task.keep(js, TaskValue::Partial, js.array(0)?)?;
        // This list reuses the texts of an earlier list, which the caller may drop while this one runs.
        task.keep(js, TaskValue::Texts, factory::call(js, FactoryFn::RequestedTexts, &[])?)?;
        let progress = Progress { partial: PartialLists::of(&scope), ..Progress::default() };
        let list = List { scope: scope.clone(), progress: RefCell::new(progress) };
        task.run(
            js,
            "list",
            move |js, task, event| list.handle(js, task, event),
            move |events, stop| list_events(&scope, &cwd, location.as_ref(), stop, &|event| events.send(event)),
        )
    })
}

/// A running list.
struct List {
    scope: ListScope,
    progress: RefCell<Progress>,
}

#[derive(Default)]
struct Progress {
    /// The newest date that JavaScript parsed for each file that is not complete yet, by the file's index.
    unparsed_dates: HashMap<usize, f64>,
    /// The sessions that were read so far.
    read: Vec<ReadSession>,
    partial: PartialLists,
    total: usize,
}

/// The sort keys of a session.
struct ReadSession {
    /// The session's index in the order in which files are read.
    at: u32,
    modified: f64,
    file_time: f64,
    /// The name of its file, and the index of the file in the order in which files were found.
    name: String,
    found_at: u32,
}

impl List {
    /// Handles an event. Nothing is borrowed while the caller's code runs.
    fn handle(&self, js: JsEnv<'_>, task: &Task, event: ListEvent) -> Result<()> {
        let handled = match event {
            ListEvent::Found(total) => self.found(js, task, total),
            ListEvent::Date(at, date) => self.parse_date(js, at, &date),
            ListEvent::Read(at, file) => self.read(js, task, at, file.map(|file| *file)),
        };
        let Err(error) = handled else { return Ok(()) };
        // An error without an exception rejects the promise.
        if js.take_exception()?.is_none() {
            return Err(error);
        }
        // As in pi, a progress callback that throws ends the list with an empty result. An abort has priority.
        let reason = match task.abort_reason(js) {
            Ok(reason) => reason,
            // The signal's own code threw. A promise cannot be settled while an exception is pending.
            Err(_) => js.take_exception().map(|_| None)?,
        };
        task.end(js, reason.map_or_else(|| js.array(0), Ok)?, reason.is_none())
    }

    /// The number of files is known. They are read from now on.
    fn found(&self, js: JsEnv<'_>, task: &Task, total: usize) -> Result<()> {
        if total == 0 {
            return task.end(js, js.array(0)?, true);
        }
        self.progress.borrow_mut().total = total;
        task.keep(js, TaskValue::Results, js.array(total)?)
    }

    /// Asks JavaScript to parse a date of a file.
    fn parse_date(&self, js: JsEnv<'_>, at: usize, date: &str) -> Result<()> {
        let dates = js.array_of(&[parse(js, date)?])?;
        if let Some(time) = js.number_value(factory::call(js, FactoryFn::NewestTime, &[dates])?)? {
            let mut progress = self.progress.borrow_mut();
            let newest = progress.unparsed_dates.entry(at).or_insert(time);
            *newest = newest.max(time);
        }
        Ok(())
    }

    fn read(&self, js: JsEnv<'_>, task: &Task, at: usize, mut file: Option<ListedFile>) -> Result<()> {
        let newest = self.progress.borrow_mut().unparsed_dates.remove(&at);
        if let Some((newest, ListedFile { listed, .. })) = newest.zip(file.as_mut()) {
            listed.summary.active = Some(listed.summary.active.unwrap_or(0.0).max(newest));
        }
        let info = match file {
            Some(file) if on_paths(js, |process| Ok(self.scope.includes(&file.listed.summary.cwd, process)))? => {
                let made = info_object(js, &file)?;
                made.map(|(info, modified)| {
                    let ListedFile { name, file_time, found_at, .. } = file;
                    let read = ReadSession { at: at as u32, modified, file_time, name, found_at };
                    self.progress.borrow_mut().read.push(read);
                    info
                })
            }
            _ => None,
        };
        let (publishes, loaded, total) = {
            let mut progress = self.progress.borrow_mut();
            let total = progress.total;
            (progress.partial.add(at, total), progress.partial.loaded(), total)
        };
        let Some(results) = task.kept(js, TaskValue::Results)? else { return Ok(()) };
        if let Some(info) = info {
            js.set_at(results, at as u32, info)?;
        }
        if let (Some(on_progress), Some(infos)) =
            (task.kept(js, TaskValue::OnProgress)?, task.kept(js, TaskValue::Partial)?)
        {
            if let Some(info) = info {
                factory::call(js, FactoryFn::InsertNewest, &[infos, info])?;
            }
            let partial = if publishes { factory::call(js, FactoryFn::Slice, &[infos])? } else { js.undefined()? };
            js.call(on_progress, &[js.number(loaded as f64)?, js.number(total as f64)?, partial])?;
        }
        if loaded == total && !task.is_over() {
            // All files were read. As in pi, an abort during the last progress call comes too late.
            return task.end(js, self.newest_first(js, results)?, true);
        }
        Ok(())
    }

    /// All results, the newest first. Sessions with one time are sorted by the time of their files, the newest first,
    /// then by name.
    fn newest_first<'env>(&self, js: JsEnv<'env>, results: JsVal<'env>) -> Result<JsVal<'env>> {
        let mut read = std::mem::take(&mut self.progress.borrow_mut().read);
        let is_sorted_by_engine = read.iter().any(|one| one.modified.is_nan());
        let newer = |left: &ReadSession, right: &ReadSession| {
            let by = |left: f64, right: f64| right.partial_cmp(&left).unwrap_or(Ordering::Equal);
            let modified = if is_sorted_by_engine { Ordering::Equal } else { by(left.modified, right.modified) };
            modified.then(by(left.file_time, right.file_time))
        };
        read.sort_by(|left, right| newer(left, right).then(left.at.cmp(&right.at)));
        let mut order = Vec::new();
        for run in read.chunk_by(|left, right| newer(left, right).is_eq()) {
            match run {
                [one] => order.push(one.at),
                _ => order.extend(by_name(js, run)?),
            }
        }
        let picked = factory::call(js, FactoryFn::Pick, &[results, js.u32s(&order)?])?;
        if is_sorted_by_engine {
            return factory::call(js, FactoryFn::NewestFirst, &[picked]);
        }
        Ok(picked)
    }
}

/// The indexes of sessions by the names of their files, in the reverse order of `localeCompare`. Names that are equal
/// in the engine's language are in the order in which they were found. Only sessions with one time need this, because
/// it takes 8 ms for the first 1,000 names of a process.
fn by_name(js: JsEnv<'_>, sessions: &[ReadSession]) -> Result<Vec<u32>> {
    let mut sessions: Vec<&ReadSession> = sessions.iter().collect();
    sessions.sort_by_key(|one| one.found_at);
    let names = js.array(sessions.len())?;
    for (at, one) in (0..).zip(&sessions) {
        js.scoped(|js, _| js.set_at(names, at, js.string(one.name.as_bytes())?))?;
    }
    let sorted = factory::call(js, FactoryFn::ByName, &[names])?;
    let position = |at: u32| {
        let place = js.scoped(|js, _| Ok(js.number_value(js.at(sorted, at)?)?.unwrap_or_default() as usize))?;
        sessions.get(place).map(|one| one.at).ok_or_else(|| Error::from_reason("A sorted file has no place"))
    };
    (0..sessions.len() as u32).map(position).collect()
}
