//! The `SessionInfo` object of a listed session.

use napi::{Result, ValueType};

use crate::convert::values::parse;
use crate::engine::{JsEnv, JsVal};
use crate::factory::{self, FactoryFn};
use pi_session_core::base::wtf8::to_string_lossy;
use pi_session_core::format::header::ParentSession;
use pi_session_core::listing::list::ListedFile;
use pi_session_core::summary::listed_text::ListedState;

/// How many bytes are shown of a first message that is longer than a string may be.
const SHOWN_OF_ENDLESS: usize = 1 << 20;

/// The object of a session, and when it was modified. None if the engine cannot make it: a name is longer than a string may be, or the header's timestamp
/// throws as a date. pi leaves such a session out, too.
pub fn info_object<'env>(js: JsEnv<'env>, session: &ListedFile) -> Result<Option<(JsVal<'env>, f64)>> {
    let first = session.listed.summary.first_message.as_deref().unwrap_or(b"(no messages)");
    let first = js.string(first).or_else(|_| {
        js.take_exception()?;
        js.string(
            to_string_lossy(first.get(..SHOWN_OF_ENDLESS).unwrap_or(first)).trim_end_matches('\u{fffd}').as_bytes(),
        )
    });
    match first.and_then(|first| info_with(js, session, first)) {
        Ok(info) => Ok(Some(info)),
        Err(_) => js.take_exception().map(|_| None),
    }
}

fn info_with<'env>(js: JsEnv<'env>, session: &ListedFile, first: JsVal<'env>) -> Result<(JsVal<'env>, f64)> {
    let ListedFile { path, file, listed } = session;
    let summary = &listed.summary;
    let created = summary.created_json.as_ref().map_or_else(|| js.undefined(), |text| parse(js, text))?;
    let modified = listed.modified_ms(|| match js.kind(created)? {
        ValueType::String => js.number_value(factory::call(js, FactoryFn::NewestTime, &[js.array_of(&[created])?])?),
        _ => Ok(None),
    })?;
    let shown = js.string(path.as_bytes())?;
    let args = [
        shown,
        js.string(&summary.id)?,
        js.string(&summary.cwd)?,
        js.optional_string(summary.name.as_deref())?,
        match &summary.parent {
            Some(ParentSession::Path(path)) => js.string(path)?,
            Some(ParentSession::Other(json)) => parse(js, json)?,
            None => js.undefined()?,
        },
        created,
        js.number(modified)?,
        js.number(summary.message_count as f64)?,
        first,
        if path == file { shown } else { js.string(file.as_bytes())? },
        js.string(ListedState::of(listed).to_text().as_bytes())?,
    ];
    Ok((factory::call(js, FactoryFn::Info, &args)?, modified))
}
