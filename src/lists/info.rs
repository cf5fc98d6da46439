//! The `SessionInfo` object of a listed session.

use napi::{Result, ValueType};
use serde::Serialize;

use crate::convert::values::parse;
use crate::engine::{or_undefined, to_js, JsEnv, JsVal, Wtf8};
use crate::factory::{self, FactoryFn};
use pi_session_core::addon::listed_text::ListedState;
use pi_session_core::wtf8::to_string_lossy;
use pi_session_core::{ListedFile, ParentSession};

/// How many bytes are shown of a first message that is too long for a string.
const SHOWN_OF_ENDLESS: usize = 1 << 20;

/// The object of a session, and when the session was modified. None if the engine cannot create it: a name is too long
/// for a string, or the header's timestamp throws as a date. pi omits such a session too.
pub fn info_object<'env>(js: JsEnv<'env>, session: &ListedFile) -> Result<Option<(JsVal<'env>, f64)>> {
    let first = session.listed.summary.first_message.as_deref().unwrap_or(b"(no messages)");
    let made = info_with(js, session, first).or_else(|error| match first.get(..SHOWN_OF_ENDLESS) {
        Some(shown) => {
            js.take_exception()?;
            info_with(js, session, to_string_lossy(shown).trim_end_matches('\u{fffd}').as_bytes())
        }
        None => Err(error),
    });
    match made {
        Ok(info) => Ok(Some(info)),
        Err(_) => js.take_exception().map(|_| None),
    }
}

/// The members of the object. The factory makes dates of both times, and adds `allMessagesText`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Listed<'a> {
    path: &'a str,
    id: Wtf8<'a>,
    cwd: Wtf8<'a>,
    #[serde(serialize_with = "or_undefined")]
    name: Option<Wtf8<'a>>,
    #[serde(serialize_with = "or_undefined")]
    parent_session_path: Option<Wtf8<'a>>,
    #[serde(serialize_with = "or_undefined")]
    created: Option<&'a str>,
    modified: f64,
    message_count: u64,
    first_message: Wtf8<'a>,
}

fn info_with<'env>(js: JsEnv<'env>, session: &ListedFile, first: &[u8]) -> Result<(JsVal<'env>, f64)> {
    let ListedFile { path, file, listed, .. } = session;
    let summary = &listed.summary;
    let created_json = summary.created_json.as_deref();
    let modified = listed.modified_ms(|| {
        let created = created_json.map_or_else(|| js.undefined(), |json| parse(js, json))?;
        match js.kind(created)? {
            ValueType::String => {
                js.number_value(factory::call(js, FactoryFn::NewestTime, &[js.array_of(&[created])?])?)
            }
            _ => Ok(None),
        }
    })?;
    let unquoted = created_json.and_then(|json| json.strip_prefix('"')?.strip_suffix('"'));
    let created = unquoted.filter(|text| !text.contains('\\'));
    let parent = match &summary.parent {
        Some(ParentSession::Path(path)) => Some(Wtf8(path)),
        _ => None,
    };
    let info = to_js(
        js,
        &Listed {
            path,
            id: Wtf8(&summary.id),
            cwd: Wtf8(&summary.cwd),
            name: summary.name.as_deref().map(Wtf8),
            parent_session_path: parent,
            created,
            modified,
            message_count: summary.message_count,
            first_message: Wtf8(first),
        },
    )?;
    // A parent and a creation time that are not strings, which is rare, or contain escapes.
    if let Some(ParentSession::Other(json)) = &summary.parent {
        js.set(info, c"parentSessionPath", parse(js, json)?)?;
    }
    if let Some(json) = created_json.filter(|_| created.is_none()) {
        js.set(info, c"created", parse(js, json)?)?;
    }
    let (file, source) = (js.string(file.as_bytes())?, js.string(ListedState::source(listed).as_bytes())?);
    Ok((factory::call(js, FactoryFn::Info, &[info, file, source])?, modified))
}
