//! The methods of `SessionManager` that are about its file: taking in changes, letting go, checking, repairing.

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
    /// Takes in what others wrote to the file since; the leaf stays. A file that was deleted or renamed away is written
    /// again, whole. One that was replaced is adopted if it holds the same session; otherwise that is an error.
    ///
    /// A read-only manager writes nothing: a file that is gone is an error, and the leaf moves to the last entry. If the file is of
    /// version 1 or 2, it is read again, and its entries are new objects.
    ///
    /// @throws If another session, or none, is in the file's place, or the file cannot be read or written.
    /// @example
    /// ```ts
    /// SessionManager.open(file).appendCustomEntry("from elsewhere");
    /// manager.reload();
    /// console.log(manager.getEntryCount()); // → 3
    /// ```
    #[napi(catch_unwind)]
    pub fn reload(&self, env: &Env) -> Result<()> {
        let js = JsEnv::new(env);
        if self.state.borrow().session.is_migrated_copy() {
            return open::reopen(&self.state, js);
        }
        with_file(&self.state, js, Session::reload)
    }

    /// Checks the file as `reload` does, then waits until the disk has it. If the file changed in place and kept its length,
    /// only its header and its last lines are compared.
    ///
    /// @throws As `reload` does, and if the disk reports an error.
    /// @example
    /// ```ts
    /// manager.appendCustomEntry("checkpoint");
    /// manager.flush();
    /// ```
    #[napi(catch_unwind)]
    pub fn flush(&self, env: &Env) -> Result<()> {
        with_file(&self.state, JsEnv::new(env), Session::flush)
    }

    /// Closes the file and releases the lock on it. A manager that has appended checks the file once more, as `flush` does,
    /// but does not wait for the disk. The manager can still be used: it opens the file again when it needs it, and an
    /// exclusive one takes the lock again with its next append.
    ///
    /// @throws If another session, or none, is in the file's place, or it cannot be read or written. The lock is released then,
    /// but the file stays open, because it may be the only copy of what was appended.
    /// @example
    /// ```ts
    /// const mine = SessionManager.open(file, { lock: "exclusive" });
    /// mine.appendCustomEntry("mine");
    /// mine.close();
    /// console.log(SessionManager.isLocked(file)); // → false
    /// ```
    #[napi(catch_unwind)]
    pub fn close(&self, env: &Env) -> Result<()> {
        let done = with_file(&self.state, JsEnv::new(env), Session::check_and_close);
        if done.is_err() {
            self.state.borrow_mut().session.release_lock();
        }
        done
    }

    /// What is wrong with the session, and what happened to its file since it was opened.
    ///
    /// @example
    /// ```ts
    /// const { damaged, foreignChanges } = manager.getDiagnostics();
    /// console.log(damaged.length, foreignChanges.length); // → 0 0
    /// ```
    #[napi(catch_unwind, ts_return_type = "SessionDiagnostics")]
    pub fn get_diagnostics<'env>(&self, env: &'env Env) -> Result<JsVal<'env>> {
        let js = JsEnv::new(env);
        let diagnostics = self.state.borrow().session.diagnostics();
        reported(js, diagnostics)
    }

    /// Checks a session file, changing nothing.
    ///
    /// @throws If the file cannot be read. What is wrong inside of it is in the report.
    /// @example
    /// ```ts
    /// const { ok, entries, bytes } = SessionManager.verify(file);
    /// console.log(ok, entries, bytes > 0); // → true 2 true
    /// ```
    #[napi(catch_unwind, configurable = true, ts_args_type = "path: string", ts_return_type = "VerifyReport")]
    pub fn verify<'env>(env: &'env Env, path: JsVal<'env>) -> Result<JsVal<'env>> {
        let js = JsEnv::new(env);
        let path = resolved(js, path, "path")?;
        reported(js, pi_session_core::verify(&path))
    }

    /// Repairs a damaged session file. Whole entries inside damaged lines are kept, and the rest of these lines is removed. Children of a
    /// removed entry get its parent if that can be read, else the entry before it. The original stays beside the file. A good file is left as it is.
    ///
    /// @throws If the file is not a session of pi (`otherFormat` of `verify`), or cannot be read or written, or another process has the session's lock, or a
    /// manager for itself (`lock: "exclusive"`).
    /// @example
    /// ```ts
    /// const { appendFileSync } = await import("node:fs");
    /// appendFileSync(file, "half a li");
    /// const { backup, repairs, after } = SessionManager.repair(file);
    /// console.log(repairs[0]?.line, repairs[0]?.what); // → 4 removed: not valid JSON
    /// console.log(after.ok, SessionManager.verify(backup!).ok); // → true false
    /// ```
    #[napi(catch_unwind, configurable = true, ts_args_type = "path: string", ts_return_type = "RepairReport")]
    pub fn repair<'env>(env: &'env Env, path: JsVal<'env>) -> Result<JsVal<'env>> {
        let js = JsEnv::new(env);
        let path = resolved(js, path, "path")?;
        let now = now(js)?;
        reported(js, pi_session_core::repair(&path, now))
    }

    /// Whether a manager, a repair, a merge or a redaction has the session lock of a session file, in this process or another.
    ///
    /// @throws If the lock cannot be checked.
    /// @example
    /// ```ts
    /// const mine = SessionManager.open(file, { lock: "exclusive" });
    /// mine.appendCustomEntry("mine");
    /// console.log(SessionManager.isLocked(file)); // → true
    /// mine.close();
    /// ```
    #[napi(catch_unwind, configurable = true, ts_args_type = "path: string")]
    pub fn is_locked(env: &Env, path: JsVal<'_>) -> Result<bool> {
        let js = JsEnv::new(env);
        let path = resolved(js, path, "path")?;
        let held = lock_holder(&path).or_throw(js)?;
        Ok(held.is_some())
    }
}
