//! `SessionManager.merge`: merges a session file with a store's lines of the session.

use napi::bindgen_prelude::*;
use napi_derive::napi;

use super::manager::SessionManager;
use crate::api::diagnostics::reported;
use crate::convert::args::{self, Options};
use crate::convert::errors::wrong_argument;
use crate::convert::paths::resolved;
use crate::engine::{JsEnv, JsVal};
use pi_session_core::addon::merge::{create, merge, Since};
use pi_session_core::wtf8::to_string_lossy;

/// The part of the file that the caller knows to be stored: its length in bytes, and its last bytes.
fn since_of(js: JsEnv<'_>, since: JsVal<'_>) -> Result<(u64, Vec<u8>)> {
    let since = args::object(js, since, "since")?;
    Options::of(js, since, "SessionManager.merge's since", &[c"bytes", c"tail"])?;
    let bytes = js.number_value(js.get(since, c"bytes")?)?.filter(|bytes| *bytes >= 0.0 && bytes.fract() == 0.0);
    let Some(bytes) = bytes else {
        return Err(wrong_argument(js, "since.bytes must be a whole number from 0 on"));
    };
    Ok((bytes as u64, args::bytes(js, js.get(since, c"tail")?, "since.tail")?))
}

#[napi]
impl SessionManager {
    #[napi(catch_unwind, configurable = true)]
    pub fn merge<'env>(env: &'env Env, path: JsVal<'env>, stored: JsVal<'env>) -> Result<JsVal<'env>> {
        let js = JsEnv::new(env);
        let path = resolved(js, path, "path")?;
        let stored = args::object(js, stored, "stored")?;
        let known = &[c"session", c"lines", c"header", c"since"];
        let stored = Options::of(js, stored, "SessionManager.merge", known)?;
        // Each property is read once, and its bytes are copied at once, because the getter of the next one may release
        // their memory.
        let session = to_string_lossy(&args::text(js, stored.get(c"session")?, "session")?).into_owned();
        let lines = args::bytes(js, stored.get(c"lines")?, "lines")?;
        let header = stored.optional(c"header")?.map(|header| args::bytes(js, header, "header")).transpose()?;
        let since = stored.optional(c"since")?.map(|since| since_of(js, since)).transpose()?;
        let since = since.as_ref().map(|(bytes, tail)| Since { bytes: *bytes, tail });
        let done = match header {
            Some(header) => create(&path, &session, &header, &lines),
            None => merge(&path, &session, &lines, since),
        };
        reported(js, done)
    }
}
