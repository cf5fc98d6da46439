//! `list` and `listAll`: files are read on other threads, results arrive here a slice at a time, and progress, partial
//! lists and the promise follow the reference's rules.

use std::cell::RefCell;
use std::cmp::Ordering as Order;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{channel, Receiver, RecvTimeoutError, Sender};
use std::sync::Arc;
use std::time::Duration;

use napi::{Error, Result};

use super::info::{info_object, Shown};
use super::task::{self, abort_reason, reason_of, Deferred, Task};
use crate::core::base::error::{Error as CoreError, Result as CoreResult};
use crate::core::base::paths::Host;
use crate::core::base::unparsed_dates::UnparsedDates;
use crate::core::catalog::background::{fill, Working};
use crate::core::catalog::{location, Catalog, Location};
use crate::core::io::fd_limit::{is_exhausted, patiently};
use crate::core::listing::find_session::CwdFilter;
use crate::core::listing::listing::{in_all_dirs, in_dir, read_all, Candidate, Listed};
use crate::core::listing::locale_sort::{Key, Sorting};
use crate::js::convert::errors::thrown;
use crate::js::convert::paths::on_paths;
use crate::js::convert::values::parse;
use crate::js::engine::{self, queue, WeakSender};
use crate::js::engine::{JsEnv, JsVal, Persistent};
use crate::js::factory::{self, scratch, FactoryFn};

/// What is listed.
pub struct Listing {
    dir: String,
    /// Only sessions of this working directory.
    pub filter: Option<String>,
    everything: bool,
}

impl Listing {
    /// The sessions in one directory.
    pub fn dir(dir: String, filter: Option<String>) -> Self {
        Self { dir, filter, everything: false }
    }

    /// The sessions in every directory under the sessions directory.
    pub fn all(sessions_dir: String) -> Self {
        Self { dir: sessions_dir, filter: None, everything: true }
    }

    /// The files that may be sessions; none where there is no directory that can be read. `cwd` is what a relative path
    /// starts from.
    pub fn find(&self, cwd: &str, cancelled: &AtomicBool) -> CoreResult<Vec<Candidate>> {
        let found = patiently(cancelled, || match self.everything {
            true => in_all_dirs(&self.dir, cwd),
            false => in_dir(&self.dir, cwd),
        });
        match found {
            Err(error) if is_exhausted(&error) => Err(CoreError::io("scandir", &self.dir, error)),
            found => Ok(found.unwrap_or_default()),
        }
    }
}

/// Where the catalog is and what relative paths start from, as JavaScript sees it now. Where the host does not tell,
/// there is no catalog.
pub fn surroundings(js: JsEnv<'_>) -> Result<(Option<Location>, String)> {
    let asked = on_paths(js, |host| Ok((location(host)?, host.cwd()?)));
    match asked {
        Ok(found) => Ok(found),
        Err(_) => js.take_exception().map(|_| (None, String::new())),
    }
}

/// What the reading threads tell.
enum Event {
    /// Files that are to be put into an order which the host must be asked for.
    Sort(Box<Sorting>),
    /// How many files there are.
    Found(usize),
    /// Some of the times of a file that only the host can read, before the file itself.
    UnparsedDates(usize, String),
    Read(usize, Box<Option<(String, String, Listed)>>),
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
    let task = Task::new(js, deferred, signal, on_progress)?;
    let (location, cwd) = surroundings(js)?;
    let cancelled = task.cancelled.clone();
    let (order, ordered) = channel();
    let progress = std::rc::Rc::new(RefCell::new(Progress {
        task,
        infos: Some(js.keep(js.array(0)?)?),
        results: None,
        states: None,
        unparsed_dates: HashMap::new(),
        times: Vec::new(),
        catalog: location.as_ref().map(|location| location.path.to_string_lossy().into_owned()),
        filter: listing.filter.clone(),
        everything: listing.everything,
        total: 0,
        loaded: 0,
        first_loaded: false,
        order: Some(order),
        again: None,
    }));
    let handled = progress.clone();
    let sender =
        queue(js, factory::function(js, FactoryFn::Slices)?, Box::new(move |js, event| take(&handled, js, event)))?;
    progress.borrow_mut().task.listen(js, sender.weak(), || Event::Aborted)?;
    progress.borrow_mut().again = Some(sender.weak());
    std::thread::Builder::new()
        .name("pi-session-list".into())
        .spawn(move || run(&listing, &cwd, location.as_ref(), &cancelled, &ordered, sender))
        .map_err(|error| Error::from_reason(format!("The list could not be started: {error}")))?;
    Ok(())
}

