//! Path arguments, and calls of the core that ask JavaScript for the process's state. A path here is the path of a
//! file.

use napi::Result;

use super::args;
use super::errors::OrThrow;
use crate::engine::{JsEnv, JsVal};
use crate::factory::process::JsProcess;
use pi_session_core::{paths, Result as CoreResult};

/// Runs a call of the core that asks JavaScript for the process's state. Throws its error.
pub fn on_paths<T>(js: JsEnv<'_>, work: impl FnOnce(&JsProcess<'_>) -> CoreResult<T>) -> Result<T> {
    work(&JsProcess(js)).or_throw(js)
}

/// A path argument, resolved to an absolute path.
pub fn resolved(js: JsEnv<'_>, value: JsVal<'_>, name: &str) -> Result<String> {
    let given = args::path(js, value, name)?;
    on_paths(js, |process| paths::resolve(&given, process))
}
