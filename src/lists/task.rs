//! A promise that the work of another thread settles. The thread's events are handled here in slices, until the last
//! event or an abort.

use std::cell::RefCell;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread;

use napi::{Error, Result, ValueType};

use crate::convert::errors::{thrown, wrong_argument, OrThrow};
use crate::engine::{queue, Deferred, JsEnv, JsVal, Persistent, Sender};
use crate::factory::{self, FactoryFn};
use pi_session_core::addon::threads::panicked;
use pi_session_core::{Error as CoreError, ErrorCode, Result as CoreResult};

/// The code of an abort without a reason in the signal, as in Node.
const ABORTED: &str = "ABORT_ERR";

/// Starts work. Returns its promise. An error before the work has begun rejects the promise, as in an async function.
pub fn promise<'env>(js: JsEnv<'env>, start: impl FnOnce(Deferred) -> Result<()>) -> Result<JsVal<'env>> {
    let (deferred, promise) = Deferred::promise(js)?;
    if let Err(error) = start(deferred.clone()) {
        deferred.settle(js, reason_of(js, &error)?, false)?;
    }
    Ok(promise)
}

/// The reason for which a promise is rejected: the pending exception, which is cleared, or else an internal error.
fn reason_of<'env>(js: JsEnv<'env>, error: &Error) -> Result<JsVal<'env>> {
    match js.take_exception()? {
        Some(reason) => Ok(reason),
        None => js.error(false, ErrorCode::Internal.name(), &error.reason),
    }
}

/// The JavaScript values that a running task keeps.
#[derive(Debug, Clone, Copy)]
pub enum TaskValue {
    Signal,
    OnProgress,
    Unlisten,
    Results,
    Partial,
    Texts,
    OnHit,
}

/// A running task.
pub struct Task {
    deferred: Deferred,
    /// A list of the values in [`TaskValue`]; None when the task is over.
    values: RefCell<Option<Persistent>>,
    /// Set when the result is no longer needed.
    cancelled: Arc<AtomicBool>,
}

impl Drop for Task {
    fn drop(&mut self) {
        // The environment may end before the task. Then nobody needs the result of its threads.
        self.cancelled.store(true, Ordering::Relaxed);
    }
}

impl Task {
    /// A task with these arguments. Fails if they are wrong, or with the signal's reason if the signal is already
    /// aborted.
    pub fn new(js: JsEnv<'_>, deferred: Deferred, signal: JsVal<'_>, on_progress: JsVal<'_>) -> Result<Self> {
        let has_signal = !js.is_nullish(signal)?;
        if has_signal {
            let is_signal =
                js.is_object(signal)? && js.kind(js.get(signal, c"addEventListener")?)? == ValueType::Function;
            if !is_signal {
                return Err(wrong_argument(js, "signal must be an AbortSignal"));
            }
        }
        let is_function = js.kind(on_progress)? == ValueType::Function;
        if !is_function && js.is_truthy(on_progress)? {
            return Err(wrong_argument(js, "onProgress must be a function"));
        }
        if has_signal && js.is_truthy(js.get(signal, c"aborted")?)? {
            return Err(js.throw(js.get(signal, c"reason")?));
        }
        let none = js.undefined()?;
        let given = |value, is_given| if is_given { value } else { none };
        let values = js.array_of(&[given(signal, has_signal), given(on_progress, is_function)])?;
        Ok(Self { deferred, values: RefCell::new(Some(js.keep(values)?)), cancelled: Arc::new(AtomicBool::new(false)) })
    }

