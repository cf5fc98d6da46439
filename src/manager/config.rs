//! The options of a manager.

use std::ffi::CStr;

use napi::Result;

use crate::convert::args::{self, Options};
use crate::convert::errors::{wrong_argument, OrThrow};
use crate::convert::paths::on_paths;
use crate::engine::JsEnv;
use pi_session_core::paths::Process as _;
use pi_session_core::wtf8::to_string_lossy;
use pi_session_core::{make_session_dir, paths, Durability, Lock, Persistence, SessionFileOptions};

/// The options with which a manager is opened.
pub struct ManagerConfig {
    pub cwd: String,
    /// The session directory as the caller passed it, not resolved; empty in memory.
    pub dir: String,
    pub persistence: Persistence,
    pub options: SessionFileOptions,
}

impl ManagerConfig {
    /// For a manager that writes files: creates the directory if it is missing.
    pub fn new(
        js: JsEnv<'_>,
        cwd: &str,
        dir: String,
        persistence: Persistence,
        options: SessionFileOptions,
    ) -> Result<Self> {
        let cwd = on_paths(js, |process| paths::resolve(cwd, process))?;
        if persistence == Persistence::File && !dir.is_empty() {
            make_session_dir(&dir, options.durability).or_throw(js)?;
        }
        Ok(Self { cwd, dir, persistence, options })
    }
}

/// The value of an option, its name in errors, and whether it comes from the environment.
type Given = (Vec<u8>, String, bool);

/// How a session's file is written: by the options of a static, or else by the environment.
pub fn options(js: JsEnv<'_>, options: &Options<'_>) -> Result<SessionFileOptions> {
    let given = |key: &CStr, variable: &str| -> Result<Option<Given>> {
        let Some(value) = options.optional(key)? else {
            let set = on_paths(js, |process| process.env(variable))?.filter(|text| !text.is_empty());
            return Ok(set.map(|text| (text.into_bytes(), variable.to_owned(), true)));
        };
        let name = format!("options.{}", key.to_string_lossy());
        Ok(Some((args::text(js, value, &name)?, name, false)))
    };
    let durability = given(c"durability", "PI_SESSION_NATIVE_DURABILITY")?;
    let lock = given(c"lock", "PI_SESSION_NATIVE_LOCK")?;
    let exclusive = if matches!(lock, Some((.., true))) { Lock::ExclusiveProcess } else { Lock::Exclusive };
    Ok(SessionFileOptions {
        durability: one_of(js, durability, [("os", Durability::Os), ("fsync", Durability::Fsync)])?,
        lock: one_of(js, lock, [("none", Lock::None), ("exclusive", exclusive)])?,
    })
}

/// The named value; the first one if none is named.
fn one_of<T>(js: JsEnv<'_>, given: Option<Given>, [first, second]: [(&str, T); 2]) -> Result<T> {
    let Some((name, option, _)) = given else { return Ok(first.1) };
    let allowed = format!("\"{}\" or \"{}\"", first.0, second.0);
    let found = [first, second].into_iter().find(|(known, _)| known.as_bytes() == name);
    let wrong = || wrong_argument(js, format!("{option} must be {allowed}, not \"{}\"", to_string_lossy(&name)));
    found.map(|(_, value)| value).ok_or_else(wrong)
}
