//! `SessionManager.redact`: removes a text, or the content of entries, from a session file, its backups and the
//! catalog.

use std::collections::HashSet;

use napi::bindgen_prelude::*;
use napi_derive::napi;
use serde::Serialize;

use super::manager::SessionManager;
use crate::api::diagnostics::reported;
use crate::convert::args::{self, Options};
use crate::convert::errors::{wrong_argument, OrThrow};
use crate::convert::paths::resolved;
use crate::engine::{JsEnv, JsVal};
use crate::lists::list::catalog_and_cwd;
use pi_session_core::wtf8::to_string_lossy;
use pi_session_core::{forget_file, LineRedaction, RedactReport, RedactedLine, Redaction};

/// The default replacement of a text.
const REPLACEMENT: &[u8] = b"[redacted]";

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    #[serde(flatten)]
    redacted: RedactReport,
    is_catalog_clean: bool,
}

/// Reads the request, each property once.
fn redaction_of<'env>(js: JsEnv<'env>, what: JsVal<'env>) -> Result<(Redaction, bool)> {
    let what = args::object(js, what, "what")?;
    let options =
        Options::of(js, what, "SessionManager.redact", &[c"text", c"entries", c"lines", c"replacement", c"dryRun"])?;
    let text = optional_text(js, options.get(c"text")?, "text")?;
    let entries = options.optional(c"entries")?.map(|entries| ids_of(js, entries)).transpose()?;
    let lines = options.optional(c"lines")?.map(|lines| lines_of(js, lines)).transpose()?;
    let replacement = optional_text(js, options.get(c"replacement")?, "replacement")?;
    let is_dry_run = options.boolean(c"dryRun")?;
    let replacement = replacement.unwrap_or_else(|| REPLACEMENT.to_vec());
    let redaction = match (text, entries, lines) {
        (Some(text), entries, None) => Redaction::text(&text, entries, &replacement),
        (None, Some(entries), None) => Redaction::entries(entries, &replacement),
        (None, None, Some(lines)) => Redaction::lines(lines, &replacement),
        _ => return Err(wrong_argument(js, "redact needs text, entries, both, or lines alone")),
    };
    Ok((redaction.or_throw(js)?, is_dry_run))
}

fn optional_text(js: JsEnv<'_>, value: JsVal<'_>, name: &str) -> Result<Option<Vec<u8>>> {
    if js.is_nullish(value)? {
        return Ok(None);
    }
    args::text(js, value, name).map(Some)
}

fn ids_of<'env>(js: JsEnv<'env>, entries: JsVal<'env>) -> Result<HashSet<Vec<u8>>> {
    let list = args::list(js, entries, "entries")?;
    (0..js.len(list)?).map(|at| args::text(js, js.at(list, at)?, "each of entries")).collect()
}

fn lines_of<'env>(js: JsEnv<'env>, lines: JsVal<'env>) -> Result<Vec<LineRedaction>> {
    let list = args::list(js, lines, "lines")?;
    let line = |at| {
        let one = args::object(js, js.at(list, at)?, "each of lines")?;
        let hash = args::text(js, js.get(one, c"hash")?, "hash")?;
        let line = js.get(one, c"line")?;
        let line = if js.is_nullish(line)? { None } else { Some(args::text_or_bytes(js, line, "line")?) };
        let session = optional_text(js, js.get(one, c"session")?, "session")?;
        let owned = |text: Vec<u8>| to_string_lossy(&text).into_owned();
        Ok(LineRedaction { hash: owned(hash), line, session: session.map(owned) })
    };
    (0..js.len(list)?).map(line).collect()
}

#[napi(catch_unwind)]
pub fn redact_lines<'env>(
    env: &'env Env,
    lines: JsVal<'env>,
    what: JsVal<'env>,
    path: JsVal<'env>,
) -> Result<JsVal<'env>> {
    let js = JsEnv::new(env);
    let path = if js.is_undefined(path)? { None } else { Some(resolved(js, path, "path")?) };
    let list = args::list(js, lines, "lines")?;
    let lines: Result<Vec<_>> =
        (0..js.len(list)?).map(|at| args::bytes(js, js.at(list, at)?, "each of lines")).collect();
    let (lines, (redaction, _)) = (lines?, redaction_of(js, what)?);
    let changed = pi_session_core::redact_lines(&lines, &redaction, path.as_deref()).or_throw(js)?;
    let list = reported(js, Ok(&changed))?;
    with_new_lines(js, list, &changed)
}

/// Adds the bytes of the new lines to a report's list.
fn with_new_lines<'env>(js: JsEnv<'env>, list: JsVal<'env>, lines: &[RedactedLine]) -> Result<JsVal<'env>> {
    for (at, line) in (0..).zip(lines) {
        js.scoped(|js, _| js.set(js.at(list, at)?, c"line", js.u8s(&line.line)?))?;
    }
    Ok(list)
}

#[napi]
impl SessionManager {
    #[napi(catch_unwind, configurable = true)]
    pub fn redact<'env>(env: &'env Env, path: JsVal<'env>, what: JsVal<'env>) -> Result<JsVal<'env>> {
        let js = JsEnv::new(env);
        let path = resolved(js, path, "path")?;
        let (redaction, is_dry_run) = redaction_of(js, what)?;
        let (location, _) = catalog_and_cwd(js)?;
        let report = pi_session_core::redact(&path, &redaction, is_dry_run).map(|redacted| {
            let is_catalog_clean = is_dry_run || location.is_none_or(|location| forget_file(&location, &path));
            Report { redacted, is_catalog_clean }
        });
        let report = report.or_throw(js)?;
        let object = reported(js, Ok(&report))?;
        with_new_lines(js, js.get(object, c"lines")?, &report.redacted.lines)?;
        Ok(object)
    }
}
