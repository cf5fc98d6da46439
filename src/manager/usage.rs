//! The usage of an open session's calls. Each entry is read once, by the first report after it was added.

use std::cell::RefCell;
use std::collections::HashMap;

use napi::Result;

use super::materialize::object;
use super::state::{CollectedUsage, ManagerState};
use crate::convert::args::Options;
use crate::convert::errors::OrThrow;
use crate::convert::text::line_of;
use crate::convert::usage::{local_calendar, report_options, REPORT_OPTIONS};
use crate::engine::{to_js, JsEnv, JsVal};
use pi_session_core::addon::memory::copy_of_bytes;
use pi_session_core::addon::{memory, LargeEntry, ScannedLine, SessionUsage, Version, LARGEST_KEPT};
use pi_session_core::usage::{report, utc_days, Calendar, UsageSession};
use pi_session_core::RowNo;

/// The report of a manager's session.
pub fn usage<'env>(state: &RefCell<ManagerState>, js: JsEnv<'env>, options: JsVal<'env>) -> Result<JsVal<'env>> {
    let options = Options::of(js, options, "getUsage", REPORT_OPTIONS)?;
    let (options, is_utc) = report_options(js, options)?;
    let (mut usage, from, rows) = {
        let mut state = state.borrow_mut();
        let collected = state.usage.take();
        let tree = state.session.tree();
        let is_prefix = |known: &CollectedUsage| {
            let last = known.rows.checked_sub(1).filter(|last| (*last as usize) < tree.len());
            known.generation == state.generation && last.is_some_and(|last| tree.id_of(last) == known.last)
        };
        let known = collected.filter(|known| known.usage.keep >= options.largest && is_prefix(known));
        let rows = tree.len() as RowNo;
        match known {
            Some(known) => (known.usage, known.rows, rows),
            None => (SessionUsage::keeping(options.largest.max(LARGEST_KEPT)), 0, rows),
        }
    };
    collect(state, js, &mut usage, (from, rows))?;
    usage.sort_largest();
    let session = {
        let state = state.borrow();
        usage.damaged = state.session.index().damaged().len() as u64;
        let path = state.session.file().unwrap_or_default().to_owned();
        let id = copy_of_bytes(state.session.id()).or_throw(js)?;
        let cwd = copy_of_bytes(state.config.cwd.as_bytes()).or_throw(js)?;
        UsageSession {
            path,
            id,
            cwd,
            title: Vec::new(),
            created: f64::NAN,
            usage,
            owner: None,
            in_subagents: HashMap::new(),
        }
    };
    let sessions = [session];
    let calendar = if is_utc { Calendar::Utc } else { local_calendar(js, &utc_days(&sessions).or_throw(js)?)? };
    let made = {
        let state = state.borrow();
        let listed = if options.largest > 0 { rows } else { 0 };
        let mut starts = memory::collect((0..listed).map(|row| (span(&state, row, 0).0, row))).or_throw(js)?;
        starts.sort_unstable();
        let id_of = |_: &UsageSession, entry: &LargeEntry| {
            let at = starts.partition_point(|(start, _)| *start < entry.offset);
            let (_, row) = starts.get(at).filter(|(start, _)| *start == entry.offset)?;
            copy_of_bytes(state.session.tree().id_of(*row)).ok()
        };
        report(&sessions, Vec::new(), &calendar, &options, &id_of).or_throw(js).and_then(|report| to_js(js, &report))?
    };
    let [UsageSession { usage, .. }] = sessions;
    {
        let mut state = state.borrow_mut();
        let last = rows.checked_sub(1).map_or(Ok(Vec::new()), |last| copy_of_bytes(state.session.tree().id_of(last)));
        let last = last.or_throw(js)?;
        // The last line gets longer when it gets its newline, so it cannot be kept.
        let is_final = !state.session.index().is_after_unterminated_line();
        state.usage = is_final.then_some(CollectedUsage { usage, generation: state.generation, rows, last });
    }
    Ok(made)
}

/// The start and the end of a row's line in the file, with its newline. In a session without a file its number is used
/// as its position.
fn span(state: &ManagerState, row: RowNo, length: usize) -> (u64, u64) {
    let kept = || (u64::from(row), u64::from(row) + length as u64 + 1);
    state.session.whole_line(row).unwrap_or_else(kept)
}

/// Collects rows in order: from their lines, or from objects that are not in a file.
fn collect(
    state: &RefCell<ManagerState>,
    js: JsEnv<'_>,
    usage: &mut SessionUsage,
    (from, to): (RowNo, RowNo),
) -> Result<()> {
    let mut row = from;
    while row < to {
        let written: Vec<RowNo> = {
            let state = state.borrow();
            let is_written = |row: &RowNo| state.session.index().line_span(*row).is_some();
            memory::collect((row..to).take_while(is_written)).or_throw(js)?
        };
        if written.is_empty() {
            let line = js.scoped(|js, _| line_of(js, object(state, js, row)?))?;
            let line = ScannedLine::of(&line, span(&state.borrow(), row, line.len()));
            usage.add(&line, Version::Current).or_throw(js)?;
            row += 1;
            continue;
        }
        let state = state.borrow();
        let mut add = |row: RowNo, line: &str| {
            Ok(usage.add(&ScannedLine::of(line.as_bytes(), span(&state, row, 0)), Version::Current)?)
        };
        state.session.lines(&written, &mut add).or_throw(js)?;
        row += written.len() as RowNo;
    }
    Ok(())
}
