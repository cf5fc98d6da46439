//! What a list gives of a session, as an object.

use napi::Result;

use crate::core::base::wtf8::to_string_lossy;
use crate::core::catalog::session_text::Source;
use crate::core::format::header::ParentSession;
use crate::core::listing::listing::Listed;
use crate::js::convert::values::parse;
use crate::js::engine::{JsEnv, JsVal};
use crate::js::factory::{self, FactoryFn};

/// How much is shown of a first message that is longer than the engine's strings may be.
const SHOWN_OF_ENDLESS: usize = 1 << 20;

/// A session that is listed.
pub struct Shown<'a> {
    /// As the list names it.
    pub path: &'a str,
    /// The same, wherever the process goes.
    pub file: &'a str,
    pub listed: &'a Listed,
    /// The catalog's path, for its text.
    pub catalog: Option<&'a str>,
}

/// The object of a session; None if the engine has no room for one, such as for a name longer than its strings may be, or
/// if what its header calls a time throws as one: pi leaves it out then, too. What it knows of its text is put into
/// `states`, at `at`.
pub fn info_object<'env>(
    js: JsEnv<'env>,
    session: &Shown<'_>,
    states: JsVal<'env>,
    at: usize,
) -> Result<Option<JsVal<'env>>> {
    let first = session.listed.info.first_message.as_deref().unwrap_or(b"(no messages)");
    let first = js.string(first).or_else(|_| {
        js.take_exception()?;
        js.string(
            to_string_lossy(first.get(..SHOWN_OF_ENDLESS).unwrap_or(first)).trim_end_matches('\u{fffd}').as_bytes(),
        )
    });
    match first.and_then(|first| info_with(js, session, first, states, at)) {
        Ok(info) => Ok(Some(info)),
        Err(_) => js.take_exception().map(|_| None),
    }
}

fn info_with<'env>(
    js: JsEnv<'env>,
    session: &Shown<'_>,
    first: JsVal<'env>,
    states: JsVal<'env>,
    at: usize,
) -> Result<JsVal<'env>> {
    let Shown { path, file, listed, catalog } = *session;
    let Listed { info, stamp, .. } = listed;
    let parsed = |text: &Option<String>| text.as_ref().map_or_else(|| js.undefined(), |text| parse(js, text));
    let shown = js.string(path.as_bytes())?;
    let args = [
        shown,
        js.string(&info.id)?,
        js.string(&info.cwd)?,
        js.optional_string(info.name.as_deref())?,
        match &info.parent {
            Some(ParentSession::Path(path)) => js.string(path)?,
            Some(ParentSession::Other(json)) => parse(js, json)?,
            None => js.undefined()?,
        },
        parsed(&info.created)?,
        info.active.map_or_else(|| js.undefined(), |ms| js.number(ms))?,
        js.number(stamp.modified_ms())?,
        js.number(info.message_count as f64)?,
        first,
        if path == file { shown } else { js.string(file.as_bytes())? },
        js.string(Source::of(listed).to_text().as_bytes())?,
        js.optional_string(catalog.map(str::as_bytes))?,
        states,
        js.number(at as f64)?,
    ];
    factory::call(js, FactoryFn::Info, &args)
}
