//! Entries of a branch as plain text, for the command `pi-sessions`.

use std::cell::RefCell;
use std::ffi::CStr;

use napi::Result;

use super::materialize::ensure;
use super::reads::{path_end, path_rows};
use super::state::ManagerState;
use crate::js::convert::args::Options;
use crate::js::convert::errors::{thrown, wrong_argument};
use crate::js::engine::{JsEnv, JsVal};
use crate::js::factory::{self, FactoryFn};
use pi_session_core::transcript::message::{DrawLayout, Limits};

/// The options of a transcript.
const OPTIONS: &[&CStr] = &[c"from", c"limit", c"columns", c"textLines", c"outputLines"];
/// How many bytes of lines are drawn together, about.
const BATCH_BYTES: usize = 8 << 20;

/// Which entries, and how they are drawn.
pub struct TranscriptOptions {
    from: usize,
    limit: usize,
    layout: DrawLayout,
}

impl TranscriptOptions {
    /// Reads them.
    pub fn of<'env>(js: JsEnv<'env>, options: JsVal<'env>) -> Result<Self> {
        let options = Options::of(js, options, "drawTranscript", OPTIONS)?;
        let number = |name| options.whole_number(name);
        let limits = match (number(c"textLines")?, number(c"outputLines")?) {
            (Some(text), Some(output)) => Some(Limits { text, output }),
            _ => None,
        };
        let columns = number(c"columns")?.filter(|columns| *columns >= DrawLayout::LEAST_COLUMNS);
        let columns = columns.ok_or_else(|| {
            wrong_argument(js, format!("options.columns must be at least {}", DrawLayout::LEAST_COLUMNS))
        })?;
        Ok(Self {
            from: number(c"from")?.unwrap_or(0),
            limit: number(c"limit")?.unwrap_or(usize::MAX),
            layout: DrawLayout { columns, limits },
        })
    }
}

/// A list of entries of the path to an entry: bytes for those that are drawn, several in one, and the others as they are. Then how many
/// entries these are: fewer than the limit where they are large.
pub fn transcript<'env>(
    state: &RefCell<ManagerState>,
    js: JsEnv<'env>,
    leaf: JsVal<'env>,
    options: &TranscriptOptions,
) -> Result<JsVal<'env>> {
    let path = path_rows(state, path_end(state, js, leaf)?);
    let from = options.from.min(path.len());
    let to = from.saturating_add(options.limit).min(path.len());
    let rows = path.get(from..to).unwrap_or_default();
    let drawn = state.borrow().session.transcript(rows, options.layout, BATCH_BYTES);
    let drawn = drawn.map_err(|error| thrown(js, &error))?;
    let rows = rows.get(..drawn.ends.len()).unwrap_or_default();
    let starts = std::iter::once(0).chain(drawn.ends.iter().copied());
    let others =
        rows.iter().zip(starts.zip(&drawn.ends)).filter(|(_, (start, end))| start == *end).map(|(row, _)| *row);
    ensure(state, js, others)?;
    let list = state.borrow().cache.list(js)?;
    let ends: Vec<f64> = drawn.ends.iter().map(|end| *end as f64).collect();
    factory::call(js, FactoryFn::Transcript, &[list, js.u32s(rows)?, js.u8s(&drawn.text)?, js.f64s(&ends)?])
}
