//! Converts JavaScript values to JSON text, exactly as `JSON.stringify` does.
//!
//! For a plain value the factory removes the long strings (`write` in `values.js`). The engine writes the rest, and the
//! strings are escaped here, which is ten times as fast. Any other value is written by the engine alone.

use std::cell::Cell;

use napi::{Result, ValueType};

use super::errors::OrThrow;
use crate::engine::{JsEnv, JsVal};
use crate::factory::{self, FactoryFn, STRING_PLACEHOLDER};
use pi_session_core::addon::memory::{append, keep, reserve};
use pi_session_core::addon::push_quoted;

thread_local! {
    static WRITTEN: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Keeps the memory of a written text for the next one.
pub fn recycle(text: Vec<u8>) {
    keep(&WRITTEN, text);
}

/// The JSON text of a value; empty if it has none. The caller's code may run.
pub fn line_of(js: JsEnv<'_>, value: JsVal<'_>) -> Result<Vec<u8>> {
    let written = factory::call(js, FactoryFn::Write, &[value])?;
    Ok(written_text(js, written)?.unwrap_or_default())
}

/// The JSON text that the factory wrote; None if the value has none. The caller's code does not run.
pub fn written_text(js: JsEnv<'_>, written: JsVal<'_>) -> Result<Option<Vec<u8>>> {
    if js.kind(written)? != ValueType::Object {
        return js.text(written);
    }
    let skeleton = js.text(js.at(written, 0)?)?.unwrap_or_default();
    let mut out = WRITTEN.take();
    reserve(&mut out, skeleton.len()).or_throw(js)?;
    let mut rest = skeleton.as_slice();
    let mut count = 0;
    while let Some(place) = find_placeholder(rest) {
        let (before, after) = rest.split_at(place);
        append(&mut out, before).or_throw(js)?;
        count += 1;
        js.scoped(|js, _| push_text(js, js.at(written, count)?, &mut out))?;
        rest = after.get(STRING_PLACEHOLDER.len() + 2..).unwrap_or_default();
    }
    append(&mut out, rest).or_throw(js)?;
    Ok(Some(out))
}

/// Appends the JSON text of a string.
fn push_text(js: JsEnv<'_>, text: JsVal<'_>, out: &mut Vec<u8>) -> Result<()> {
    append(out, b"\"").or_throw(js)?;
    if js.push_base64(text, out)? {
        return append(out, b"\"").or_throw(js);
    }
    out.pop();
    js.with_units(text, |units| push_quoted(out, units))?.or_throw(js)
}

/// The position of the next placeholder of a long string. No other string contains it: one that ends in the same letter
/// has a backslash before the quote.
fn find_placeholder(text: &[u8]) -> Option<usize> {
    let quoted = format!("\"{STRING_PLACEHOLDER}\"");
    let found = memchr::memmem::find_iter(text, quoted.as_bytes());
    found.into_iter().find(|&at| at.checked_sub(1).and_then(|before| text.get(before)) != Some(&b'\\'))
}
