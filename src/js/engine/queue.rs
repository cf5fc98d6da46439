//! Messages from other threads to the JavaScript thread, handled there in the order they were sent, a slice at a time:
//! between two slices the event loop turns, so that whatever else waits there is not kept waiting.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use napi::{sys, Error, Result, Status};

use super::env::{JsEnv, JsVal, Persistent};

/// How long a slice goes on, and over how many messages at most. The one that crosses the line is finished.
const SLICE: Duration = Duration::from_millis(2);
const SLICE_MESSAGES: usize = 64;

/// Handles a message on the JavaScript thread. An exception that it leaves pending becomes an uncaught one.
pub type Handler<T> = Box<dyn FnMut(JsEnv, T) -> Result<()>>;

/// Sends messages from any thread. The queue ends when the last sender is dropped, or with its environment.
pub struct Sender<T>(Arc<Raw<T>>);

/// A sender that does not keep the queue.
pub struct WeakSender<T>(Weak<Raw<T>>);

/// The engine's side of a queue: None once the engine has ended it, when it must not be touched any more.
type Function = Mutex<Option<sys::napi_threadsafe_function>>;

struct Raw<T> {
    function: Arc<Shared>,
    inbox: Arc<Mutex<Inbox<T>>>,
}

/// What was sent and not handled yet.
struct Inbox<T> {
    messages: VecDeque<T>,
    /// Whether a slice is on its way that will see to them.
    is_called: bool,
}

struct Shared(Function);

// SAFETY: the engine's thread-safe functions may be called and released from any thread, as long as they are there;
// the lock sees to that.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<T> Drop for Raw<T> {
    fn drop(&mut self) {
        if let Some(function) = locked(&self.function.0).take() {
            // SAFETY: the engine has not ended it; the one acquisition made at creation is given back, once.
            unsafe { sys::napi_release_threadsafe_function(function, sys::ThreadsafeFunctionReleaseMode::release) };
        }
    }
}

/// What the engine keeps for a queue.
struct Context {
    shared: Arc<Shared>,
    /// The JavaScript function that handles a slice.
    slice: Persistent,
}

/// What that function works on. It may outlive the queue, for the messages that are left.
struct Slice<T> {
    handler: RefCell<Handler<T>>,
    inbox: Arc<Mutex<Inbox<T>>>,
}

/// A queue to this environment's thread. `slices` is the factory's function that has a function called in turns of the
/// event loop of its own, as long as that gives true.
pub fn queue<T: Send + 'static>(js: JsEnv, slices: JsVal, handler: Handler<T>) -> Result<Sender<T>> {
    let name = js.string(b"pi-session-native")?;
    let shared = Arc::new(Shared(Mutex::new(None)));
    let inbox = Arc::new(Mutex::new(Inbox { messages: VecDeque::new(), is_called: false }));
    let slice = slice_function(js, slices, Slice { handler: RefCell::new(handler), inbox: inbox.clone() })?;
    let context = Box::into_raw(Box::new(Context { shared: shared.clone(), slice: js.keep(slice)? }));
    let mut function = null_mut();
    // SAFETY: `context` stays until the finaliser frees it.
    let status = unsafe {
        sys::napi_create_threadsafe_function(
            js.raw(),
            null_mut(),
            null_mut(),
            name,
            0,
            1,
            null_mut(),
            Some(finish),
            context.cast(),
            Some(call),
            &mut function,
        )
    };
    if status != sys::Status::napi_ok {
        // SAFETY: the engine refused, so nobody else has the context.
        let context = unsafe { Box::from_raw(context) };
        js.release(context.slice)?;
        return Err(Error::new(Status::from(status), "The list could not be started"));
    }
    *locked(&shared.0) = Some(function);
    Ok(Sender(Arc::new(Raw { function: shared, inbox })))
}

impl<T> Sender<T> {
    /// A sender that does not keep the queue: an active queue keeps the process alive.
    pub fn weak(&self) -> WeakSender<T> {
        WeakSender(Arc::downgrade(&self.0))
    }
}

impl<T: Send> WeakSender<T> {
    /// Sends a message, if the queue is still there.
    pub fn send(&self, message: T) {
        if let Some(raw) = self.0.upgrade() {
            Sender(raw).send(message);
        }
    }
}

