//! The methods of `SessionManager` that are about its file: reading changes, closing, checking, repairing.

use napi::bindgen_prelude::*;
use napi_derive::napi;
use serde::Serialize;

use super::manager::SessionManager;
use crate::convert::errors::OrThrow;
use crate::convert::paths::resolved;
use crate::engine::{to_js, JsEnv, JsVal};
use crate::factory::process::now;
use crate::manager::file_check::with_file;
use crate::manager::open;
use pi_session_core::addon::lock_holder;
use pi_session_core::{Result as CoreResult, Session};

/// A report of the core as an object.
pub(super) fn reported<'env>(js: JsEnv<'env>, report: CoreResult<impl Serialize>) -> Result<JsVal<'env>> {
    to_js(js, &report.or_throw(js)?)
}

#[napi]
impl SessionManager {
    #[napi(catch_unwind)]
    pub fn reload(&self, env: &Env) -> Result<()> {
        let js = JsEnv::new(env);
        if self.state.borrow().session.is_migrated_copy() {
            return open::reopen(&self.state, js);
        }
        with_file(&self.state, js, Session::reload)
    }

    #[napi(catch_unwind)]
    pub fn flush(&self, env: &Env) -> Result<()> {
        with_file(&self.state, JsEnv::new(env), Session::flush)
    }

    #[napi(catch_unwind)]
    pub fn close(&self, env: &Env) -> Result<()> {
        let done = with_file(&self.state, JsEnv::new(env), Session::check_and_close);
        if done.is_err() {
            self.state.borrow_mut().session.release_lock();
        }
        done
    }

    #[napi(catch_unwind)]
    pub fn get_diagnostics<'env>(&self, env: &'env Env) -> Result<JsVal<'env>> {
        let js = JsEnv::new(env);
        let diagnostics = self.state.borrow().session.diagnostics();
        reported(js, diagnostics)
    }

    #[napi(catch_unwind, configurable = true)]
    pub fn verify<'env>(env: &'env Env, path: JsVal<'env>) -> Result<JsVal<'env>> {
        let js = JsEnv::new(env);
        let path = resolved(js, path, "path")?;
        reported(js, pi_session_core::verify(&path))
    }

    #[napi(catch_unwind, configurable = true)]
    pub fn repair<'env>(env: &'env Env, path: JsVal<'env>) -> Result<JsVal<'env>> {
        let js = JsEnv::new(env);
        let path = resolved(js, path, "path")?;
        let now = now(js)?;
        reported(js, pi_session_core::repair(&path, now))
    }

    #[napi(catch_unwind, configurable = true)]
    pub fn is_locked(env: &Env, path: JsVal<'_>) -> Result<bool> {
        let js = JsEnv::new(env);
        let path = resolved(js, path, "path")?;
        let held = lock_holder(&path).or_throw(js)?;
        Ok(held.is_some())
    }
}
