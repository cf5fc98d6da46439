//! The methods of `SessionManager` for all files of a session: finding them, moving them, and removing their rows from
//! the catalog.

use napi::bindgen_prelude::*;
use napi_derive::napi;

use super::diagnostics::reported;
use super::manager::SessionManager;
use crate::convert::args::{self, Options};
use crate::convert::errors::{wrong_argument, OrThrow};
use crate::convert::paths::{on_paths, resolved};
use crate::engine::{JsEnv, JsVal};
use crate::lists::list::catalog_and_cwd;
use pi_session_core::{belongings, forget_file, move_session, paths, set_parent_session, Move};

#[napi]
impl SessionManager {
    #[napi(catch_unwind, configurable = true)]
    pub fn files_of<'env>(env: &'env Env, path: JsVal<'env>) -> Result<JsVal<'env>> {
        let js = JsEnv::new(env);
        let path = resolved(js, path, "path")?;
        reported(js, belongings(&path))
    }

    #[napi(catch_unwind, configurable = true)]
    pub fn forget(env: &Env, path: JsVal<'_>) -> Result<bool> {
        let js = JsEnv::new(env);
        let path = resolved(js, path, "path")?;
        let (location, _) = catalog_and_cwd(js)?;
        Ok(location.is_none_or(|location| forget_file(&location, &path)))
    }

    #[napi(catch_unwind, configurable = true, js_name = "move")]
    pub fn move_file<'env>(env: &'env Env, path: JsVal<'env>, options: JsVal<'env>) -> Result<JsVal<'env>> {
        let js = JsEnv::new(env);
        let path = resolved(js, path, "path")?;
        let options = Options::of(js, options, "SessionManager.move", &[c"from", c"to", c"sessionDir"])?;
        let absolute = |path: String| on_paths(js, |process| paths::resolve(&path, process));
        let (Some(from), Some(to)) = (options.path(c"from")?, options.path(c"to")?) else {
            return Err(wrong_argument(js, "SessionManager.move needs the options from and to"));
        };
        let (from, to) = (absolute(from)?, absolute(to)?);
        let session_dir = options.path(c"sessionDir")?.map(absolute).transpose()?;
        let what = Move { from: &from, to: &to, session_dir: session_dir.as_deref() };
        js.string(move_session(&path, what).or_throw(js)?.as_bytes())
    }

    #[napi(catch_unwind, configurable = true)]
    pub fn set_parent_session(env: &Env, path: JsVal<'_>, parent_session: JsVal<'_>) -> Result<bool> {
        let js = JsEnv::new(env);
        let path = resolved(js, path, "path")?;
        let parent = args::path(js, parent_session, "parentSession")?;
        set_parent_session(&path, &parent).or_throw(js)
    }
}