/// What the listing's own thread does: it answers, whatever happens, and in the end, when the answer is given, takes
/// texts into the catalog.
fn run(
    listing: &Listing,
    cwd: &str,
    location: Option<&Location>,
    cancelled: &Arc<AtomicBool>,
    ordered: &Receiver<Vec<u32>>,
    sender: engine::Sender<Event>,
) {
    let stop = Arc::new(AtomicBool::new(false));
    let _working = (Working::new(cancelled.clone()), Working::new(stop.clone()));
    let work = || answer(listing, cwd, location, cancelled, ordered, &sender);
    let answered = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
    let catalog = answered.unwrap_or_else(|_| Err(CoreError::failed("The list failed"))).unwrap_or_else(|error| {
        sender.send(Event::Failed(Box::new(error)));
        None
    });
    // From here on nothing keeps the process.
    drop(sender);
    if let (Some(catalog), Some(location)) = (catalog.filter(|catalog| !catalog.is_read_only()), location) {
        fill(catalog, location, &stop);
    }
}

/// Finds files, puts them into order and has them read. Gives the catalog that was used.
fn answer(
    listing: &Listing,
    cwd: &str,
    location: Option<&Location>,
    cancelled: &Arc<AtomicBool>,
    ordered: &Receiver<Vec<u32>>,
    sender: &engine::Sender<Event>,
) -> CoreResult<Option<Catalog>> {
    let candidates = listing.find(cwd, cancelled)?;
    let time = |file: &Candidate| match listing.everything {
        true => file.stamp.map_or(f64::NEG_INFINITY, |stamp| stamp.modified_ms()),
        false => 0.0,
    };
    let key = |file: &Candidate| Key { time: time(file), name: file.name.clone() };
    let mut sorting = Sorting::new(candidates.iter().map(key).collect());
    let order = match sorting.done() {
        Some(order) => order,
        None => {
            sender.send(Event::Sort(Box::new(sorting)));
            let Some(order) = received(ordered, cancelled) else { return Ok(None) };
            order
        }
    };
    sender.send(Event::Found(candidates.len()));
    if candidates.is_empty() {
        return Ok(None);
    }
    let mut candidates: Vec<_> = candidates.into_iter().map(Some).collect();
    let files: Vec<Candidate> =
        order.into_iter().filter_map(|at| candidates.get_mut(at as usize).and_then(Option::take)).collect();
    let each = |at: usize, listed: Option<Listed>| {
        let file = files.get(at);
        let shown = listed.zip(file).map(|(mut listed, file)| {
            unparsed_dates(&std::mem::take(&mut listed.info.unparsed_dates), |some| {
                sender.send(Event::UnparsedDates(at, some))
            });
            let absolute = crate::core::base::paths::join(&file.dir, &file.name);
            (file.path.clone(), absolute, listed)
        });
        sender.send(Event::Read(at, Box::new(shown)));
    };
    read_all(&files, location, cancelled, &each)
}

/// How many of a file's times the host is asked for at once, and how much text that is at most.
const ODD_AT_ONCE: usize = 64;
const ODD_BYTES: usize = 8 << 10;

/// Hands on times that only the host can read, as JSON texts of lists: a few at once, for its thread has other work.
fn unparsed_dates(times: &UnparsedDates, mut send: impl FnMut(String)) {
    let (mut some, mut count) = (String::new(), 0);
    let mut send = |some: &mut String| send(format!("[{}]", std::mem::take(some)));
    for time in times.iter() {
        if count == ODD_AT_ONCE || count > 0 && some.len() + time.len() > ODD_BYTES {
            send(&mut some);
            count = 0;
        }
        if count > 0 {
            some.push(',');
        }
        some.push_str(time);
        count += 1;
    }
    if count > 0 {
        send(&mut some);
    }
}

