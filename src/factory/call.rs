//! The compiled factory of each JavaScript environment, and the calls into it.

use std::cell::RefCell;
use std::ffi::CStr;
use std::rc::Rc;

use napi::Result;

use super::codes::codes;
use super::functions::{FactoryFn, NAMES};
use crate::engine::{EnvId, JsEnv, JsVal, Persistent, Scratch};

/// The text of a script. Its last line is its name in stack traces, so that a reader knows whose code it is.
macro_rules! script {
    ($file:literal) => {
        concat!(include_str!($file), "//# sourceURL=pi-session-native/src/factory/", $file)
    };
}

const SHARED: &str = script!("shared.js");
const PROCESS: &str = script!("process.js");
const OBJECTS: &str = script!("objects.js");
const VALUES: &str = script!("values.js");
const ENTRIES: &str = script!("entries.js");
const LAZY: &str = script!("lazy.js");
const MANAGER_CLASS: &str = script!("manager-class.js");
const LISTS: &str = script!("lists.js");

thread_local! {
    /// One thread may have several environments, because each vm context loads the addon once.
    static FACTORIES: RefCell<Vec<(EnvId, Rc<Factory>)>> = const { RefCell::new(Vec::new()) };
}

struct Factory {
    functions: Vec<Persistent>,
    scratch: Scratch,
}

/// Compiles the factory for this environment. It receives the functions that lazy entries and listed sessions call.
pub fn install(js: JsEnv<'_>, read_body: JsVal<'_>, listed_text: JsVal<'_>) -> Result<()> {
    let codes = codes(js)?;
    let (scratch, numbers) = Scratch::new(js)?;
    let compile = |script: &str, args: &[JsVal<'_>]| js.call(js.run(script)?, args);
    let shared = compile(SHARED, &[])?;
    let values = compile(VALUES, &[shared, codes])?;
    let scripts = [
        compile(PROCESS, &[])?,
        compile(OBJECTS, &[shared])?,
        values,
        compile(ENTRIES, &[shared, codes, numbers, values])?,
        compile(LAZY, &[shared, codes, read_body])?,
        compile(MANAGER_CLASS, &[shared])?,
        compile(LISTS, &[shared, listed_text])?,
    ];
    let function = |name: &CStr| {
        for script in scripts {
            let function = js.get(script, name)?;
            if !js.is_undefined(function)? {
                return js.keep(function);
            }
        }
        Err(napi::Error::from_reason(format!("No script of the factory has {}", name.to_string_lossy())))
    };
    let functions = NAMES.iter().map(|name| function(name)).collect::<Result<Vec<Persistent>>>()?;
    FACTORIES.with(|all| all.borrow_mut().push((js.id(), Rc::new(Factory { functions, scratch }))));
    Ok(())
}

/// Drops the factory of an environment that ends; the environment frees the references. Returns whether it was the last
/// one of the thread.
pub fn uninstall(env: EnvId) -> bool {
    FACTORIES.with(|all| {
        let mut all = all.borrow_mut();
        all.retain(|(id, _)| *id != env);
        all.is_empty()
    })
}

fn with_factory<T>(js: JsEnv<'_>, work: impl FnOnce(&Factory) -> Result<T>) -> Result<T> {
    FACTORIES.with(|all| {
        let all = all.borrow();
        match all.iter().find(|(id, _)| *id == js.id()) {
            Some((_, factory)) => work(factory),
            None => Err(napi::Error::from_reason("The addon was not initialised in this environment")),
        }
    })
}

/// A function of the factory.
pub fn function<'env>(js: JsEnv<'env>, function: FactoryFn) -> Result<JsVal<'env>> {
    with_factory(js, |factory| match factory.functions.get(function as usize) {
        Some(kept) => js.kept(kept),
        None => Err(napi::Error::from_reason("The factory has no such function")),
    })
}

/// Calls a function of the factory.
pub fn call<'env>(js: JsEnv<'env>, callee: FactoryFn, args: &[JsVal<'env>]) -> Result<JsVal<'env>> {
    js.call(function(js, callee)?, args)
}

/// The numbers that the factory's last call wrote to its scratch array.
pub fn scratch(js: JsEnv<'_>) -> Result<[f64; 4]> {
    with_factory(js, |factory| Ok(factory.scratch.read()))
}
