//! Times as entries carry them.

use napi::Result;

use super::errors::wrong_argument;
use crate::js::engine::JsEnv;
use pi_session_core::base::time;

/// An ISO 8601 time of ms since 1970.
pub fn iso(js: JsEnv<'_>, ms: f64) -> Result<String> {
    time::iso(ms).ok_or_else(|| wrong_argument(js, "Invalid time value"))
}
