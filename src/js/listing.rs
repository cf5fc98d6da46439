//! `list` and `listAll`: files are read on other threads, results arrive here one by one, and progress, partial lists
//! and the promise follow the reference's rules.

use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::ptr::null_mut;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::sync::Arc;

use napi::{sys, Error, Result, Status, ValueType};

use super::errors::wrong_argument;
use super::host::{make, on_paths, F};
use super::queue::{queue, WeakSender};
use super::raw::{Js, Kept, Val};
use super::values::parse;
use crate::core::find::CwdFilter;
use crate::core::info::Info;
use crate::core::listing::{in_all_dirs, in_dir, read_all, Candidate};
use crate::core::paths::file_name;

/// What is listed.
pub struct Listing {
    dir: String,
    /// Only sessions of this working directory.
    filter: Option<String>,
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

    fn find(&self) -> Vec<Candidate> {
        match self.everything {
            true => in_all_dirs(&self.dir).unwrap_or_default(),
            false => in_dir(&self.dir),
        }
    }
}

/// What the reading threads tell.
enum Event {
    Found(Vec<Candidate>),
    Read(usize, Box<Option<Info>>),
    Aborted,
}

/// Starts a listing and gives its promise. Whatever fails before that rejects it, as in an async function.
pub fn promise(js: Js, signal: Val, on_progress: Val, what: impl FnOnce() -> Result<Listing>) -> Result<Val> {
    let (deferred, promise) = deferred(js)?;
    if let Err(error) = start(js, signal, on_progress, what, deferred) {
        let reason = match js.take_exception()? {
            Some(reason) => reason,
            None => make(js, F::Failure, &[js.string(error.reason.as_bytes())?])?,
        };
        settle(js, deferred, reason, false)?;
    }
    Ok(promise)
}

fn deferred(js: Js) -> Result<(sys::napi_deferred, Val)> {
    let (mut deferred, mut promise) = (null_mut(), null_mut());
    // SAFETY: both receive what the engine makes.
    match unsafe { sys::napi_create_promise(js.raw(), &mut deferred, &mut promise) } {
        sys::Status::napi_ok => Ok((deferred, promise)),
        status => Err(Error::new(Status::from(status), "creating a promise failed")),
    }
}

fn settle(js: Js, deferred: sys::napi_deferred, value: Val, resolves: bool) -> Result<()> {
    // SAFETY: each deferred is settled once: by `promise` if nothing was started, else by `Progress::settle`.
    let status = unsafe {
        match resolves {
            true => sys::napi_resolve_deferred(js.raw(), deferred, value),
            false => sys::napi_reject_deferred(js.raw(), deferred, value),
        }
    };
    match status {
        sys::Status::napi_ok => Ok(()),
        status => Err(Error::new(Status::from(status), "settling a promise failed")),
    }
}

fn start(
    js: Js,
    signal: Val,
    on_progress: Val,
    what: impl FnOnce() -> Result<Listing>,
    deferred: sys::napi_deferred,
) -> Result<()> {
    // As in the reference, an aborted list has made the default directory already.
    let listing = what()?;
    let has_signal = !js.is_nullish(signal)?;
    if has_signal {
        let is_signal = js.is_object(signal)? && js.kind(js.get(signal, c"addEventListener")?)? == ValueType::Function;
        if !is_signal {
            return Err(wrong_argument(js, "signal must be an AbortSignal"));
        }
    }
    if js.is_truthy(on_progress)? && js.kind(on_progress)? != ValueType::Function {
        return Err(wrong_argument(js, "onProgress must be a function"));
    }
    if has_signal && js.is_truthy(js.get(signal, c"aborted")?)? {
        return Err(js.throw(js.get(signal, c"reason")?));
    }
    let cancelled = Arc::new(AtomicBool::new(false));
    let (order, ordered) = mpsc::channel();
    let unlisten = Rc::new(Cell::new(None));
    let progress = Progress {
        deferred: Some(deferred),
        kept: Some(KeptValues::new(js, signal, on_progress)?),
        unlisten: unlisten.clone(),
        filter: listing.filter.clone(),
        everything: listing.everything,
        total: 0,
        loaded: 0,
        first_loaded: false,
        cancelled: cancelled.clone(),
        order: Some(order),
    };
    let progress = RefCell::new(progress);
    let sender = queue(js, Box::new(move |js, event| take(&progress, js, event)))?;
    if has_signal {
        let callback = abort_callback(js, sender.weak(), cancelled.clone())?;
        unlisten.set(Some(js.keep(make(js, F::Listen, &[signal, callback])?)?));
    }
    std::thread::Builder::new()
        .name("pi-session-list".into())
        .spawn(move || {
            sender.send(Event::Found(listing.find()));
            let Ok(files) = ordered.recv() else { return };
            read_all(&files, &cancelled, &|at, info| sender.send(Event::Read(at, Box::new(info))));
        })
        .map_err(|error| Error::from_reason(format!("The list could not be started: {error}")))?;
    Ok(())
}

