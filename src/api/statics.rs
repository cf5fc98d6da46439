//! The statics of `SessionManager`: creating, opening, finding and listing sessions.

use std::ffi::CStr;

use napi::bindgen_prelude::*;
use napi_derive::napi;

use super::manager::SessionManager;
use crate::convert::args::{self, Options};
use crate::convert::errors::OrThrow;
use crate::convert::paths::{on_paths, resolved};
use crate::engine::{JsEnv, JsVal};
use crate::factory::process::now;
use crate::lists::{lazy_text, list, search, usage};
use crate::manager::config::{self, ManagerConfig};
use crate::manager::from_objects::session_from_objects;
use crate::manager::gc;
use crate::manager::identity_cache::IdentityCache;
use crate::manager::open;
use crate::manager::session_dir::{self, search_scope, session_file};
use crate::manager::state::ManagerState;
use pi_session_core::addon::cwd_in_header;
use pi_session_core::paths::Process as _;
use pi_session_core::time::timestamp;
use pi_session_core::wtf8::{into_string_lossy, to_string_lossy};
use pi_session_core::{
    find_session, make_session_dir, paths, Durability, ForkSource, ListScope, NewHeader, Persistence,
    SessionFileOptions,
};

/// The options of how a session's file is written.
const FILE_OPTIONS: &[&CStr] = &[c"durability", c"lock"];

impl SessionManager {
    fn at<'env>(
        env: &'env Env,
        config: ManagerConfig,
        file: Option<String>,
        options: &Options<'env>,
    ) -> Result<JsVal<'env>> {
        let js = JsEnv::new(env);
        let opened = match file {
            Some(file) => open::open_session(js, &config, file)?,
            None => open::new_session(js, &config, None, options)?,
        };
        Self { state: ManagerState::new(config, opened) }.into_object(env)
    }
}

