//! Opens sessions: new ones, and sessions in files.

use std::cell::RefCell;

use napi::Result;

use super::config::ManagerConfig;
use super::gc;
use super::identity_cache::IdentityCache;
use super::session_dir::session_file;
use super::state::{swap, ManagerState};
use crate::convert::args::{self, Options};
use crate::convert::errors::OrThrow;
use crate::convert::text::line_of;
use crate::engine::{JsEnv, JsVal};
use crate::factory::process;
use pi_session_core::addon::CURRENT_VERSION;
use pi_session_core::time::timestamp;
use pi_session_core::{ids, OpenResult, Persistence, Session};

/// Reads the file again, and replaces the manager's session by the result.
pub fn reopen(state: &RefCell<ManagerState>, js: JsEnv<'_>) -> Result<()> {
    let (config, file) = {
        let state = state.borrow();
        (state.config.clone(), state.session.file().unwrap_or_default().to_owned())
    };
    swap(state, js, open_session(js, &config, file)?)
}

/// The id in the options of a new session, after a check; or a new id.
pub fn session_id(js: JsEnv<'_>, options: &Options<'_>, now: f64) -> Result<Vec<u8>> {
    let Some(id) = options.optional(c"id")? else { return Ok(ids::session_id(now).into_bytes()) };
    let id = args::text(js, id, "options.id")?;
    ids::check_session_id(&id).or_throw(js)?;
    Ok(id)
}

/// A new session with a new header. In memory `file` stays the same; on disk the file is named after the session unless
/// `file` is given.
pub fn new_session(
    js: JsEnv<'_>,
    config: &ManagerConfig,
    file: Option<String>,
    options: &Options<'_>,
) -> Result<(Session, IdentityCache)> {
    gc::collect(js)?;
    let now = process::now(js)?;
    let timestamp = timestamp(now).or_throw(js)?;
    let id = session_id(js, options, now)?;
    let file = match (config.persistence, file) {
        (Persistence::File, None) => Some(session_file(&config.dir, &timestamp, &id)),
        (_, file) => file,
    };
    let mut cache = IdentityCache::new(js, 0)?;
    let header = make_header(js, &id, &timestamp, &config.cwd, options.get(c"parentSession")?)?;
    cache.set_header(js, header)?;
    let session = Session::new(id, config.persistence, file).with_options(config.options).or_throw(js)?;
    Ok((session, cache))
}

/// The object of a new header.
pub fn make_header<'env>(
    js: JsEnv<'env>,
    id: &[u8],
    timestamp: &str,
    cwd: &str,
    parent: JsVal<'env>,
) -> Result<JsVal<'env>> {
    js.record(&[
        (c"type", js.string(b"session")?),
        (c"version", js.number(f64::from(CURRENT_VERSION))?),
        (c"id", js.string(id)?),
        (c"timestamp", js.string(timestamp.as_bytes())?),
        (c"cwd", js.string(cwd.as_bytes())?),
        (c"parentSession", parent),
    ])
}

/// The session in the file at an absolute path. A new one if the file is missing or empty.
pub fn open_session(js: JsEnv<'_>, config: &ManagerConfig, file: String) -> Result<(Session, IdentityCache)> {
    // Sessions that JavaScript no longer references release their locks and file handles.
    gc::collect(js)?;
    let none = Options::any(js, js.undefined()?)?;
    match Session::open_if_any(&file, config.persistence, config.options).or_throw(js)? {
        OpenResult::Missing(_) => new_session(js, config, Some(file), &none),
        OpenResult::Empty => {
            let (mut session, cache) = new_session(js, config, Some(file.clone()), &none)?;
            if write_header(js, &mut session, &cache)? {
                return Ok((session, cache));
            }
            // Another process has just written the session, so it is not a new one.
            drop(session);
            open_session(js, config, file)
        }
        OpenResult::Session(session) => {
            let cache = IdentityCache::new(js, session.tree().len())?;
            Ok((*session, cache))
        }
    }
}

fn write_header(js: JsEnv<'_>, session: &mut Session, cache: &IdentityCache) -> Result<bool> {
    match cache.header(js)? {
        Some(header) => session.fill_empty_file(&line_of(js, header)?).or_throw(js),
        None => Ok(true),
    }
}
