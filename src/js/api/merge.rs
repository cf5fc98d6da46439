//! `SessionManager.merge`: a session file and what a store has of it.

use napi::bindgen_prelude::*;
use napi_derive::napi;

use super::manager::SessionManager;
use crate::js::api::diagnostics::reported;
use crate::js::convert::args::{self, Options};
use crate::js::convert::errors::wrong_argument;
use crate::js::convert::paths::resolved;
use crate::js::engine::{CallersArray, JsEnv, JsVal};
use pi_session_core::base::wtf8::to_string_lossy;
use pi_session_core::rewrite::merge::{create, merge, Since, StoredLines};

/// What the caller passes, its numbers not read yet.
struct MergeInput<'env> {
    session: String,
    lines: CallersArray<'env, u8>,
    hosts: CallersArray<'env, u32>,
    header: Option<CallersArray<'env, u8>>,
    since: Option<MergeSince<'env>>,
}

struct MergeSince<'env> {
    bytes: u64,
    tail: CallersArray<'env, u8>,
}

impl<'env> MergeInput<'env> {
    /// Reads each property once. A getter may transfer or resize the memory of an array that was read before it, so the
    /// numbers are not read here.
    fn read(js: JsEnv<'env>, stored: JsVal<'env>) -> Result<Self> {
        let stored = args::object(js, stored, "stored")?;
        Options::of(js, stored, "SessionManager.merge", &[c"session", c"lines", c"hosts", c"header", c"since"])?;
        Ok(Self {
            session: to_string_lossy(&args::text(js, js.get(stored, c"session")?, "session")?).into_owned(),
            lines: args::numbers(js, js.get(stored, c"lines")?, "lines")?,
            hosts: args::numbers(js, js.get(stored, c"hosts")?, "hosts")?,
            header: match js.get(stored, c"header")? {
                header if js.is_nullish(header)? => None,
                header => Some(args::numbers(js, header, "header")?),
            },
            since: match js.get(stored, c"since")? {
                since if js.is_nullish(since)? => None,
                since => Some(MergeSince::read(js, since)?),
            },
        })
    }
}

impl<'env> MergeSince<'env> {
    fn read(js: JsEnv<'env>, since: JsVal<'env>) -> Result<Self> {
        let since = args::object(js, since, "since")?;
        Options::of(js, since, "SessionManager.merge's since", &[c"bytes", c"tail"])?;
        let bytes = js.number_value(js.get(since, c"bytes")?)?.filter(|bytes| *bytes >= 0.0 && bytes.fract() == 0.0);
        let Some(bytes) = bytes else {
            return Err(wrong_argument(js, "since.bytes must be a whole number from 0 on"));
        };
        Ok(Self { bytes: bytes as u64, tail: args::numbers(js, js.get(since, c"tail")?, "since.tail")? })
    }
}

#[napi]
impl SessionManager {
    /// Adds lines that a store has of a session to its file, in the store's order; entries that are not stored yet follow.
    /// Two equal lines are one entry. If entries of different hosts have one id, the later one gets a new id, and references of
    /// its host follow; an entry that is not stored yet must be stored before that (`needsPush`). The file is replaced as a whole.
    /// Open managers keep their leaf.
    ///
    /// @throws `TypeError` for an argument of a wrong type, and for lines that are not entries: the message names the first of them.
    /// And if the file cannot be read or written, is another session's or of an old version, or is locked by another manager. It is
    /// then as it was.
    /// @example
    /// ```ts
    /// const lines = Buffer.from(`{"type":"custom","id":"c0ffee00","parentId":null,"customType":"from elsewhere"}
    /// `);
    /// const merged = SessionManager.merge(file, { session: manager.getSessionId(), lines, hosts: new Uint32Array(1) });
    /// console.log(merged.added, merged.unstored); // → 1 2
    /// ```
    #[napi(
        catch_unwind,
        configurable = true,
        ts_args_type = "path: string, stored: MergeInput",
        ts_return_type = "MergeReport"
    )]
    pub fn merge<'env>(env: &'env Env, path: JsVal<'env>, stored: JsVal<'env>) -> Result<JsVal<'env>> {
        let js = JsEnv::new(env);
        let path = resolved(js, path, "path")?;
        let MergeInput { session, lines, hosts, header, since } = MergeInput::read(js, stored)?;
        let tail = since.as_ref().map(|since| since.tail);
        let since_bytes = since.map_or(0, |since| since.bytes);
        let done = js.with_numbers([Some(lines), header, tail], hosts, |[lines, header, tail], hosts| {
            let lines = StoredLines::new(lines.unwrap_or_default(), hosts)?;
            match header {
                Some(header) => create(&path, &session, header, lines),
                None => merge(&path, &session, lines, tail.map(|tail| Since { bytes: since_bytes, tail })),
            }
        })?;
        reported(js, done)
    }
}
