//! `usage`. Another thread collects the usage of calls and adds it up; the report arrives here.

use std::ffi::CStr;
use std::sync::mpsc::{channel, Sender as Answer};

use napi::Result;

use super::list::catalog_and_cwd;
use super::search;
use super::task::{self, Task};
use crate::convert::args::Options;
use crate::convert::errors::wrong_argument;
use crate::convert::paths::{on_paths, resolved};
use crate::convert::usage::{local_calendar, report_options, REPORT_OPTIONS};
use crate::engine::{to_js, Deferred, JsEnv, JsVal};
use crate::factory::process::ProcessSnapshot;
use pi_session_core::addon::received;
use pi_session_core::usage::{large_entry_id, report, utc_days, Calendar, Collection, Grouping, Report, UsageSource};
use pi_session_core::Error as CoreError;

/// An event of the collecting thread.
enum UsageEvent {
    Progress(usize, usize),
    /// Asks for JavaScript's calendar of these days of UTC.
    Days(Vec<f64>, Answer<Calendar>),
    Done(Box<Report>),
}

/// Starts a report. Returns its promise.
pub fn promise<'env>(js: JsEnv<'env>, options: JsVal<'env>) -> Result<JsVal<'env>> {
    task::promise(js, |deferred| start(js, options, deferred))
}

fn start(js: JsEnv<'_>, options: JsVal<'_>, deferred: Deferred) -> Result<()> {
    let known = [&[c"cwd", c"sessionDir", c"folders", c"path", c"signal", c"onProgress"], REPORT_OPTIONS].concat();
    let given = Options::of(js, options, "SessionManager.usage", &known)?;
    let (options, is_utc) = report_options(js, given)?;
    let source = match given.optional(c"path")? {
        None => UsageSource::Sessions(search::scope(js, &given)?),
        Some(_) if is_any_given(&given, &[c"cwd", c"sessionDir", c"folders"])? => {
            return Err(wrong_argument(js, "options.path cannot be combined with cwd, sessionDir or folders"));
        }
        Some(path) => UsageSource::File(resolved(js, path, "options.path")?),
    };
    let (location, _) = catalog_and_cwd(js)?;
    let process = on_paths(js, ProcessSnapshot::of)?;
    let task = Task::new(js, deferred, given.get(c"signal")?, given.get(c"onProgress")?)?;
    task.run(js, "usage", handle, move |events, cancelled| {
        // The promise is rejected with the signal's reason instead.
        let stopped = || CoreError::internal("the report was stopped");
        let collection = Collection {
            source: &source,
            process: &process,
            location: location.as_ref(),
            largest: options.largest,
            cancelled,
            progress: &|done, total| events.send(UsageEvent::Progress(done, total)),
        };
        let collected = collection.run()?.ok_or_else(stopped)?;
        let has_periods = options.by.iter().any(|by| matches!(by, Grouping::Period(_)));
        let calendar = if has_periods && !is_utc {
            let (answer, calendar) = channel();
            events.send(UsageEvent::Days(utc_days(&collected.sessions)?, answer));
            received(&calendar, cancelled).ok_or_else(stopped)?
        } else {
            Calendar::Utc
        };
        let report = report(&collected.sessions, collected.left_out, &calendar, &options, &large_entry_id)?;
        events.send(UsageEvent::Done(Box::new(report)));
        Ok(())
    })
}

fn is_any_given(options: &Options<'_>, names: &[&CStr]) -> Result<bool> {
    names.iter().try_fold(false, |found, name| Ok(found || options.optional(name)?.is_some()))
}

/// Handles an event. Nothing is borrowed while the caller's callback runs.
fn handle(js: JsEnv<'_>, task: &Task, event: UsageEvent) -> Result<()> {
    match event {
        UsageEvent::Progress(done, total) => task.progress(js, done, total),
        UsageEvent::Days(days, answer) => {
            // If nobody receives it, the report has ended.
            let _ = answer.send(local_calendar(js, &days)?);
            Ok(())
        }
        UsageEvent::Done(report) => task.end(js, to_js(js, &report)?, true),
    }
}
