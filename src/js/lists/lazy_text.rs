//! `allMessagesText` of a listed session, read when it is asked for.

use std::cell::RefCell;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::Path;

use napi::Result;
use pi_session_core::base::wtf8::to_string_lossy;
use pi_session_core::summary::listed_text::{text, ListedState};

use crate::js::engine::{JsEnv, JsVal};
use crate::js::factory::{self, FactoryFn};

/// How many bytes are kept for the next text: fresh memory costs most here.
const KEPT_BYTES: usize = 8 << 20;

thread_local! {
    static READ: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Gives the factory the function that reads texts.
pub fn install(js: JsEnv<'_>) -> Result<()> {
    let function = js.function("listedText", |js, args| {
        let none = js.undefined()?;
        let args = std::array::from_fn(|at| args.get(at).copied().unwrap_or(none));
        // Reading a property must not throw.
        match catch_unwind(AssertUnwindSafe(|| read(js, args))) {
            Ok(Ok(text)) => Ok(text),
            _ => js.take_exception().and_then(|_| js.string(b"")),
        }
    })?;
    factory::call(js, FactoryFn::UseText, &[function]).map(|_| ())
}

/// The text of a listed session.
fn read<'env>(js: JsEnv<'env>, [file, source]: [JsVal<'env>; 2]) -> Result<JsVal<'env>> {
    let argument = |value: JsVal| Ok::<_, napi::Error>(js.text(value)?.map(|text| to_string_lossy(&text).into_owned()));
    let source = argument(source)?.and_then(|text| ListedState::from_text(&text));
    let Some((file, source)) = argument(file)?.zip(source) else { return js.string(b"") };
    READ.with(|read| {
        let mut read = read.borrow_mut();
        text(Path::new(&file), &source, &mut read);
        let string = js.string(&read);
        if read.capacity() > KEPT_BYTES {
            *read = Vec::new();
        }
        string
    })
}
