//! `SessionManager.merge`: a session file and what a store has of it.

use napi::bindgen_prelude::*;
use napi_derive::napi;

use super::manager::SessionManager;
use crate::core::rewrite::merge::{create, merge, Since, StoredLines};
use crate::js::api::diagnostics::reported;
use crate::js::convert::errors::thrown;
use crate::js::convert::paths::resolved;
use crate::js::engine::{JsEnv, JsVal};

/// Lines of a session as a store has them.
#[napi(object, object_to_js = false)]
pub struct MergeInput {
    /// The id of the session.
    pub session: String,
    /// Lines of entries in the store's order, each ended by a newline.
    pub lines: Uint8Array,
    /// For each line a number that stands for the host that stored it.
    pub hosts: Uint32Array,
    /// Makes the file, with this header line, where there is none.
    pub header: Option<Uint8Array>,
    /// Says that the lines are only those behind what the file is known to hold in the store's order.
    pub since: Option<MergeSince>,
}

/// How far a file is known to hold stored lines in their order.
#[napi(object, object_to_js = false)]
pub struct MergeSince {
    /// So many bytes, whole lines.
    pub bytes: f64,
    /// The last of these bytes. If others stand there, all lines are asked for.
    pub tail: Uint8Array,
}

#[napi]
impl SessionManager {
    /// Adds lines that a store has of a session to its file, in the store's order; entries that are not stored yet follow.
    /// Two equal lines are one entry. Where entries of different hosts have one id, the later one gets another, and what its
    /// host says of it follows. The file is replaced as a whole; open managers keep their leaf.
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
