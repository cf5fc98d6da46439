//! What the addon keeps per JavaScript environment: the compiled factory, and the host's answers through it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::CStr;
use std::rc::Rc;

use napi::{sys, Result};

use super::errors::thrown;
use super::raw::{Js, Kept, Val};
use crate::core::error::{Error as CoreError, Result as CoreResult};
use crate::core::paths;
use crate::core::text::shown;

const FACTORY: &str = include_str!("factory.js");

thread_local! {
    /// One thread may hold several environments (vm contexts load the addon once each).
    static FACTORIES: RefCell<HashMap<sys::napi_env, Rc<Kept>>> = RefCell::new(HashMap::new());
}

/// Compiles the factory for this environment, once.
pub fn install(env: &napi::Env) -> Result<()> {
    let js = Js::new(env);
    let factory = js.keep(js.run(FACTORY)?)?;
    let raw = js.raw();
    FACTORIES.with(|all| all.borrow_mut().insert(raw, Rc::new(factory)));
    // The engine frees the references itself when the environment ends.
    env.add_env_cleanup_hook(raw as usize, |raw| {
        FACTORIES.with(|all| all.borrow_mut().remove(&(raw as sys::napi_env)));
    })?;
    Ok(())
}

/// The factory's functions, by name.
pub fn factory(js: Js) -> Result<Val> {
    let kept = FACTORIES.with(|all| all.borrow().get(&js.raw()).cloned());
    let kept = kept.ok_or_else(|| napi::Error::from_reason("The addon was not initialised in this environment"))?;
    js.kept(&kept)
}

/// Calls a function of the factory.
pub fn make(js: Js, function: &CStr, args: &[Val]) -> Result<Val> {
    let factory = factory(js)?;
    let function = js.get(factory, function)?;
    js.call(function, args)
}

/// The time in ms since 1970, from JavaScript's clock, which tests replace.
pub fn now(js: Js) -> Result<f64> {
    let now = make(js, c"now", &[])?;
    Ok(js.number_value(now)?.unwrap_or(f64::NAN))
}

/// The host's answers about paths, for the core.
pub struct JsHost(pub Js);

impl JsHost {
    fn ask(&self, function: &CStr, args: &[Val]) -> Result<Option<String>> {
        let answer = make(self.0, function, args)?;
        Ok(self.0.text(answer)?.map(|text| shown(&text).into_owned()))
    }
}

/// An exception that is pending in the engine crosses the core as an error of its own and comes out as itself.
fn crossing<T>(result: Result<T>) -> CoreResult<T> {
    result.map_err(|error| CoreError::argument(error.reason.to_string()))
}

impl paths::Host for JsHost {
    fn cwd(&self) -> CoreResult<String> {
        let cwd = crossing(self.ask(c"cwd", &[]))?;
        cwd.ok_or_else(|| CoreError::argument("The working directory is unknown"))
    }

    fn home(&self) -> CoreResult<String> {
        if let Some(home) = crossing(self.ask(c"home", &[]))? {
            return Ok(home);
        }
        let home = std::env::home_dir().and_then(|home| home.into_os_string().into_string().ok());
        home.ok_or_else(|| CoreError::argument("The home directory is unknown"))
    }

    fn env(&self, name: &str) -> CoreResult<Option<String>> {
        crossing(self.0.string(name.as_bytes()).and_then(|name| self.ask(c"env", &[name])))
    }

    fn file_url(&self, url: &str) -> CoreResult<String> {
        let path = crossing(self.0.string(url.as_bytes()).and_then(|url| self.ask(c"fileUrl", &[url])))?;
        path.ok_or_else(|| CoreError::argument("The file URL names no path"))
    }
}

/// Runs a core call on paths; its error is thrown.
pub fn on_paths<T>(js: Js, work: impl FnOnce(&JsHost) -> CoreResult<T>) -> Result<T> {
    work(&JsHost(js)).map_err(|error| thrown(js, &error))
}
