//! Which session a manager has: its id and name, its file, its directories.

use napi::bindgen_prelude::*;
use napi_derive::napi;

use super::manager::SessionManager;
use crate::convert::paths::on_paths;
use crate::engine::{JsEnv, JsVal};
use crate::manager::reads;
use pi_session_core::paths;

#[napi]
impl SessionManager {
    /// Whether this session writes to a file.
    ///
    /// @example
    /// ```ts
    /// console.log(manager.isPersisted(), SessionManager.inMemory().isPersisted()); // → true false
    /// ```
    #[napi(catch_unwind)]
    pub fn is_persisted(&self) -> bool {
        self.state.borrow().session.is_persisted()
    }

    /// The working directory, absolute.
    ///
    /// @example
    /// ```ts
    /// console.log(manager.getCwd() === cwd); // → true
    /// ```
    #[napi(catch_unwind, ts_return_type = "string")]
    pub fn get_cwd<'env>(&self, env: &'env Env) -> Result<JsVal<'env>> {
        JsEnv::new(env).string(self.state.borrow().config.cwd.as_bytes())
    }

    /// The directory that new session files go to, as it was given; empty in memory.
    ///
    /// @example
    /// ```ts
    /// console.log(manager.getSessionDir() === dir); // → true
    /// ```
    #[napi(catch_unwind)]
    pub fn get_session_dir(&self) -> String {
        self.state.borrow().config.dir.clone()
    }

    /// Whether the session directory is the default one of the working directory.
    ///
    /// @example
    /// ```ts
    /// console.log(manager.usesDefaultSessionDir()); // → false
    /// ```
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
    // The rest of the type is the class's constructor, which TypeScript must not offer; at run time it throws.
    #[napi(
        catch_unwind,
        ts_type = "(): string\n/** A manager comes from `create`, `open`, `continueRecent`, `inMemory` or `forkFrom`. */\nprivate constructor()"
    )]
    pub fn get_session_id<'env>(&self, env: &'env Env) -> Result<JsVal<'env>> {
        let state = self.state.borrow();
        JsEnv::new(env).string(state.session.id())
    }

    /// The path of the session's file, whether it exists yet or not; undefined in memory.
    ///
    /// @example
    /// ```ts
    /// console.log(manager.getSessionFile() === file); // → true
    /// ```
    #[napi(catch_unwind, ts_return_type = "string | undefined")]
    pub fn get_session_file<'env>(&self, env: &'env Env) -> Result<JsVal<'env>> {
        reads::session_file(&self.state, JsEnv::new(env))
    }

    /// The session's name, from its newest session_info entry on any branch; undefined if it has none.
    ///
    /// @example
    /// ```ts
    /// console.log(manager.getSessionName() ?? "(no name)"); // → (no name)
    /// ```
    #[napi(catch_unwind, ts_return_type = "string | undefined")]
    pub fn get_session_name<'env>(&self, env: &'env Env) -> Result<JsVal<'env>> {
        self.read(env, reads::name)
    }
}