impl<T: Send> Sender<T> {
    /// Sends a message. Once the environment is ending nobody receives it.
    pub fn send(&self, message: T) {
        {
            let mut inbox = locked(&self.0.inbox);
            inbox.messages.push_back(message);
            if std::mem::replace(&mut inbox.is_called, true) {
                return;
            }
        }
        // Held while calling: the engine cannot end the queue meanwhile.
        if let Some(function) = *locked(&self.0.function.0) {
            let mode = sys::ThreadsafeFunctionCallMode::nonblocking;
            // SAFETY: the function is there. If the engine does not take the call, it is ending.
            unsafe { sys::napi_call_threadsafe_function(function, null_mut(), mode) };
        }
    }
}

/// What a callback could not deal with is an exception of the process, as in any callback.
fn report(js: JsEnv, handled: std::thread::Result<Result<()>>) {
    if !matches!(handled, Ok(Ok(()))) {
        if let Ok(Some(exception)) = js.take_exception() {
            // SAFETY: `exception` is a handle of this call.
            unsafe { sys::napi_fatal_exception(js.raw(), exception) };
        }
    }
}

// SAFETY: called by the engine alone, with what `queue` gave it.
unsafe extern "C" fn call(env: sys::napi_env, _: sys::napi_value, context: *mut c_void, _: *mut c_void) {
    if env.is_null() {
        return;
    }
    // SAFETY: `context` is the one of `queue`; calls come one at a time, on this thread, before the finaliser.
    let context = unsafe { &*context.cast::<Context>() };
    let js = JsEnv::from_raw(env);
    // Several calls may come in one turn of the event loop: the work is left to turns of its own.
    report(js, Ok(js.kept(&context.slice).and_then(|slice| js.call(slice, &[])).map(|_| ())));
}

// SAFETY: called by the engine alone, with what `queue` gave it.
unsafe extern "C" fn finish(env: sys::napi_env, _data: *mut c_void, context: *mut c_void) {
    // SAFETY: made by `queue`; the engine calls this once, after the last call, with the context in the hint's place.
    let context = unsafe { Box::from_raw(context.cast::<Context>()) };
    // From here on the function is the engine's to free.
    locked(&context.shared.0).take();
    if !env.is_null() {
        // With the environment, its references go by themselves.
        let _ = JsEnv::from_raw(env).release(context.slice);
    }
}

/// A JavaScript function that handles a slice of messages.
fn slice_function<T: Send + 'static>(js: JsEnv, slices: JsVal, slice: Slice<T>) -> Result<JsVal> {
    // SAFETY: called by the engine alone, as the function made below.
    unsafe extern "C" fn on_slice<T: Send + 'static>(
        env: sys::napi_env,
        info: sys::napi_callback_info,
    ) -> sys::napi_value {
        let mut data: *mut c_void = null_mut();
        // SAFETY: asks for the data that the function was made with, nothing else.
        unsafe { sys::napi_get_cb_info(env, info, null_mut(), null_mut(), null_mut(), &mut data) };
        let js = JsEnv::from_raw(env);
        // SAFETY: the data lives as long as the function.
        let has_more = !data.is_null() && unsafe { &*data.cast::<Slice<T>>() }.run(js);
        js.boolean(has_more).unwrap_or(null_mut())
    }
    let function = js.function(c"slice", on_slice::<T>, Box::new(slice))?;
    js.call(slices, &[function])
}

impl<T: Send + 'static> Slice<T> {
    /// Handles some messages. Whether there may be more, for another slice.
    fn run(&self, js: JsEnv) -> bool {
        let start = Instant::now();
        // Taken already where a callback runs the event loop by itself: the slice that it interrupts goes on later.
        let Ok(mut handler) = self.handler.try_borrow_mut() else { return true };
        for _ in 0..SLICE_MESSAGES {
            let message = {
                let mut inbox = locked(&self.inbox);
                let message = inbox.messages.pop_front();
                inbox.is_called = message.is_some();
                message
            };
            let Some(message) = message else { return false };
            let handle = || js.scoped(|| handler(js, message));
            report(js, std::panic::catch_unwind(std::panic::AssertUnwindSafe(handle)));
            if start.elapsed() >= SLICE {
                break;
            }
        }
        true
    }
}
