//! Messages from other threads to the JavaScript thread, handled there in the order they were sent.

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use napi::{sys, Error, Result, Status};

use super::raw::Js;

/// Handles a message on the JavaScript thread. An exception that it leaves pending becomes an uncaught one.
pub type Handler<T> = Box<dyn FnMut(Js, T) -> Result<()>>;

/// Sends messages from any thread. The queue ends when the last sender is dropped, or with its environment.
pub struct Sender<T>(Arc<Raw<T>>);

/// A sender that does not keep the queue.
pub struct WeakSender<T>(Weak<Raw<T>>);

/// The engine's side of a queue: None once the engine has ended it, when it must not be touched any more.
type Function = Mutex<Option<sys::napi_threadsafe_function>>;

struct Raw<T> {
    function: Arc<Shared>,
    of: std::marker::PhantomData<fn(T)>,
}

struct Shared(Function);

// SAFETY: the engine's thread-safe functions may be called and released from any thread, as long as they are there;
// the lock sees to that.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Option<sys::napi_threadsafe_function>> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl<T> Drop for Raw<T> {
    fn drop(&mut self) {
        if let Some(function) = self.function.lock().take() {
            // SAFETY: the engine has not ended it; the one acquisition made at creation is given back, once.
            unsafe { sys::napi_release_threadsafe_function(function, sys::ThreadsafeFunctionReleaseMode::release) };
        }
    }
}

/// What the engine keeps for a queue.
struct Context<T> {
    handler: Handler<T>,
    shared: Arc<Shared>,
}

/// A queue to this environment's thread.
pub fn queue<T: Send + 'static>(js: Js, handler: Handler<T>) -> Result<Sender<T>> {
    let name = js.string(b"pi-session-native")?;
    let shared = Arc::new(Shared(Mutex::new(None)));
    let context = Box::into_raw(Box::new(Context { handler, shared: shared.clone() }));
    let mut function = null_mut();
    // SAFETY: `context` stays until the finaliser frees it; `call` gets messages of type T alone, from `send`.
    let status = unsafe {
        sys::napi_create_threadsafe_function(
            js.raw(),
            null_mut(),
            null_mut(),
            name,
            0,
            1,
            null_mut(),
            Some(finish::<T>),
            context.cast(),
            Some(call::<T>),
            &mut function,
        )
    };
    if status != sys::Status::napi_ok {
        // SAFETY: the engine refused, so nobody else has the handler.
        drop(unsafe { Box::from_raw(context) });
        return Err(Error::new(Status::from(status), "The list could not be started"));
    }
    *shared.lock() = Some(function);
    Ok(Sender(Arc::new(Raw { function: shared, of: std::marker::PhantomData })))
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
        // Held while calling: the engine cannot end the queue meanwhile.
        let function = self.0.function.lock();
        let Some(function) = *function else { return };
        let data = Box::into_raw(Box::new(message));
        // SAFETY: the function is there; `data` is handed over, `call` frees it.
        let status = unsafe {
            sys::napi_call_threadsafe_function(function, data.cast(), sys::ThreadsafeFunctionCallMode::nonblocking)
        };
        if status != sys::Status::napi_ok {
            // SAFETY: the engine did not take it.
            drop(unsafe { Box::from_raw(data) });
        }
    }
}

// SAFETY: called by the engine alone, with what `queue` gave it.
unsafe extern "C" fn call<T>(env: sys::napi_env, _function: sys::napi_value, context: *mut c_void, data: *mut c_void) {
    // SAFETY: `data` comes from `send`, of the same T, and is handed over once.
    let message = unsafe { Box::from_raw(data.cast::<T>()) };
    if env.is_null() {
        return;
    }
    // SAFETY: `context` is the one of `queue`; calls come one at a time, on this thread, before the finaliser.
    let Context { handler, .. } = unsafe { &mut *context.cast::<Context<T>>() };
    let js = Js::from_raw(env);
    let handled = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| handler(js, *message)));
    // What a handler could not deal with is an exception of the process, as in any callback.
    if !matches!(handled, Ok(Ok(()))) {
        if let Ok(Some(exception)) = js.take_exception() {
            // SAFETY: `exception` is a handle of this call.
            unsafe { sys::napi_fatal_exception(env, exception) };
        }
    }
}

// SAFETY: called by the engine alone, with what `queue` gave it.
unsafe extern "C" fn finish<T>(_env: sys::napi_env, _data: *mut c_void, context: *mut c_void) {
    // SAFETY: made by `queue`; the engine calls this once, after the last message, with the context in the hint's place.
    let context = unsafe { Box::from_raw(context.cast::<Context<T>>()) };
    // From here on the function is the engine's to free.
    context.shared.lock().take();
}
