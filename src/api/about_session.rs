//! The methods of `SessionManager` about its session: its id and name, its file, its directories.

use napi::bindgen_prelude::*;
use napi_derive::napi;

use super::manager::SessionManager;
use crate::convert::paths::on_paths;
use crate::engine::{JsEnv, JsVal};
use crate::manager::reads;
use pi_session_core::paths;

#[napi]
impl SessionManager {
    #[napi(catch_unwind)]
    pub fn is_persisted(&self) -> bool {
        self.state.borrow().session.is_persisted()
    }

    #[napi(catch_unwind)]
    pub fn get_cwd<'env>(&self, env: &'env Env) -> Result<JsVal<'env>> {
        JsEnv::new(env).string(self.state.borrow().config.cwd.as_bytes())
    }

    #[napi(catch_unwind)]
    pub fn get_session_dir(&self) -> String {
        self.state.borrow().config.dir.clone()
    }

    #[napi(catch_unwind)]
    pub fn uses_default_session_dir(&self, env: &Env) -> Result<bool> {
        let config = self.state.borrow().config.clone();
        on_paths(JsEnv::new(env), |process| {
            paths::is_same_path(&config.dir, &paths::default_session_dir(&config.cwd, None, process)?, process)
        })
    }

    /// The session's id.
    ///
    /// @example
    /// ```ts
    /// console.log(manager.getSessionId() === manager.getHeader()?.id); // → true
    /// ```
    // The other part of the type is the class's constructor, which TypeScript must not offer; it throws at run time.
    #[napi(catch_unwind)]
    pub fn get_session_id<'env>(&self, env: &'env Env) -> Result<JsVal<'env>> {
        let state = self.state.borrow();
        JsEnv::new(env).string(state.session.id())
    }

    #[napi(catch_unwind)]
    pub fn get_session_file<'env>(&self, env: &'env Env) -> Result<JsVal<'env>> {
        reads::session_file(&self.state, JsEnv::new(env))
    }

    #[napi(catch_unwind)]
    pub fn get_session_name<'env>(&self, env: &'env Env) -> Result<JsVal<'env>> {
        self.read(env, reads::name)
    }
}
