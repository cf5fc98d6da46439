//! `SessionManager.merge`: a session file and what a store has of it.

use napi::bindgen_prelude::*;
use napi_derive::napi;

use super::manager::SessionManager;
use crate::js::api::diagnostics::reported;
use crate::js::convert::errors::thrown;
use crate::js::convert::paths::resolved;
use crate::js::engine::{JsEnv, JsVal};
use pi_session_core::rewrite::merge::{create, merge, Since, StoredLines};

/// Lines of a session as a store has them.
///
/// @example
/// ```ts
/// const nothingNew: MergeInput = { session: manager.getSessionId(), lines: Buffer.alloc(0), hosts: new Uint32Array() };
/// console.log(SessionManager.merge(file, nothingNew).added); // → 0
/// ```
#[napi(object, object_to_js = false)]
pub struct MergeInput {
    /// The id of the session.
    pub session: String,
    /// Lines of entries in the store's order, each ended by a newline.
    pub lines: Uint8Array,
    /// One number per line, equal for lines of the same host.
    pub hosts: Uint32Array,
    /// The header line of a new file. Given, the file must not exist yet, and is made.
    pub header: Option<Uint8Array>,
    /// Given, `lines` are only those that sort after this beginning of the file.
    pub since: Option<MergeSince>,
}

/// The beginning of a file that is known to hold stored lines in their order.
///
/// @example
/// ```ts
/// const since: MergeSince = { bytes: 4096, tail: Buffer.from([0x7d, 0x0a]) };
/// ```
#[napi(object, object_to_js = false)]
pub struct MergeSince {
    /// Its length in bytes; it ends with a newline.
    pub bytes: f64,
    /// Its last bytes, to recognise it by. If the file has others there, the report asks for all lines.
    pub tail: Uint8Array,
}

#[napi]
impl SessionManager {
    /// Adds lines that a store has of a session to its file, in the store's order; entries that are not stored yet follow.
    /// Two equal lines are one entry. If entries of different hosts have one id, the later one gets a new id, and references of
    /// its host follow; an entry that is not stored yet must be stored before that (`needsPush`). The file is replaced as a whole.
    /// Open managers keep their leaf.
    ///
    /// @throws If the file cannot be read or written, is another session's or of an old version, or is locked by another
    /// manager. It is then as it was.
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
    pub fn merge<'env>(env: &'env Env, path: JsVal<'env>, stored: MergeInput) -> Result<JsVal<'env>> {
        let js = JsEnv::new(env);
        let path = resolved(js, path, "path")?;
        let lines = StoredLines::new(&stored.lines, &stored.hosts).map_err(|error| thrown(js, &error))?;
        let since = stored.since.as_ref().map(|since| Since { bytes: since.bytes as u64, tail: &since.tail });
        let done = match &stored.header {
            Some(header) => create(&path, &stored.session, header, lines),
            None => merge(&path, &stored.session, lines, since),
        };
        reported(js, done)
    }
}