#[napi]
impl SessionManager {
    #[napi(catch_unwind, configurable = true)]
    pub fn create<'env>(
        env: &'env Env,
        cwd: JsVal<'env>,
        session_dir: JsVal<'env>,
        options: JsVal<'env>,
    ) -> Result<JsVal<'env>> {
        let js = JsEnv::new(env);
        let cwd = args::path(js, cwd, "cwd")?;
        let options = Options::any(js, options)?;
        let file_options = config::options(js, &options)?;
        let dir = session_dir::session_dir(js, &cwd, session_dir, file_options.durability)?;
        let config = ManagerConfig::new(js, &cwd, dir, Persistence::File, file_options)?;
        Self::at(env, config, None, &options)
    }

    #[napi(catch_unwind, configurable = true)]
    pub fn open<'env>(
        env: &'env Env,
        path: JsVal<'env>,
        second: JsVal<'env>,
        cwd_override: JsVal<'env>,
    ) -> Result<JsVal<'env>> {
        let js = JsEnv::new(env);
        let file = resolved(js, path, "path")?;
        // Options, or pi's positional arguments.
        let takes_options = js.kind(second)? == ValueType::Object && !js.is_array(second)?;
        let given = if takes_options { second } else { js.undefined()? };
        let known = [&[c"readonly", c"sessionDir", c"cwd"], FILE_OPTIONS].concat();
        let options = Options::of(js, given, "SessionManager.open", &known)?;
        let (session_dir, cwd, cwd_name) = if takes_options {
            (options.get(c"sessionDir")?, options.get(c"cwd")?, "options.cwd")
        } else {
            (second, cwd_override, "cwdOverride")
        };
        let read_only = options.boolean(c"readonly")?;
        let file_options = config::options(js, &options)?;
        let from_header = if js.is_undefined(cwd)? { cwd_in_header(&file).or_throw(js)? } else { None };
        let cwd = match from_header {
            Some(cwd) => into_string_lossy(cwd).or_throw(js)?,
            None if js.is_nullish(cwd)? => on_paths(js, |process| process.cwd())?,
            None => args::path(js, cwd, cwd_name)?,
        };
        let dir = match args::optional_path(js, session_dir, "sessionDir")? {
            Some(dir) => on_paths(js, |process| paths::normalize(&dir, process))?,
            None => paths::parent(&file),
        };
        let persistence = if read_only { Persistence::ReadOnly } else { Persistence::File };
        let config = ManagerConfig::new(js, &cwd, dir, persistence, file_options)?;
        Self::at(env, config, Some(file), &options)
    }

    #[napi(catch_unwind, configurable = true)]
    pub fn continue_recent<'env>(
        env: &'env Env,
        cwd: JsVal<'env>,
        session_dir: JsVal<'env>,
        options: JsVal<'env>,
    ) -> Result<JsVal<'env>> {
        let js = JsEnv::new(env);
        let options = Options::of(js, options, "SessionManager.continueRecent", FILE_OPTIONS)?;
        let file_options = config::options(js, &options)?;
        let mut scope = search_scope(js, cwd, session_dir, file_options.durability)?;
        let cwd = args::path(js, cwd, "cwd")?;
        if cwd.is_empty() {
            // As in pi, the newest session of all working directories.
            scope = ListScope::dir(scope.dir, None);
        }
        let recent = on_paths(js, |process| Ok(find_session::most_recent(&scope, process)))?;
        let file = match recent {
            Some(path) => Some(on_paths(js, |process| paths::resolve(&path, process))?),
            None => None,
        };
        let config = ManagerConfig::new(js, &cwd, scope.dir, Persistence::File, file_options)?;
        Self::at(env, config, file, &options)
    }

    #[napi(catch_unwind, configurable = true)]
    pub fn in_memory<'env>(
        env: &'env Env,
        cwd: JsVal<'env>,
        options: JsVal<'env>,
        entries: JsVal<'env>,
    ) -> Result<JsVal<'env>> {
        let js = JsEnv::new(env);
        let cwd =
            if js.is_undefined(cwd)? { on_paths(js, |process| process.cwd())? } else { args::path(js, cwd, "cwd")? };
        let config = ManagerConfig::new(js, &cwd, String::new(), Persistence::Memory, SessionFileOptions::default())?;
        let options = Options::any(js, options)?;
        if !args::has_elements(js, entries, "entries")? {
            return Self::at(env, config, None, &options);
        }
        gc::collect(js)?;
        let state = session_from_objects(js, &config, &options, args::list(js, entries, "entries")?)?;
        Self { state: ManagerState::new(config, state) }.into_object(env)
    }

    #[napi(catch_unwind, configurable = true)]
    pub fn fork_from<'env>(
        env: &'env Env,
        source_path: JsVal<'env>,
        target_cwd: JsVal<'env>,
        session_dir: JsVal<'env>,
        options: JsVal<'env>,
    ) -> Result<JsVal<'env>> {
        let js = JsEnv::new(env);
        let source_path = resolved(js, source_path, "sourcePath")?;
        let cwd = resolved(js, target_cwd, "targetCwd")?;
        let source = ForkSource::open(&source_path).or_throw(js)?;
        let options = Options::any(js, options)?;
        let file_options = config::options(js, &options)?;
        let dir = session_dir::session_dir(js, &cwd, session_dir, file_options.durability)?;
        make_session_dir(&dir, file_options.durability).or_throw(js)?;
        let now = now(js)?;
        let id = open::session_id(js, &options, now)?;
        let timestamp = timestamp(now).or_throw(js)?;
        let file = session_file(&dir, &timestamp, &id);
        let id = to_string_lossy(&id);
        let header = NewHeader { id: &id, cwd: &cwd, parent: Some(&source_path), time: now };
        let file = on_paths(js, |process| paths::resolve(&file, process))?;
        let config = ManagerConfig::new(js, &cwd, dir, Persistence::File, file_options)?;
        gc::collect(js)?;
        let session = source.write_to(&file, &header, file_options).or_throw(js)?;
        let cache = IdentityCache::new(js, session.tree().len())?;
        Self { state: ManagerState::new(config, (session, cache)) }.into_object(env)
    }

    #[napi(catch_unwind, configurable = true)]
    pub fn find_by_id<'env>(
        env: &'env Env,
        cwd: JsVal<'env>,
        id: JsVal<'env>,
        session_dir: JsVal<'env>,
    ) -> Result<JsVal<'env>> {
        let js = JsEnv::new(env);
        let scope = search_scope(js, cwd, session_dir, Durability::Os)?;
        let found = match js.text(id)? {
            // As in pi, a directory that cannot be read has no sessions.
            Some(id) => on_paths(js, |process| Ok(find_session::by_id(&scope, &id, process).ok().flatten()))?,
            None => None,
        };
        js.optional_string(found.as_deref().map(str::as_bytes))
    }

    #[napi(catch_unwind, configurable = true)]
    pub fn list<'env>(
        env: &'env Env,
        cwd: JsVal<'env>,
        session_dir: JsVal<'env>,
        on_progress: JsVal<'env>,
        signal: JsVal<'env>,
    ) -> Result<JsVal<'env>> {
        let js = JsEnv::new(env);
        list::promise(js, signal, on_progress, || search_scope(js, cwd, session_dir, Durability::Os))
    }

    #[napi(catch_unwind, configurable = true)]
    pub fn list_all<'env>(
        env: &'env Env,
        first: JsVal<'env>,
        second: JsVal<'env>,
        third: JsVal<'env>,
    ) -> Result<JsVal<'env>> {
        let js = JsEnv::new(env);
        let is_function = |value: &JsVal<'_>| Ok::<_, Error>(js.kind(*value)? == ValueType::Function);
        let dir = js.text(first)?.map(|dir| to_string_lossy(&dir).into_owned());
        let (progress, signal) = if is_function(&first)? {
            (first, if is_function(&second)? || js.is_nullish(second)? { third } else { second })
        } else if is_function(&second)? {
            (second, third)
        } else if dir.is_some() || js.is_nullish(second)? {
            (js.undefined()?, third)
        } else {
            (js.undefined()?, second)
        };
        list::promise(js, signal, progress, || match dir.filter(|dir| !dir.is_empty()) {
            Some(dir) => Ok(ListScope::dir(on_paths(js, |process| paths::normalize(&dir, process))?, None)),
            None => Ok(ListScope::all(on_paths(js, |process| paths::sessions_dir(process))?)),
        })
    }

    #[napi(catch_unwind, configurable = true)]
    pub fn read_texts<'env>(env: &'env Env, sessions: JsVal<'env>, signal: JsVal<'env>) -> Result<JsVal<'env>> {
        lazy_text::promise(JsEnv::new(env), sessions, signal)
    }

    #[napi(catch_unwind, configurable = true)]
    pub fn search<'env>(env: &'env Env, query: JsVal<'env>, options: JsVal<'env>) -> Result<JsVal<'env>> {
        search::promise(JsEnv::new(env), query, options)
    }

    #[napi(catch_unwind, configurable = true)]
    pub fn usage<'env>(env: &'env Env, options: JsVal<'env>) -> Result<JsVal<'env>> {
        usage::promise(JsEnv::new(env), options)
    }
}

#[napi(catch_unwind)]
pub fn assert_valid_session_id(env: &Env, id: JsVal<'_>) -> Result<()> {
    let js = JsEnv::new(env);
    let id = match js.text(id)? {
        Some(id) => id,
        // pi tests its pattern on the text of any value.
        None => args::template_text(js, id)?.into_bytes(),
    };
    pi_session_core::ids::check_session_id(&id).or_throw(js)
}