/// A function for the signal's abort event.
fn abort_callback(js: Js, sender: WeakSender<Event>, cancelled: Arc<AtomicBool>) -> Result<Val> {
    type Data = (WeakSender<Event>, Arc<AtomicBool>);
    // SAFETY: called by the engine alone, as the function made below.
    unsafe extern "C" fn on_abort(env: sys::napi_env, info: sys::napi_callback_info) -> sys::napi_value {
        let mut data: *mut c_void = null_mut();
        // SAFETY: asks for the data that the function was made with, nothing else.
        unsafe { sys::napi_get_cb_info(env, info, null_mut(), null_mut(), null_mut(), &mut data) };
        if !data.is_null() {
            // SAFETY: the data lives as long as the function.
            let (sender, cancelled) = unsafe { &*data.cast::<Data>() };
            cancelled.store(true, Ordering::Relaxed);
            sender.send(Event::Aborted);
        }
        null_mut()
    }
    // SAFETY: called by the engine alone, with the data given below.
    unsafe extern "C" fn free(_env: sys::napi_env, data: *mut c_void, _hint: *mut c_void) {
        // SAFETY: made below; the engine calls this once, when the function is collected.
        drop(unsafe { Box::from_raw(data.cast::<Data>()) });
    }
    let data = Box::into_raw(Box::new((sender, cancelled)));
    let mut function = null_mut();
    // SAFETY: `data` is handed to the function; the finaliser added below frees it.
    let status = unsafe {
        sys::napi_create_function(js.raw(), c"onAbort".as_ptr(), 7, Some(on_abort), data.cast(), &mut function)
    };
    let status = match status {
        // SAFETY: the function is a handle of this call.
        sys::Status::napi_ok => unsafe {
            sys::napi_add_finalizer(js.raw(), function, data.cast(), Some(free), null_mut(), null_mut())
        },
        status => status,
    };
    match status {
        sys::Status::napi_ok => Ok(function),
        status => Err(Error::new(Status::from(status), "creating a function failed")),
    }
}

/// The values that a listing keeps while it runs.
struct KeptValues {
    signal: Option<Kept>,
    on_progress: Option<Kept>,
    /// The sessions in the order they were read.
    infos: Kept,
    /// The sessions at their files' positions.
    results: Kept,
}

impl KeptValues {
    fn new(js: Js, signal: Val, on_progress: Val) -> Result<Self> {
        let keep = |value: Val, wanted: bool| if wanted { js.keep(value).map(Some) } else { Ok(None) };
        Ok(Self {
            signal: keep(signal, js.is_object(signal)?)?,
            on_progress: keep(on_progress, js.kind(on_progress)? == ValueType::Function)?,
            infos: js.keep(js.array(0)?)?,
            results: js.keep(js.array(0)?)?,
        })
    }

    fn release(self, js: Js) -> Result<()> {
        for kept in [self.signal, self.on_progress, Some(self.infos), Some(self.results)].into_iter().flatten() {
            js.release(kept)?;
        }
        Ok(())
    }
}

/// How far a listing is.
struct Progress {
    /// None once the promise is settled.
    deferred: Option<sys::napi_deferred>,
    kept: Option<KeptValues>,
    unlisten: Rc<Cell<Option<Kept>>>,
    filter: Option<String>,
    everything: bool,
    total: usize,
    loaded: usize,
    first_loaded: bool,
    cancelled: Arc<AtomicBool>,
    order: Option<mpsc::Sender<Vec<String>>>,
}

impl Drop for Progress {
    fn drop(&mut self) {
        // The environment may end in the middle of a list: nobody waits for the threads then.
        self.cancelled.store(true, Ordering::Relaxed);
    }
}

/// How many sessions come between two partial lists of one directory, and of all.
const PUBLISH_EVERY: usize = 10;
const PUBLISH_EVERY_OF_ALL: usize = 100;

/// Handles what a reading thread tells. Nothing is borrowed while the caller's callback runs.
fn take(progress: &RefCell<Progress>, js: Js, event: Event) -> Result<()> {
    if progress.borrow().deferred.is_none() {
        return Ok(());
    }
    match abort_reason(progress, js) {
        Ok(None) => {}
        Ok(Some(reason)) => return end(progress, js, reason, false),
        // A signal that cannot be asked ends the list with what it threw.
        Err(error) => {
            let reason = js.take_exception()?.ok_or(error)?;
            return end(progress, js, reason, false);
        }
    }
    let handled = match event {
        Event::Aborted => Ok(()),
        Event::Found(candidates) => found(progress, js, &candidates),
        Event::Read(at, info) => read(progress, js, at, *info),
    };
    if let Err(error) = handled {
        // A progress callback that throws ends the list, empty, as in the reference; an abort comes first.
        js.take_exception()?.ok_or(error)?;
        let reason = abort_reason(progress, js).unwrap_or(None);
        let value = reason.map_or_else(|| js.array(0), Ok)?;
        return end(progress, js, value, reason.is_none());
    }
    Ok(())
}

