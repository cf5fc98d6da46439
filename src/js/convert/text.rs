//! JavaScript values as JSON text, exactly as `JSON.stringify` gives it.
//!
//! Of a plain value the factory takes the long strings out (`write` in `factory.js`): the engine writes the rest, and they
//! are escaped here, which is ten times as fast. Any other value is the engine's alone.

use napi::{Error, Result, ValueType};

use crate::core::json::long_strings::STAND_IN;
use crate::core::json::quote::push_quoted;
use crate::js::engine::{JsEnv, JsVal};
use crate::js::factory::{self, FactoryFn};

/// The JSON text of a value; empty if it has none. The caller's code may run.
pub fn line_of(js: JsEnv<'_>, value: JsVal<'_>) -> Result<Vec<u8>> {
    let written = factory::call(js, FactoryFn::Write, &[value])?;
    Ok(text_of(js, written)?.unwrap_or_default())
}

/// The JSON text that the factory wrote; None if the value has none. None of the caller's code runs.
pub fn text_of(js: JsEnv<'_>, written: JsVal<'_>) -> Result<Option<Vec<u8>>> {
    if js.kind(written)? != ValueType::Object {
        return js.text(written);
    }
    let count = js.number_value(js.get(written, c"length")?)?.unwrap_or_default() as u32;
    let skeleton = js.text(js.at(written, 0)?)?.unwrap_or_default();
    let mut out = Vec::with_capacity(skeleton.len() + (64 << 10));
    let mut rest = skeleton.as_slice();
    for at in 1..count {
        let place = stand_in(rest).ok_or_else(|| Error::from_reason("A long string lost its place"))?;
        let (before, behind) = rest.split_at(place);
        out.extend_from_slice(before);
        js.scoped(|js, _| js.with_units(js.at(written, at)?, |units| push_quoted(&mut out, units)))?;
        rest = behind.get(STAND_IN.len() + 2..).unwrap_or_default();
    }
    out.extend_from_slice(rest);
    Ok(Some(out))
}

/// Where a string that stands for a long one begins. No other string is the same; one that ends so has a backslash before
/// the quote.
fn stand_in(text: &[u8]) -> Option<usize> {
    let quoted = format!("\"{STAND_IN}\"");
    let found = memchr::memmem::find_iter(text, quoted.as_bytes());
    found.into_iter().find(|&at| at.checked_sub(1).and_then(|before| text.get(before)) != Some(&b'\\'))
}
