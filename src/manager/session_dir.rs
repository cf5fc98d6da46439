//! The directories and file names of sessions.

use napi::Result;

use crate::convert::args;
use crate::convert::errors::OrThrow;
use crate::convert::paths::on_paths;
use crate::engine::{JsEnv, JsVal};
use pi_session_core::addon::new_file_name;
use pi_session_core::find_session::lookup_filter;
use pi_session_core::paths::Process as _;
use pi_session_core::{configured_dir, make_session_dir, paths, ConfiguredDir, Durability, ListScope};

/// The session directory of a working directory: the given one, or the default one, which is created.
pub fn session_dir(js: JsEnv<'_>, cwd: &str, given: JsVal<'_>, durability: Durability) -> Result<String> {
    match args::optional_path(js, given, "sessionDir")? {
        Some(dir) => on_paths(js, |process| paths::normalize(&dir, process)),
        None => {
            let dir = on_paths(js, |process| paths::default_session_dir(cwd, None, process))?;
            make_session_dir(&dir, durability).or_throw(js)?;
            Ok(dir)
        }
    }
}

/// The path of a new session's file.
pub fn session_file(dir: &str, timestamp: &str, id: &[u8]) -> String {
    paths::join(dir, &new_file_name(timestamp, id))
}

/// The scope in which a working directory's sessions are searched. A given directory that is not the default one may
/// also contain sessions of other working directories.
pub fn search_scope(js: JsEnv<'_>, cwd: JsVal<'_>, given: JsVal<'_>, durability: Durability) -> Result<ListScope> {
    let cwd = args::path(js, cwd, "cwd")?;
    let dir = session_dir(js, &cwd, given, durability)?;
    let is_given = !js.is_undefined(given)?;
    let filter = on_paths(js, |process| lookup_filter(&cwd, &dir, is_given, process))?;
    Ok(ListScope::dir(dir, filter))
}

/// The session directory that is configured for pi, for a working directory. The default is the process's, which may
/// not exist any more.
pub fn configured_session_dir(js: JsEnv<'_>, cwd: Option<&str>) -> Result<ConfiguredDir> {
    on_paths(js, |process| {
        let own = match cwd {
            Some(_) => None,
            None => process.cwd().inspect_err(|_| process.discard_error()).ok(),
        };
        configured_dir(cwd.or(own.as_deref()), process)
    })
}