/// What the JavaScript thread answers; None if it never will.
fn received<T>(answers: &Receiver<T>, cancelled: &AtomicBool) -> Option<T> {
    loop {
        match answers.recv_timeout(Duration::from_millis(20)) {
            Ok(answer) => return Some(answer),
            Err(RecvTimeoutError::Disconnected) => return None,
            Err(RecvTimeoutError::Timeout) if cancelled.load(Ordering::Relaxed) => return None,
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

/// How far a listing is.
struct Progress {
    task: Task,
    /// The sessions read so far, sorted; None when the list is over.
    infos: Option<Persistent>,
    /// The sessions at their files' positions; None before the files are known, too.
    results: Option<Persistent>,
    /// What each of them knows of its text, at the same positions.
    states: Option<Persistent>,
    /// The newest of the times of files to come that only the host can read, by the files' positions.
    unparsed_dates: HashMap<usize, f64>,
    /// When the sessions read so far were modified, and their positions.
    times: Vec<(f64, u32)>,
    /// The catalog's path, for texts that are asked for later.
    catalog: Option<String>,
    filter: Option<String>,
    everything: bool,
    total: usize,
    loaded: usize,
    first_loaded: bool,
    order: Option<Sender<Vec<u32>>>,
    /// For what is left to a later slice.
    again: Option<WeakSender<Event>>,
}

/// How many sessions come between two partial lists of one directory, and of all.
const PUBLISH_EVERY: usize = 10;
const PUBLISH_EVERY_OF_ALL: usize = 100;

/// Handles what a reading thread tells. Nothing is borrowed while the caller's callback runs.
fn take(progress: &RefCell<Progress>, js: JsEnv<'_>, event: Event) -> Result<()> {
    if progress.borrow().task.is_over() {
        return Ok(());
    }
    let signal = progress.borrow().task.signal(js)?;
    match abort_reason(js, signal) {
        Ok(None) => {}
        Ok(Some(reason)) => return end(progress, js, reason, false),
        // A signal that cannot be asked ends the list with what it threw.
        Err(error) => {
            let reason = reason_of(js, &error)?;
            return end(progress, js, reason, false);
        }
    }
    let handled = match event {
        Event::Aborted => Ok(()),
        Event::Sort(sorting) => sort(progress, js, sorting),
        Event::Found(total) => found(progress, js, total),
        Event::UnparsedDates(at, times) => ask_times(progress, js, at, &times),
        Event::Read(at, shown) => read(progress, js, at, *shown),
        Event::Failed(error) => {
            let reason = reason_of(js, &thrown(js, &error))?;
            return end(progress, js, reason, false);
        }
    };
    if let Err(error) = handled {
        // What no callback threw rejects.
        if js.take_exception()?.is_none() {
            let reason = reason_of(js, &error)?;
            return end(progress, js, reason, false);
        }
        // A progress callback that throws ends the list, empty, as in the reference; an abort comes first.
        let signal = progress.borrow().task.signal(js)?;
        let reason = abort_reason(js, signal).unwrap_or(None);
        let value = reason.map_or_else(|| js.array(0), Ok)?;
        return end(progress, js, value, reason.is_none());
    }
    Ok(())
}

/// Settles the promise and lets everything go.
fn end(progress: &RefCell<Progress>, js: JsEnv<'_>, value: JsVal<'_>, resolves: bool) -> Result<()> {
    let (ending, kept) = {
        let mut progress = progress.borrow_mut();
        progress.order = None;
        (progress.task.ending(), [progress.infos.take(), progress.results.take(), progress.states.take()])
    };
    for kept in kept.into_iter().flatten() {
        js.release(kept)?;
    }
    ending.settle(js, value, resolves)
}

/// Sorts on for a while, as the host's language has it; the rest is left to another message.
fn sort(progress: &RefCell<Progress>, js: JsEnv<'_>, mut sorting: Box<Sorting>) -> Result<()> {
    sorting.step(|left, right| {
        js.scoped(|js, _| {
            let names = [js.string(left.as_bytes())?, js.string(right.as_bytes())?];
            let order = js.number_value(factory::call(js, FactoryFn::CompareNames, &names)?)?.unwrap_or_default();
            Ok::<_, Error>(order.partial_cmp(&0.0).unwrap_or(Order::Equal))
        })
    })?;
    let done = sorting.done();
    let progress = progress.borrow();
    // Where nobody receives it, the list is over.
    match (done, &progress.order, &progress.again) {
        (Some(order), Some(sender), _) => drop(sender.send(order)),
        (None, _, Some(again)) => again.send(Event::Sort(sorting)),
        _ => {}
    }
    Ok(())
}

/// All files are known, in the reference's order: from now on they are read.
fn found(progress: &RefCell<Progress>, js: JsEnv<'_>, total: usize) -> Result<()> {
    if total == 0 {
        return end(progress, js, js.array(0)?, true);
    }
    let results = js.keep(js.array(total)?)?;
    let states = js.keep(factory::call(js, FactoryFn::States, &[js.number(total as f64)?])?)?;
    let mut progress = progress.borrow_mut();
    progress.total = total;
    progress.results = Some(results);
    progress.states = Some(states);
    Ok(())
}

/// Asks the host which of some times of a file is the newest.
fn ask_times(progress: &RefCell<Progress>, js: JsEnv<'_>, at: usize, times: &str) -> Result<()> {
    let newest = js.number_value(factory::call(js, FactoryFn::NewestTime, &[parse(js, times)?])?)?;
    if let Some(newest) = newest {
        let mut progress = progress.borrow_mut();
        let known = progress.unparsed_dates.entry(at).or_insert(newest);
        *known = known.max(newest);
    }
    Ok(())
}

fn read(
    progress: &RefCell<Progress>,
    js: JsEnv<'_>,
    at: usize,
    mut shown: Option<(String, String, Listed)>,
) -> Result<()> {
    if let Some((newest, (.., listed))) = progress.borrow_mut().unparsed_dates.remove(&at).zip(shown.as_mut()) {
        listed.info.active = Some(listed.info.active.unwrap_or(0.0).max(newest));
    }
    let info = match shown {
        Some((path, file, listed)) if is_listed(progress, js, &listed)? => {
            // The caller's code may run while the object is made: nothing is borrowed then.
            let (states, catalog) = {
                let progress = progress.borrow();
                let Some(states) = &progress.states else { return Ok(()) };
                (js.kept(states)?, progress.catalog.clone())
            };
            let shown = Shown { path: &path, file: &file, listed: &listed, catalog: catalog.as_deref() };
            let info = info_object(js, &shown, states, at)?;
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
        progress.loaded += 1;
        progress.first_loaded |= at == 0;
        (progress.publishes(at), progress.loaded, progress.total)
    };
    let (infos, results, states, on_progress) = {
        let progress = progress.borrow();
        let (Some(infos), Some(results), Some(states)) = (&progress.infos, &progress.results, &progress.states) else {
            return Ok(());
        };
        (js.kept(infos)?, js.kept(results)?, js.kept(states)?, progress.task.on_progress(js)?)
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
        let list = newest_first(progress, js, results, states)?;
        return end(progress, js, list, true);
    }
    Ok(())
}

/// The list of all results, the newest first; those of one time in their files' order.
fn newest_first<'env>(
    progress: &RefCell<Progress>,
    js: JsEnv<'env>,
    results: JsVal<'env>,
    states: JsVal<'env>,
) -> Result<JsVal<'env>> {
    let mut times = std::mem::take(&mut progress.borrow_mut().times);
    if times.iter().any(|(time, _)| time.is_nan()) {
        return factory::call(js, FactoryFn::NewestFirst, &[results]);
    }
    times.sort_by(|(left, a), (right, b)| right.partial_cmp(left).unwrap_or(Order::Equal).then(a.cmp(b)));
    let rows: Vec<u32> = times.into_iter().map(|(_, at)| at).collect();
    factory::call(js, FactoryFn::InOrder, &[results, states, js.u32s(&rows)?])
}

impl Progress {
    /// Whether the file just read brings a partial list, by the reference's rules.
    fn publishes(&self, at: usize) -> bool {
        let last = self.loaded == self.total;
        match self.everything {
            false => self.loaded == 1 || self.loaded.is_multiple_of(PUBLISH_EVERY) || last,
            true => self.first_loaded && (at == 0 || self.loaded.is_multiple_of(PUBLISH_EVERY_OF_ALL) || last),
        }
    }
}

/// Whether a session is of the working directory that is listed.
fn is_listed(progress: &RefCell<Progress>, js: JsEnv<'_>, listed: &Listed) -> Result<bool> {
    match &progress.borrow().filter {
        Some(cwd) => on_paths(js, |host| Ok(CwdFilter { cwd, host }.takes(Some(&listed.info.cwd)))),
        None => Ok(true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_odd_times_of_a_file_were_asked_for_at_once() {
        let mut times = UnparsedDates::default();
        (0..1_000).for_each(|n| times.add(&format!("\"Jan {n} 2025\"")));
        times.add(&format!("\"{}\"", "x".repeat(3 * ODD_BYTES)));
        let (mut count, mut longest) = (0, 0);
        unparsed_dates(&times, |some| {
            let some: Vec<String> = serde_json::from_str(&some).expect("a list");
            count += some.len();
            longest = longest.max(some.len());
        });
        assert_eq!((count, longest), (1_001, ODD_AT_ONCE));
        unparsed_dates(&UnparsedDates::default(), |_| panic!("there are none"));
    }
}
