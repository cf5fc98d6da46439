//! A promise that work on other threads settles: its signal, its progress callback, its end.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use napi::{Error, Result, ValueType};

use crate::js::convert::errors::wrong_argument;
pub use crate::js::engine::Deferred;
use crate::js::engine::WeakSender;
use crate::js::engine::{JsEnv, JsVal, Persistent};
use crate::js::factory::{self, FactoryFn};

/// Starts work and gives its promise. Whatever fails before the work has begun rejects it, as in an async function.
pub fn promise<'env>(js: JsEnv<'env>, start: impl FnOnce(Deferred) -> Result<()>) -> Result<JsVal<'env>> {
    let (deferred, promise) = Deferred::promise(js)?;
    if let Err(error) = start(deferred.clone()) {
        deferred.settle(js, reason_of(js, &error)?, false)?;
    }
    Ok(promise)
}

/// What a promise rejects with for an error: the exception that is pending, which is taken, or else an Error that says
/// what failed.
pub fn reason_of<'env>(js: JsEnv<'env>, error: &Error) -> Result<JsVal<'env>> {
    match js.take_exception()? {
        Some(reason) => Ok(reason),
        None => factory::call(js, FactoryFn::Failure, &[js.string(error.reason.as_bytes())?]),
    }
}

/// What a running task keeps of its caller.
pub struct Task {
    deferred: Deferred,
    signal: Option<Persistent>,
    on_progress: Option<Persistent>,
    unlisten: Option<Persistent>,
    /// Set when nobody waits any more.
    pub cancelled: Arc<AtomicBool>,
}

impl Drop for Task {
    fn drop(&mut self) {
        // The environment may end in the middle of it: nobody waits for the threads then.
        self.cancelled.store(true, Ordering::Relaxed);
    }
}

impl Task {
    /// A task with these arguments; wrong ones are errors, and so is a signal that is aborted already: its reason.
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
        let keep = |value: JsVal, wanted: bool| if wanted { js.keep(value).map(Some) } else { Ok(None) };
        Ok(Self {
            deferred,
            signal: keep(signal, has_signal)?,
            on_progress: keep(on_progress, is_function)?,
            unlisten: None,
            cancelled: Arc::new(AtomicBool::new(false)),
        })
    }

    /// Sends a message when the signal is aborted, so that the task notices.
    pub fn listen<T: Send + 'static>(
        &mut self,
        js: JsEnv<'_>,
        sender: WeakSender<T>,
        message: fn() -> T,
    ) -> Result<()> {
        if let Some(signal) = &self.signal {
            let callback = abort_callback(js, sender, message, self.cancelled.clone())?;
            self.unlisten = Some(js.keep(factory::call(js, FactoryFn::Listen, &[js.kept(signal)?, callback])?)?);
        }
        Ok(())
    }

    /// Whether the promise is settled.
    pub fn is_over(&self) -> bool {
        self.deferred.is_settled()
    }

    /// Whether the signal's abort event was heard. A result that comes later is not the answer, even where the signal
    /// itself does not say that it is aborted.
    pub fn heard_abort(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// The progress callback, if there is one.
    pub fn on_progress<'env>(&self, js: JsEnv<'env>) -> Result<Option<JsVal<'env>>> {
        self.on_progress.as_ref().map(|kept| js.kept(kept)).transpose()
    }

    /// The signal, to be asked whether it is aborted while nothing is borrowed.
    pub fn signal<'env>(&self, js: JsEnv<'env>) -> Result<Option<JsVal<'env>>> {
        self.signal.as_ref().map(|kept| js.kept(kept)).transpose()
    }

    /// What settles the promise, and lets everything go: to be called when nothing is borrowed. The threads stop by
    /// themselves.
    pub fn ending(&mut self) -> Ending {
        self.cancelled.store(true, Ordering::Relaxed);
        Ending {
            deferred: self.deferred.clone(),
            unlisten: self.unlisten.take(),
            kept: [self.signal.take(), self.on_progress.take()],
        }
    }
}

/// Why a signal is aborted; None if it is not, or there is none. What asking it throws is the error.
pub fn abort_reason<'env>(js: JsEnv<'env>, signal: Option<JsVal<'env>>) -> Result<Option<JsVal<'env>>> {
    match signal {
        Some(signal) if js.is_truthy(js.get(signal, c"aborted")?)? => js.get(signal, c"reason").map(Some),
        _ => Ok(None),
    }
}

/// The reason of a signal that fired, whether it says that it is aborted or not.
pub fn reason_of_abort<'env>(js: JsEnv<'env>, signal: Option<JsVal<'env>>) -> Result<JsVal<'env>> {
    let reason = signal.map_or_else(|| js.undefined(), |signal| js.get(signal, c"reason"))?;
    match js.is_undefined(reason)? {
        true => factory::call(js, FactoryFn::Failure, &[js.string(b"This operation was aborted")?]),
        false => Ok(reason),
    }
}

/// The end of a task.
pub struct Ending {
    deferred: Deferred,
    unlisten: Option<Persistent>,
    kept: [Option<Persistent>; 2],
}

impl Ending {
    /// Settles the promise, and then unsubscribes from the signal: nothing that the signal throws changes the answer.
    pub fn settle(self, js: JsEnv<'_>, value: JsVal<'_>, resolves: bool) -> Result<()> {
        let settled = self.deferred.settle(js, value, resolves);
        if let Some(unlisten) = self.unlisten {
            if js.call(js.kept(&unlisten)?, &[]).is_err() {
                js.take_exception()?;
            }
            js.release(unlisten)?;
        }
        for kept in self.kept.into_iter().flatten() {
            js.release(kept)?;
        }
        settled
    }
}

/// A function for the signal's abort event.
fn abort_callback<'env, T: Send + 'static>(
    js: JsEnv<'env>,
    sender: WeakSender<T>,
    message: fn() -> T,
    cancelled: Arc<AtomicBool>,
) -> Result<JsVal<'env>> {
    js.function("onAbort", move |js, _| {
        // In this order: a list that finds itself cancelled sends nothing more, so the message has to be on its way by then.
        sender.send(message());
        cancelled.store(true, Ordering::Relaxed);
        js.undefined()
    })
}
