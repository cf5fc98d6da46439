//! JSON text as JavaScript values, exactly as `JSON.parse` gives them.
//!
//! The long strings of a text are made from its bytes, the rest is parsed by the engine's own `JSON.parse`.

use napi::Result;

use crate::engine::{JsEnv, JsVal};
use crate::factory::{self, FactoryFn};
use pi_session_core::json::long_strings::{take_apart, StringParts};

/// How long a text may be that the engine takes as a string, in UTF-16 units: V8's limit. Other engines take more.
pub const LONGEST_TEXT: usize = (1 << 29) - 24;
/// A content that is one text block, as nearly all tool results have, without its text: made without `JSON.parse`, which
/// takes longer than the rest of the work for it.
const TEXT_BLOCK: &str = "[{\"type\":\"text\",\"text\":\"\x7f0\"}]";

/// The value of a JSON text. One that is too long for a string of the engine without its long strings is the engine's error.
pub fn parse<'env>(js: JsEnv<'env>, text: &str) -> Result<JsVal<'env>> {
    match take_apart(text) {
        Ok(Some(parts)) => value_of(js, &parts),
        Ok(None) => parse_by_engine(js, text),
        Err(_) => Err(js.out_of_memory(text.len())),
    }
}

/// The value of a JSON text in parts. A string that is too long for the engine is its error.
pub fn value_of<'env>(js: JsEnv<'env>, StringParts { text, strings }: &StringParts) -> Result<JsVal<'env>> {
    if strings.is_empty() {
        return parse_by_engine(js, text);
    }
    if let (TEXT_BLOCK, [string]) = (text.as_str(), strings.as_slice()) {
        return factory::call(js, FactoryFn::TextBlock, &[js.string(string)?]);
    }
    let list = js.array(0)?;
    for (at, string) in strings.iter().enumerate() {
        js.scoped(|js, _| js.set_at(list, at as u32, js.string(string)?))?;
    }
    factory::call(js, FactoryFn::ParseApart, &[js.string(text.as_bytes())?, list])
}

/// The value of a JSON text, by the engine's own `JSON.parse`.
fn parse_by_engine<'env>(js: JsEnv<'env>, text: &str) -> Result<JsVal<'env>> {
    let text = js.string(text.as_bytes())?;
    factory::call(js, FactoryFn::Parse, &[text])
}
