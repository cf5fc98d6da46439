//! The methods of `SessionManager` that are about all files of a session: what belongs to it, moving it, and what the catalog has of it.

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
    /// What belongs to a session file: the backups beside it, and the session files of its subagents, in folders of any depth below the
    /// folder that is named like the session. Symbolic links are not followed.
    ///
    /// @throws `TypeError` for a path that cannot be used. If a directory, or a file in that folder, cannot be read.
    /// @example
    /// ```ts
    /// const { backups, subagents, folder } = SessionManager.filesOf(file);
    /// console.log(backups.length, subagents.length, folder); // → 0 0 null
    /// ```
    #[napi(catch_unwind, configurable = true, ts_args_type = "path: string", ts_return_type = "SessionFiles")]
    pub fn files_of<'env>(env: &'env Env, path: JsVal<'env>) -> Result<JsVal<'env>> {
        let js = JsEnv::new(env);
        let path = resolved(js, path, "path")?;
        reported(js, belongings(&path))
    }

    /// Deletes what the catalog has of a session file, so that none of it is left in the catalog's files: for a session that was deleted.
    /// False if another process keeps some of it there, or the catalog cannot be written.
    ///
    /// @throws `TypeError` for a path that cannot be used.
    /// @example
    /// ```ts
    /// console.log(SessionManager.forget("/deleted/session.jsonl")); // → true
    /// ```
    #[napi(catch_unwind, configurable = true, ts_args_type = "path: string")]
    pub fn forget(env: &Env, path: JsVal<'_>) -> Result<bool> {
        let js = JsEnv::new(env);
        let path = resolved(js, path, "path")?;
        let (location, _) = catalog_and_cwd(js)?;
        Ok(location.is_none_or(|location| forget_file(&location, &path)))
    }

    /// Moves a session after its project's folder was renamed or moved: headers get the new working directory, and the file, its backups
    /// and the folder of its subagents go to another session directory. Gives the file's new path. All other bytes and the files' times
    /// stay. Sessions that were forked from this one still name the old path: `setParentSession` changes that.
    ///
    /// The header of the session itself is changed last. If a step fails, those before it are undone; after a process was killed, the same
    /// call completes the move of a session whose header still names the old directory.
    ///
    /// @throws `TypeError` for an argument that cannot be used. If the session's working directory is not in `from`, another process has
    /// the session's lock, a file cannot be read, written or renamed, or something has a name that is needed (`EEXIST`).
    /// @example
    /// ```ts
    /// const moved = SessionManager.move(file, { from: cwd, to: "/renamed" });
    /// console.log(moved === file, SessionManager.open(moved).getCwd()); // → true /renamed
    /// ```
    #[napi(
        catch_unwind,
        configurable = true,
        js_name = "move",
        ts_args_type = "path: string, options: MoveOptions",
        ts_return_type = "string"
    )]
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

    /// Changes the parent that the header of a session file names, as after that was moved. All other bytes and the file's time stay. False
    /// if the header names none, or this one.
    ///
    /// @throws `TypeError` for an argument that cannot be used. If the file cannot be read or written, is not a session, or another process
    /// has the session's lock.
    /// @example
    /// ```ts
    /// const fork = SessionManager.forkFrom(file, cwd, dir).getSessionFile()!;
    /// console.log(SessionManager.setParentSession(fork, "/moved.jsonl")); // → true
    /// console.log(SessionManager.open(fork).getHeader()?.parentSession); // → /moved.jsonl
    /// ```
    #[napi(catch_unwind, configurable = true, ts_args_type = "path: string, parentSession: string")]
    pub fn set_parent_session(env: &Env, path: JsVal<'_>, parent_session: JsVal<'_>) -> Result<bool> {
        let js = JsEnv::new(env);
        let path = resolved(js, path, "path")?;
        let parent = args::path(js, parent_session, "parentSession")?;
        set_parent_session(&path, &parent).or_throw(js)
    }
}
