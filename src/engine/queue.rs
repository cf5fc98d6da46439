//! Messages from other threads to the JavaScript thread. They are handled there in the order in which they were sent,
//! in slices. The event loop turns between two slices, so that other events need not wait.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use napi::bindgen_prelude::Function;
use napi::threadsafe_function::{ThreadsafeFunction, ThreadsafeFunctionCallMode};
use napi::{Result, Status};

use super::env::{JsEnv, JsVal};
use pi_session_core::addon::memory::OutOfMemory;
use pi_session_core::addon::threads::locked;
use pi_session_core::{ErrorCode, Result as CoreResult};

/// How long a slice takes, and how many messages it handles at most. The last message is always finished.
const SLICE: Duration = Duration::from_millis(2);
const SLICE_MESSAGES: usize = 64;

/// Handles a message, or an error of the other thread, on the JavaScript thread. A pending exception becomes an
/// uncaught one, and so does any other failure.
pub type Handler<T> = Box<dyn FnMut(JsEnv<'_>, CoreResult<T>) -> Result<()>>;

/// Calls the JavaScript function that schedules the next slice. It keeps the process alive.
type Schedule = ThreadsafeFunction<(), (), (), Status, false>;

/// Sends messages from any thread. The queue ends when the last sender is dropped, or with its environment. A thread
/// with a sender may outlive the environment, because napi-rs keeps the library loaded from the first queue on.
pub struct Sender<T> {
    schedule: Schedule,
    inbox: Arc<Mutex<Inbox<T>>>,
}

/// The messages that have not been handled yet.
struct Inbox<T> {
    messages: VecDeque<CoreResult<T>>,
    /// Whether a slice is scheduled that will handle them.
    is_scheduled: bool,
}

/// The state of the slices. It may outlive the queue while messages are left.
struct Slice<T> {
    handler: RefCell<Handler<T>>,
    inbox: Arc<Mutex<Inbox<T>>>,
}

/// A queue to this environment's thread. `slices` is the factory's function that calls a function in separate turns of
/// the event loop, as long as it returns true.
pub fn queue<T: Send + 'static>(js: JsEnv<'_>, slices: JsVal<'_>, handler: Handler<T>) -> Result<Sender<T>> {
    let inbox = Arc::new(Mutex::new(Inbox { messages: VecDeque::with_capacity(SLICE_MESSAGES), is_scheduled: false }));
    let slice = Slice { handler: RefCell::new(handler), inbox: inbox.clone() };
    let slice = js.function("slice", move |js, _| js.boolean(slice.run(js)))?;
    let schedule: Function<'_, (), ()> = js.call(slices, &[slice])?.typed(js)?;
    let schedule = schedule.build_threadsafe_function().build()?;
    Ok(Sender { schedule, inbox })
}

impl<T: Send> Sender<T> {
    /// Sends a message. If the allocation fails, that error replaces the last message. While the environment is ending,
    /// nobody receives it.
    pub fn send(&self, message: T) {
        self.send_result(Ok(message));
    }

    /// Sends a message or an error.
    pub fn send_result(&self, mut message: CoreResult<T>) {
        {
            let mut inbox = locked(&self.inbox);
            if let Err(error) = inbox.messages.try_reserve(1) {
                inbox.messages.pop_back();
                message = Err(OutOfMemory::from(error).into());
            }
            inbox.messages.push_back(message);
            if std::mem::replace(&mut inbox.is_scheduled, true) {
                return;
            }
        }
        // If the environment does not accept the call, it is ending.
        self.schedule.call((), ThreadsafeFunctionCallMode::NonBlocking);
    }
}

impl<T: Send + 'static> Slice<T> {
    /// Handles some messages. Returns whether another slice is needed.
    fn run(&self, js: JsEnv<'_>) -> bool {
        let start = Instant::now();
        // Already borrowed if a callback runs the event loop itself. The slice that it interrupts continues later.
        let Ok(mut handler) = self.handler.try_borrow_mut() else { return true };
        for _ in 0..SLICE_MESSAGES {
            let message = {
                let mut inbox = locked(&self.inbox);
                let message = inbox.messages.pop_front();
                inbox.is_scheduled = message.is_some();
                message
            };
            let Some(message) = message else { return false };
            let handled = catch_unwind(AssertUnwindSafe(|| js.scoped(|js, _| handler(js, message))));
            if !matches!(handled, Ok(Ok(()))) {
                // As in any callback, an exception becomes an uncaught one. Without an exception we create one, because
                // otherwise nobody would notice the failure.
                let internal =
                    || js.error(false, ErrorCode::Internal.name(), "A message of another thread was not handled");
                let failure = js.take_exception().and_then(|exception| exception.map_or_else(internal, Ok));
                let _ = failure.and_then(|failure| js.throw_uncaught(failure));
            }
            if start.elapsed() >= SLICE {
                break;
            }
        }
        true
    }
}
