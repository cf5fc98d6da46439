//! Path arguments, and the core's calls on paths, which ask JavaScript about the process.

use napi::Result;

use super::args;
use super::errors::OrThrow;
use crate::engine::{JsEnv, JsVal};
use crate::factory::process::JsProcess;
use pi_session_core::{paths, Result as CoreResult};

/// Runs a core call that asks JavaScript about the process; its error is thrown.
pub fn on_paths<T>(js: JsEnv<'_>, work: impl FnOnce(&JsProcess<'_>) -> CoreResult<T>) -> Result<T> {
    work(&JsProcess(js)).or_throw(js)
}

/// A path argument made absolute.
pub fn resolved(js: JsEnv<'_>, value: JsVal<'_>, name: &str) -> Result<String> {
    let given = args::path(js, value, name)?;
    on_paths(js, |process| paths::resolve(&given, process))
}