fn abort_reason(progress: &RefCell<Progress>, js: Js) -> Result<Option<Val>> {
    let progress = progress.borrow();
    let Some(signal) = progress.kept.as_ref().and_then(|kept| kept.signal.as_ref()) else {
        return Ok(None);
    };
    let signal = js.kept(signal)?;
    match js.is_truthy(js.get(signal, c"aborted")?)? {
        true => js.get(signal, c"reason").map(Some),
        false => Ok(None),
    }
}

/// Settles the promise and lets everything go; the threads stop by themselves.
fn end(progress: &RefCell<Progress>, js: Js, value: Val, resolves: bool) -> Result<()> {
    let (deferred, kept, unlisten) = {
        let mut progress = progress.borrow_mut();
        progress.cancelled.store(true, Ordering::Relaxed);
        progress.order = None;
        (progress.deferred.take(), progress.kept.take(), progress.unlisten.take())
    };
    if let Some(unlisten) = unlisten {
        js.call(js.kept(&unlisten)?, &[])?;
        js.release(unlisten)?;
    }
    if let Some(kept) = kept {
        kept.release(js)?;
    }
    deferred.map_or(Ok(()), |deferred| settle(js, deferred, value, resolves))
}

/// Files were found: they are read in the reference's order.
fn found(progress: &RefCell<Progress>, js: Js, candidates: &[Candidate]) -> Result<()> {
    if candidates.is_empty() {
        return end(progress, js, js.array(0)?, true);
    }
    let names = js.array(candidates.len())?;
    for (at, candidate) in candidates.iter().enumerate() {
        js.scoped(|| js.set_at(names, at as u32, js.string(file_name(&candidate.path).as_bytes())?))?;
    }
    let times: Vec<f64> = candidates.iter().map(|file| file.modified.unwrap_or(f64::NEG_INFINITY)).collect();
    let times = if progress.borrow().everything { js.f64s(&times)? } else { js.undefined()? };
    let order = make(js, F::FileOrder, &[names, times])?;
    let mut files = Vec::with_capacity(candidates.len());
    for at in 0..js.len(order)? {
        let position = js.number_value(js.at(order, at)?)?.unwrap_or_default() as usize;
        files.extend(candidates.get(position).map(|candidate| candidate.path.clone()));
    }
    let mut progress = progress.borrow_mut();
    progress.total = files.len();
    if let Some(order) = progress.order.take() {
        // The thread is gone only when the list is over.
        let _ = order.send(files);
    }
    Ok(())
}

fn read(progress: &RefCell<Progress>, js: Js, at: usize, info: Option<Info>) -> Result<()> {
    let info = match info {
        Some(info) if is_listed(progress, js, &info)? => Some(info_object(js, &info)?),
        _ => None,
    };
    let (publishes, loaded, total) = {
        let mut progress = progress.borrow_mut();
        progress.loaded += 1;
        progress.first_loaded |= at == 0;
        (progress.publishes(at), progress.loaded, progress.total)
    };
    let (infos, results, on_progress) = {
        let progress = progress.borrow();
        let Some(kept) = &progress.kept else { return Ok(()) };
        let on_progress = kept.on_progress.as_ref().map(|kept| js.kept(kept)).transpose()?;
        (js.kept(&kept.infos)?, js.kept(&kept.results)?, on_progress)
    };
    if let Some(info) = info {
        js.set_at(infos, js.len(infos)?, info)?;
        js.set_at(results, at as u32, info)?;
    }
    if let Some(on_progress) = on_progress {
        let partial = if publishes { make(js, F::NewestFirst, &[infos])? } else { js.undefined()? };
        js.call(on_progress, &[js.number(loaded as f64)?, js.number(total as f64)?, partial])?;
    }
    if loaded == total && progress.borrow().deferred.is_some() {
        // Everything was read: an abort that the last progress call made comes too late, as in the reference.
        return end(progress, js, make(js, F::NewestFirst, &[results])?, true);
    }
    Ok(())
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
fn is_listed(progress: &RefCell<Progress>, js: Js, info: &Info) -> Result<bool> {
    match &progress.borrow().filter {
        Some(cwd) => on_paths(js, |host| CwdFilter { cwd, host }.takes(Some(&info.cwd))),
        None => Ok(true),
    }
}

/// The object of a session.
fn info_object(js: Js, info: &Info) -> Result<Val> {
    let parsed = |text: &Option<String>| text.as_ref().map_or_else(|| js.undefined(), |text| parse(js, text));
    let odd = info.odd_times.iter().map(|text| parse(js, text)).collect::<Result<Vec<_>>>()?;
    let args = [
        js.string(b"")?,
        js.string(&info.id)?,
        js.string(&info.cwd)?,
        js.optional_string(info.name.as_deref())?,
        js.optional_string(info.parent.as_deref())?,
        parsed(&info.created)?,
        info.active.map_or_else(|| js.undefined(), |ms| js.number(ms))?,
        js.array_of(&odd)?,
        js.number(0.0)?,
        js.number(info.message_count as f64)?,
        js.string(info.first_message.as_deref().unwrap_or(b"(no messages)"))?,
        js.string(b"")?,
    ];
    make(js, F::Info, &args)
}
