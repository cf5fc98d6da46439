//! Finds the agent's directory, the configured session directory, and a session by its id in any directory.

use std::ffi::CStr;

use napi::bindgen_prelude::*;
use napi_derive::napi;

use super::manager::SessionManager;
use crate::convert::args::{self, Options};
use crate::convert::errors::OrThrow;
use crate::convert::paths::{on_paths, resolved};
use crate::engine::{JsEnv, JsVal};
use crate::factory::process::ProcessSnapshot;
use crate::factory::{self, FactoryFn};
use crate::lists::search;
use crate::manager::session_dir::configured_session_dir;
use pi_session_core::find_session::{by_id_prefix, most_recent};
use pi_session_core::{make_session_dir, paths, Durability, ListScope};

#[napi]
impl SessionManager {
    #[napi(catch_unwind, configurable = true)]
    pub fn find_by_id_prefix<'env>(
        env: &'env Env,
        id_prefix: JsVal<'env>,
        options: JsVal<'env>,
    ) -> Result<JsVal<'env>> {
        const OPTIONS: &[&CStr] = &[c"cwd", c"sessionDir", c"subagents"];
        let js = JsEnv::new(env);
        let prefix = args::text(js, id_prefix, "idPrefix")?;
        let options = Options::of(js, options, "SessionManager.findByIdPrefix", OPTIONS)?;
        let scope = search::scope(js, &options)?;
        let process = on_paths(js, ProcessSnapshot::of)?;
        let with_subagents = search::with_subagents(js, &options)?;
        let found = by_id_prefix(&scope, &prefix, with_subagents, &process).or_throw(js)?;
        let list = js.array(0)?;
        for (at, session) in found.iter().enumerate() {
            let object = js.record(&[
                (c"path", js.string(session.path.as_bytes())?),
                (c"id", js.string(&session.id)?),
                (c"cwd", js.string(&session.cwd)?),
            ])?;
            js.set_at(list, at as u32, object)?;
        }
        Ok(list)
    }
}

#[napi(catch_unwind)]
pub fn get_configured_session_dir<'env>(env: &'env Env, cwd: JsVal<'env>, options: JsVal<'env>) -> Result<JsVal<'env>> {
    let js = JsEnv::new(env);
    let cwd = if js.is_nullish(cwd)? { None } else { Some(args::path(js, cwd, "cwd")?) };
    let on_warning = Options::of(js, options, "getConfiguredSessionDir", &[c"onWarning"])?.function(c"onWarning")?;
    let configured = configured_session_dir(js, cwd.as_deref())?;
    if let Some(on_warning) = on_warning {
        for problem in &configured.problems {
            js.call(on_warning, &[js.string(problem.as_bytes())?])?;
        }
    }
    js.optional_string(configured.dir.as_deref().map(str::as_bytes))
}

#[napi(catch_unwind)]
pub fn set_agent_dir(env: &Env, agent_dir: JsVal<'_>) -> Result<()> {
    let js = JsEnv::new(env);
    let dir = if js.is_nullish(agent_dir)? {
        js.undefined()?
    } else {
        js.string(resolved(js, agent_dir, "agentDir")?.as_bytes())?
    };
    factory::call(js, FactoryFn::SetAgentDir, &[dir]).map(drop)
}

#[napi(catch_unwind)]
pub fn get_default_session_dir(env: &Env, cwd: JsVal<'_>, agent_dir: JsVal<'_>, options: JsVal<'_>) -> Result<String> {
    let js = JsEnv::new(env);
    let cwd = args::path(js, cwd, "cwd")?;
    let agent = if js.is_undefined(agent_dir)? { None } else { Some(args::path(js, agent_dir, "agentDir")?) };
    let create = Options::of(js, options, "getDefaultSessionDir", &[c"create"])?.get(c"create")?;
    let only_named = !js.is_nullish(create)? && !js.is_truthy(create)?;
    let dir = on_paths(js, |process| paths::default_session_dir(&cwd, agent.as_deref(), process))?;
    if !only_named {
        make_session_dir(&dir, Durability::Os).or_throw(js)?;
    }
    Ok(dir)
}

#[napi(catch_unwind)]
pub fn find_most_recent_session<'env>(
    env: &'env Env,
    session_dir: JsVal<'env>,
    cwd: JsVal<'env>,
) -> Result<JsVal<'env>> {
    let js = JsEnv::new(env);
    let dir = args::path(js, session_dir, "sessionDir")?;
    let cwd = args::optional_path(js, cwd, "cwd")?;
    let found = on_paths(js, |process| {
        let dir = paths::normalize(&dir, process)?;
        let cwd = cwd.as_deref().map(|cwd| paths::resolve(cwd, process)).transpose()?;
        Ok(most_recent(&ListScope::dir(dir, cwd), process))
    })?;
    found.map_or_else(|| js.null(), |path| js.string(path.as_bytes()))
}
