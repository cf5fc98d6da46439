//! `usage`: another thread collects what calls used and adds it up; the report arrives here as JSON.

use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{channel, Sender as Answer};

use napi::Result;

use super::list::surroundings;
use super::search;
use super::task::{self, Deferred, Events, Held, Task};
use crate::js::convert::args::Options;
use crate::js::convert::errors::wrong_argument;
use crate::js::convert::paths::{on_paths, resolved};
use crate::js::convert::usage::{local_calendar, report_options, REPORT_OPTIONS};
use crate::js::convert::values::parse;
use crate::js::engine::{JsEnv, JsVal};
use crate::js::factory::process::ProcessSnapshot;
use pi_session_core::base::error::{Error as CoreError, Result as CoreResult};
use pi_session_core::catalog::location::CatalogLocation;
use pi_session_core::listing::list::received;
use pi_session_core::listing::usage::add_up::{report, utc_days};
use pi_session_core::listing::usage::calendar::Calendar;
use pi_session_core::listing::usage::collect::{entry_id, Collection, UsageSource};
use pi_session_core::listing::usage::json::to_json;
use pi_session_core::listing::usage::report::{Grouping, ReportOptions};
use pi_session_core::summary::session_summary::SessionSummary;

/// What the collecting thread sends.
enum UsageEvent {
    Progress(usize, usize),
    /// JavaScript's calendar is needed for these days of UTC.
    Days(Vec<f64>, Answer<Calendar>),
    Done(String),
}

/// The arguments of a report.
struct UsageRequest {
    source: UsageSource,
    options: ReportOptions,
    is_utc: bool,
    location: Option<CatalogLocation>,
    process: ProcessSnapshot,
}

/// Starts a report and gives its promise.
pub fn promise<'env>(js: JsEnv<'env>, options: JsVal<'env>) -> Result<JsVal<'env>> {
    task::promise(js, |deferred| start(js, options, deferred))
}

fn start(js: JsEnv<'_>, options: JsVal<'_>, deferred: Deferred) -> Result<()> {
    let known = [&[c"cwd", c"sessionDir", c"path", c"signal", c"onProgress"], REPORT_OPTIONS].concat();
    let options = Options::of(js, options, "SessionManager.usage", &known)?;
    let (report_options, is_utc) = report_options(js, options)?;
    let source = match options.given(c"path")? {
        None => UsageSource::Sessions(search::scope(js, &options)?),
        Some(_) if options.given(c"cwd")?.is_some() || options.given(c"sessionDir")?.is_some() => {
            return Err(wrong_argument(js, "options.path cannot be combined with cwd or sessionDir"));
        }
        Some(path) => UsageSource::File(resolved(js, path, "options.path")?),
    };
    let (location, _) = surroundings(js)?;
    let process = on_paths(js, ProcessSnapshot::of)?;
    let task = Task::new(js, deferred, options.get(c"signal")?, options.get(c"onProgress")?)?;
    let asked = UsageRequest { source, options: report_options, is_utc, location, process };
    task.run(js, "usage", handle, move |events, stop| asked.answer(stop, events))
}

impl UsageRequest {
    fn answer(&self, cancelled: &AtomicBool, events: &Events<UsageEvent>) -> CoreResult<()> {
        // The promise rejects with the signal's reason.
        let stopped = || CoreError::internal("the report was stopped");
        let takes = |info: &SessionSummary| match &self.source {
            UsageSource::Sessions(scope) => scope.includes(&info.cwd, &self.process),
            UsageSource::File(_) => true,
        };
        let collection = Collection {
            source: &self.source,
            cwd: &self.process.cwd,
            location: self.location.as_ref(),
            largest: self.options.largest,
            cancelled,
            takes: &takes,
            progress: &|done, total| events.send(UsageEvent::Progress(done, total)),
        };
        let collected = collection.run()?.ok_or_else(stopped)?;
        let has_periods = self.options.by.iter().any(|by| matches!(by, Grouping::Period(_)));
        let calendar = if has_periods && !self.is_utc {
            let (answer, calendar) = channel();
            events.send(UsageEvent::Days(utc_days(&collected.sessions)?, answer));
            received(&calendar, cancelled).ok_or_else(stopped)?
        } else {
            Calendar::Utc
        };
        let report = report(&collected.sessions, &calendar, &self.options)?;
        let id_of = |session: &_, entry: &_| entry_id(session, entry);
        events.send(UsageEvent::Done(to_json(&report, &collected.sessions, &collected.left_out, &id_of)?));
        Ok(())
    }
}

/// Handles an event. Nothing is borrowed while the caller's callback runs.
fn handle(js: JsEnv<'_>, task: &Task, event: UsageEvent) -> Result<()> {
    match event {
        UsageEvent::Progress(done, total) => match task.held(js, Held::OnProgress)? {
            Some(on_progress) => js.call(on_progress, &[js.number(done as f64)?, js.number(total as f64)?]).map(|_| ()),
            None => Ok(()),
        },
        UsageEvent::Days(days, answer) => {
            // If nobody receives it, the report is over.
            let _ = answer.send(local_calendar(js, &days)?);
            Ok(())
        }
        UsageEvent::Done(json) => task.end(js, parse(js, &json)?, true),
    }
}
