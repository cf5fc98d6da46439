//! `allMessagesText` of listed sessions. It is read at its first use, or before that by `readTexts` on other threads.

use std::cell::RefCell;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use napi::Result;
use pi_session_core::addon::listed_text::{text, ListedState};
use pi_session_core::addon::threads::on_threads;
use pi_session_core::wtf8::to_string_lossy;

use super::task::{self, Task, TaskValue};
use crate::convert::args;
use crate::engine::{JsEnv, JsVal, Sender};
use crate::factory::{self, FactoryFn};

/// How many bytes are kept for the next text, because fresh memory costs most here.
const KEPT_BYTES: usize = 8 << 20;

thread_local! {
    static READ: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Creates the function `listedText(file, source)` for `lists.js`, which reads a text.
pub fn listed_text_function<'env>(js: JsEnv<'env>) -> Result<JsVal<'env>> {
    js.function("listedText", |js, args| {
        let none = js.undefined()?;
        let args = std::array::from_fn(|at| args.get(at).copied().unwrap_or(none));
        // Reading a property must not throw.
        match catch_unwind(AssertUnwindSafe(|| read(js, args))) {
            Ok(Ok(text)) => Ok(text),
            _ => js.take_exception().and_then(|_| js.string(b"")),
        }
    })
}

/// The text of a listed session.
fn read<'env>(js: JsEnv<'env>, [file, source]: [JsVal<'env>; 2]) -> Result<JsVal<'env>> {
    let Some((file, state)) = listed(js, file, source)? else { return js.string(b"") };
    READ.with(|read| {
        let mut read = read.borrow_mut();
        text(&file, &state, &[], &mut read);
        let string = js.string(&read);
        if read.capacity() > KEPT_BYTES {
            *read = Vec::new();
        }
        string
    })
}

/// The file of a listed session, and its state when it was listed, from the factory's values.
fn listed(js: JsEnv<'_>, file: JsVal<'_>, source: JsVal<'_>) -> Result<Option<(PathBuf, ListedState)>> {
    let argument = |value: JsVal| Ok::<_, napi::Error>(js.text(value)?.map(|text| to_string_lossy(&text).into_owned()));
    let state = argument(source)?.and_then(|text| ListedState::from_text(&text));
    Ok(argument(file)?.map(PathBuf::from).zip(state))
}

/// An event of the reading threads.
enum TextEvent {
    /// The text of the session at this index.
    Read(usize, Vec<u8>),
    Done,
}

/// Starts reading the texts of listed sessions. Returns a promise.
pub fn promise<'env>(js: JsEnv<'env>, sessions: JsVal<'env>, signal: JsVal<'env>) -> Result<JsVal<'env>> {
    task::promise(js, |deferred| {
        let unread = factory::call(js, FactoryFn::UnreadTexts, &[args::list(js, sessions, "sessions")?])?;
        let one = |at| {
            js.scoped(|js, _| {
                let text = js.at(unread, at)?;
                listed(js, js.get(text, c"file")?, js.get(text, c"source")?)
            })
        };
        let files = (0..js.len(unread)?).map(one).collect::<Result<Vec<_>>>()?;
        let task = Task::new(js, deferred, signal, js.undefined()?)?;
        task.keep(js, TaskValue::Results, unread)?;
        task.run(js, "reading of texts", give, move |events, stop| {
            read_all(&files, stop, events);
            Ok(())
        })
    })
}

fn read_all(files: &[Option<(PathBuf, ListedState)>], stop: &AtomicBool, events: &Sender<TextEvent>) {
    on_threads(files.len(), |read: &mut Vec<u8>, at| {
        let Some(Some((file, state))) = files.get(at).filter(|_| !stop.load(Ordering::Relaxed)) else { return };
        text(file, state, &[stop], read);
        // After a stop the text is a part of the whole, or empty.
        if !stop.load(Ordering::Relaxed) {
            events.send(TextEvent::Read(at, std::mem::take(read)));
        }
    });
    events.send(TextEvent::Done);
}

/// Keeps a text for its getter.
fn give(js: JsEnv<'_>, task: &Task, event: TextEvent) -> Result<()> {
    match event {
        TextEvent::Read(at, all) => {
            let Some(unread) = task.kept(js, TaskValue::Results)? else { return Ok(()) };
            match js.string(&all) {
                Ok(string) => js.set(js.at(unread, at as u32)?, c"value", string),
                // The text is too long for a string, so it is not kept, and the getter decides its value.
                Err(_) => js.take_exception().map(drop),
            }
        }
        TextEvent::Done => task.end(js, js.undefined()?, true),
    }
}
