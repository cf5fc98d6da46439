//! The statics of `SessionManager`: making, opening, finding and listing sessions.

use std::ffi::CStr;
use std::path::Path;

use napi::bindgen_prelude::*;
use napi_derive::napi;

use super::manager::SessionManager;
use crate::convert::args::{self, Options};
use crate::convert::errors::{thrown, OrThrow};
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
use pi_session_core::addon::header_of;
use pi_session_core::paths::Process as _;
use pi_session_core::time::timestamp;
use pi_session_core::wtf8::{into_string_lossy, to_string_lossy};
use pi_session_core::{
    find_session, make_session_dir, paths, Durability, Error as CoreError, ForkSource, ListScope, NewHeader,
    Persistence, SessionFileOptions,
};

/// How a session's file is written.
const FILE_OPTIONS: &[&CStr] = &[c"durability", c"lock", c"ids"];

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
    /// A new session. Its file appears with the first user or assistant message.
    ///
    /// @throws If the id in the options cannot be part of a file name, or the directory cannot be made.
    /// @example
    /// ```ts
    /// const session = SessionManager.create(cwd, dir, { id: "my-session" });
    /// console.log(session.getSessionId(), session.getEntryCount()); // → my-session 0
    /// ```
    #[napi(
        catch_unwind,
        configurable = true,
        ts_args_type = "cwd: string, sessionDir?: string, options?: NewSessionOptions & SessionFileOptions",
        ts_return_type = "SessionManager"
    )]
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

    /// The session in a file; a new one, to be written there, if the file is missing or empty. The working directory
    /// is the header's unless one is given, the session directory the file's. With `readonly: true` nothing is written, ever.
    ///
    /// @throws If the file is not a session: `Session file is not a valid pi session: <path>`; the file stays as it is. With `readonly`,
    /// if there is no file, or an empty one. `TypeError` for an option that is not known.
    /// @example
    /// ```ts
    /// const session = SessionManager.open(file, { durability: "fsync" });
    /// console.log(session.getEntryCount()); // → 2
    /// const shown = SessionManager.open(file, { readonly: true });
    /// console.log(shown.getEntryCount(), shown.isPersisted()); // → 2 false
    /// ```
    #[napi(
        catch_unwind,
        configurable = true,
        ts_type = "(path: string, options: OpenOptions): SessionManager\n/**\n * The session in a file, with pi's arguments.\n *\n * @throws As with options.\n * @example\n * ```ts\n * console.log(SessionManager.open(file, dir).getSessionDir() === dir); // → true\n * ```\n */\nstatic open(path: string, sessionDir?: string, cwdOverride?: string): SessionManager"
    )]
    pub fn open<'env>(
        env: &'env Env,
        path: JsVal<'env>,
        second: JsVal<'env>,
        cwd_override: JsVal<'env>,
    ) -> Result<JsVal<'env>> {
        let js = JsEnv::new(env);
        let file = resolved(js, path, "path")?;
        // Options, or pi's positions.
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
        let mut from_header = None;
        if js.is_undefined(cwd)? {
            match header_of(Path::new(&file)) {
                Ok(header) => from_header = header.and_then(|header| header.cwd),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(thrown(js, &CoreError::io("read", &file, error))),
            }
        }
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

    /// The session of a working directory that was changed last, or a new one.
    ///
    /// @throws `TypeError` for a path or an option of a wrong type; and if the directory cannot be made, or the session cannot be
    /// opened: it cannot be read, or another process holds its lock.
    /// @example
    /// ```ts
    /// console.log(SessionManager.continueRecent(cwd, dir, { lock: "none" }).getSessionFile() === file); // → true
    /// ```
    #[napi(
        catch_unwind,
        configurable = true,
        ts_type = "(cwd: string, sessionDir: string | undefined, options?: SessionFileOptions): SessionManager\n/**\n * The same, written to as the environment says, or as pi does.\n *\n * @throws As with options.\n * @example\n * ```ts\n * const session = SessionManager.continueRecent(cwd, dir);\n * console.log(session.getEntryCount()); // → 2\n * ```\n */\nstatic continueRecent(cwd: string, sessionDir?: string): SessionManager"
    )]
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
            // As in the reference, it asks for the newest of all.
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

    /// A session that is never written, optionally with entries held elsewhere: the objects are adopted, not copied.
    ///
    /// @throws If the id in the options cannot be part of a file name.
    /// @example
    /// ```ts
    /// const copy = SessionManager.inMemory(cwd, undefined, [manager.getHeader()!, ...manager.getBranch()]);
    /// console.log(copy.getEntry(id) === manager.getEntry(id)); // → true
    /// ```
    #[napi(
        catch_unwind,
        configurable = true,
        ts_args_type = "cwd?: string, options?: NewSessionOptions & SessionFileOptions, entries?: FileEntry[]",
        ts_return_type = "SessionManager"
    )]
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

    /// A new session in another working directory with the whole history of a session file.
    ///
    /// @throws If the source is empty, is not a session, or has no header. If the id in the options cannot be part of a file name,
    /// or the directory or the file cannot be made. If memory runs out after the file was made, it stays, whole.
    /// @example
    /// ```ts
    /// const fork = SessionManager.forkFrom(file, "/another/project", dir);
    /// console.log(fork.getEntryCount(), fork.getHeader()?.parentSession === file); // → 2 true
    /// ```
    #[napi(
        catch_unwind,
        configurable = true,
        ts_args_type = "sourcePath: string, targetCwd: string, sessionDir?: string, options?: NewSessionOptions & SessionFileOptions",
        ts_return_type = "SessionManager"
    )]
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

    /// The path of the session with exactly this id, the first by file name if there are several; undefined if there is none.
    /// Reads only headers.
    ///
    /// @throws `TypeError` for a directory that is not a string or not a valid path.
    /// @example
    /// ```ts
    /// console.log(SessionManager.findById(cwd, manager.getSessionId(), dir) === file); // → true
    /// ```
    #[napi(
        catch_unwind,
        configurable = true,
        ts_args_type = "cwd: string, id: string, sessionDir?: string",
        ts_return_type = "string | undefined"
    )]
    pub fn find_by_id<'env>(
        env: &'env Env,
        cwd: JsVal<'env>,
        id: JsVal<'env>,
        session_dir: JsVal<'env>,
    ) -> Result<JsVal<'env>> {
        let js = JsEnv::new(env);
        let scope = search_scope(js, cwd, session_dir, Durability::Os)?;
        let found = match js.text(id)? {
            // As in pi, what cannot be read has no sessions.
            Some(id) => on_paths(js, |process| Ok(find_session::by_id(&scope, &id, process).ok().flatten()))?,
            None => None,
        };
        js.optional_string(found.as_deref().map(str::as_bytes))
    }

    /// The sessions of a working directory, the newest activity first.
    ///
    /// @throws The signal's reason, if it is or becomes aborted; the system's error (`EMFILE`, `ENFILE`) if no file can be opened.
    /// @example
    /// ```ts
    /// const sessions = await SessionManager.list(cwd, dir, (loaded, total) => console.log(`${loaded} of ${total}`)); // → 1 of 1
    /// console.log(sessions[0]?.firstMessage); // → Hello
    /// ```
    #[napi(
        catch_unwind,
        configurable = true,
        ts_args_type = "cwd: string, sessionDir?: string, onProgress?: SessionListProgress, signal?: AbortSignal",
        ts_return_type = "Promise<SessionInfo[]>"
    )]
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

    /// The sessions of every working directory, or those in one directory, the newest activity first.
    ///
    /// @throws The signal's reason, if it is or becomes aborted; the system's error (`EMFILE`, `ENFILE`) if no file can be opened.
    /// @example
    /// ```ts
    /// const sessions = await SessionManager.listAll(dir);
    /// console.log(sessions.map((session) => session.messageCount)); // → [ 2 ]
    /// ```
    #[napi(
        catch_unwind,
        configurable = true,
        ts_args_type = "onProgress?: SessionListProgress | undefined, signal?: AbortSignal | undefined): Promise<SessionInfo[]>\n  /**\n   * The sessions in one directory, the newest activity first.\n   *\n   * @throws The signal's reason, if it is or becomes aborted; the system's error (`EMFILE`, `ENFILE`) if no file can be opened.\n   * @example\n   * ```ts\n   * const [session] = await SessionManager.listAll(dir, (loaded, total) => console.log(loaded, total)); // → 1 1\n   * console.log(session?.messageCount); // → 2\n   * ```\n   */\n  static listAll(sessionDir?: string | undefined, onProgress?: SessionListProgress | undefined, signal?: AbortSignal | undefined",
        ts_return_type = "Promise<SessionInfo[]>"
    )]
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

    /// Reads `allMessagesText` of listed sessions on other threads, so that nobody who asks for it waits for a file. Texts that were
    /// read already, and objects that are not from a list, are passed over. The texts stay in memory as long as their
    /// sessions do.
    ///
    /// @throws `TypeError` if `sessions` is not an array, and the signal's reason, if it is or becomes aborted: the promise is rejected
    /// with it. What was read by then stays.
    /// @example
    /// ```ts
    /// const sessions = await SessionManager.listAll(dir);
    /// await SessionManager.readTexts(sessions);
    /// console.log(sessions[0]?.allMessagesText); // → Hello Hi
    /// ```
    #[napi(
        catch_unwind,
        configurable = true,
        ts_args_type = "sessions: readonly SessionInfo[], signal?: AbortSignal",
        ts_return_type = "Promise<void>"
    )]
    pub fn read_texts<'env>(env: &'env Env, sessions: JsVal<'env>, signal: JsVal<'env>) -> Result<JsVal<'env>> {
        lazy_text::promise(JsEnv::new(env), sessions, signal)
    }

    /// Finds the messages and entries that hold every word of a query, in all sessions, those of one working directory or those in
    /// one directory. A word may be part of a longer one, in upper or lower case; quotes and operators mean themselves. Sessions
    /// are read newest first, until there are enough hits; in a session the exact phrase and whole words come first, then what is
    /// newest.
    ///
    /// @throws `TypeError` for a query or an option of a wrong type, and the signal's reason, if it is or becomes aborted, and
    /// the system's error (`EMFILE`, `ENFILE`) if no file can be opened: the promise is rejected with it.
    /// @example
    /// ```ts
    /// const hits = await SessionManager.search("Hello", { sessionDir: dir });
    /// console.log(hits.map((hit) => hit.path === file)); // → [ true ]
    /// ```
    #[napi(
        catch_unwind,
        configurable = true,
        ts_args_type = "query: string, options?: SearchOptions",
        ts_return_type = "Promise<SearchHit[]>"
    )]
    pub fn search<'env>(env: &'env Env, query: JsVal<'env>, options: JsVal<'env>) -> Result<JsVal<'env>> {
        search::promise(JsEnv::new(env), query, options)
    }

    /// Adds up what the model calls of all sessions used, or only those of one working directory, of one directory or of one
    /// file. A call that is in several sessions, because one was forked from another, counts once, for the oldest of them. Sessions of
    /// subagents, which are in folders below the session's own (`<session>/abc/run-0/session.jsonl`), count for the session that
    /// they are below. What was read is remembered in the catalog; of a file that grew, what is new is read.
    ///
    /// Sums are the same with and without the catalog: amounts are added call by call, the oldest session first. What cannot be added is left out, and
    /// counted in `leftOut`.
    ///
    /// @throws `TypeError` for an option of a wrong type, the signal's reason, if it is or becomes aborted, the system's error
    /// if no file can be opened, and for `path` if the file cannot be read or is not a session: the promise is rejected with it.
    /// @example
    /// ```ts
    /// const { total, by } = await SessionManager.usage({ sessionDir: dir, by: ["day", "model"] });
    /// console.log(total.calls, by.model.map((row) => row.key)); // → 1 [ 'acme/large' ]
    /// ```
    #[napi(
        catch_unwind,
        configurable = true,
        ts_type = "<Grouping extends UsageGrouping = 'model'>(options?: UsageOptions<Grouping>): Promise<UsageReport<Grouping>>"
    )]
    pub fn usage<'env>(env: &'env Env, options: JsVal<'env>) -> Result<JsVal<'env>> {
        usage::promise(JsEnv::new(env), options)
    }
}

/// Refuses a session id that cannot be part of a file name.
///
/// @throws If the id is empty, has other characters than letters, digits, `-`, `_` and `.`, or begins or ends with a mark.
/// @example
/// ```ts
/// assertValidSessionId("2025-06-01.draft");
/// ```
#[napi(catch_unwind, ts_args_type = "id: string")]
pub fn assert_valid_session_id(env: &Env, id: JsVal<'_>) -> Result<()> {
    let js = JsEnv::new(env);
    let id = match js.text(id)? {
        Some(id) => id,
        // The reference's pattern is tested on whatever it is given, as text.
        None => args::template_text(js, id)?.into_bytes(),
    };
    pi_session_core::ids::check_session_id(&id).or_throw(js)
}