    /// Runs `answer` on another thread, and `handle` here with each of its events, until one of them ends the task. If
    /// `handle` throws, or `answer` fails, the promise is rejected.
    pub fn run<E: Send + 'static>(
        self,
        js: JsEnv<'_>,
        what: &'static str,
        handle: impl Fn(JsEnv<'_>, &Self, E) -> Result<()> + 'static,
        answer: impl FnOnce(&Sender<E>, &Arc<AtomicBool>) -> CoreResult<()> + Send + 'static,
    ) -> Result<()> {
        let task = Rc::new(self);
        let begin = || {
            let handled = task.clone();
            let handler = Box::new(move |js: JsEnv<'_>, event: CoreResult<E>| {
                handled.receive(js, || handle(js, &handled, event.map_err(|error| thrown(js, &error))?))
            });
            let sender = queue(js, factory::function(js, FactoryFn::Slices)?, handler)?;
            task.listen(js)?;
            let stop = task.cancelled.clone();
            let work = move || {
                let answered = catch_unwind(AssertUnwindSafe(|| answer(&sender, &stop)));
                if let Err(error) = answered.unwrap_or_else(|panic| Err(panicked(what, &*panic))) {
                    sender.send_result(Err(error));
                }
                // The sender keeps the process alive.
                drop(sender);
            };
            let spawned = thread::Builder::new().name(format!("pi-session-{what}")).spawn(work);
            spawned.map(drop).map_err(|error| CoreError::io("thread", what, error)).or_throw(js)
        };
        begin().or_else(|error| task.end(js, reason_of(js, &error)?, false))
    }

    /// On an abort of the signal, stops the threads, and ends the task in a later turn of the event loop. So an abort
    /// by a callback comes too late while the last event is handled.
    fn listen(self: &Rc<Self>, js: JsEnv<'_>) -> Result<()> {
        let Some(signal) = self.kept(js, TaskValue::Signal)? else { return Ok(()) };
        let (cancelled, task) = (self.cancelled.clone(), self.clone());
        let cancel = js.function("cancel", move |js, _| {
            cancelled.store(true, Ordering::Relaxed);
            js.undefined()
        })?;
        let end = js.function("end", move |js, _| {
            task.receive(js, || Ok(()))?;
            js.undefined()
        })?;
        self.keep(js, TaskValue::Unlisten, factory::call(js, FactoryFn::Listen, &[signal, cancel, end])?)
    }

    /// Handles an event, unless the signal has fired, which ends the task. Nothing is borrowed while the caller's
    /// callback runs.
    fn receive(&self, js: JsEnv<'_>, handle: impl FnOnce() -> Result<()>) -> Result<()> {
        if self.is_over() {
            return Ok(());
        }
        let handled = catch_unwind(AssertUnwindSafe(|| match self.abort_reason(js)? {
            Some(reason) => self.end(js, reason, false),
            None => handle(),
        }));
        let handled = handled.unwrap_or_else(|_| Err(Error::from_reason("an event of another thread was not handled")));
        handled.or_else(|error| self.end(js, reason_of(js, &error)?, false))
    }

    /// The reason for the abort; None if the task is not aborted. Fails if asking the signal throws. A signal that has
    /// fired counts as aborted even if its property does not say so.
    pub fn abort_reason<'env>(&self, js: JsEnv<'env>) -> Result<Option<JsVal<'env>>> {
        let Some(signal) = self.kept(js, TaskValue::Signal)? else { return Ok(None) };
        if !js.is_truthy(js.get(signal, c"aborted")?)? && !self.cancelled.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let reason = js.get(signal, c"reason")?;
        if js.is_undefined(reason)? {
            js.error(false, ABORTED, "This operation was aborted").map(Some)
        } else {
            Ok(Some(reason))
        }
    }

    /// Calls the progress callback, if there is one.
    pub fn progress(&self, js: JsEnv<'_>, done: usize, total: usize) -> Result<()> {
        let Some(on_progress) = self.kept(js, TaskValue::OnProgress)? else { return Ok(()) };
        js.call(on_progress, &[js.number(done as f64)?, js.number(total as f64)?]).map(drop)
    }

    /// Settles the promise and releases everything. Call it while nothing is borrowed. The threads stop by themselves.
    pub fn end(&self, js: JsEnv<'_>, value: JsVal<'_>, resolves: bool) -> Result<()> {
        self.cancelled.store(true, Ordering::Relaxed);
        let unlisten = self.kept(js, TaskValue::Unlisten)?;
        let values = self.values.take();
        let settled = self.deferred.settle(js, value, resolves);
        // The promise is settled, so an exception of the signal changes nothing.
        if unlisten.is_some_and(|unlisten| js.call(unlisten, &[]).is_err()) {
            js.take_exception()?;
        }
        drop(values);
        settled
    }

    /// Whether the promise is settled.
    pub fn is_over(&self) -> bool {
        self.deferred.is_settled()
    }

    /// A value that the task keeps; None if it is undefined, or if the task is over.
    pub fn kept<'env>(&self, js: JsEnv<'env>, which: TaskValue) -> Result<Option<JsVal<'env>>> {
        let values = self.values.borrow().as_ref().map(|values| js.kept(values)).transpose()?;
        let value = values.map(|values| js.at(values, which as u32)).transpose()?;
        Ok(value.filter(|value| !js.is_undefined(*value).unwrap_or(true)))
    }

    /// Keeps a value until the task is over.
    pub fn keep(&self, js: JsEnv<'_>, which: TaskValue, value: JsVal<'_>) -> Result<()> {
        let values = self.values.borrow().as_ref().map(|values| js.kept(values)).transpose()?;
        values.map_or(Ok(()), |values| js.set_at(values, which as u32, value))
    }
}
