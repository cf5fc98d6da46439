//! `search`: another thread searches; its hits arrive here in slices, in order.

use std::ffi::CStr;
use std::sync::atomic::AtomicBool;
use std::sync::Arc;

use napi::Result;

use super::list::surroundings;
use super::task::{self, Deferred, Events, Held, Task};
use crate::js::convert::args::{self, Options};
use crate::js::convert::errors::wrong_argument;
use crate::js::convert::paths::on_paths;
use crate::js::engine::{JsEnv, JsVal};
use crate::js::factory::process::ProcessSnapshot;
use crate::js::factory::{self, FactoryFn};
use crate::js::manager::session_dir::configured_session_dir;
use pi_session_core::base::error::{Error as CoreError, Result as CoreResult};
use pi_session_core::base::paths;
use pi_session_core::base::wtf8::to_string_lossy;
use pi_session_core::catalog::connection::Catalog;
use pi_session_core::catalog::location::CatalogLocation;
use pi_session_core::listing::find_session::lookup_filter;
use pi_session_core::listing::list::ListScope;
use pi_session_core::search::query::{Query, SearchOptions};
use pi_session_core::search::run::{Request, TextMatch};
use pi_session_core::summary::session_summary::SessionSummary;

/// The options of a search.
const OPTIONS: &[&CStr] = &[c"cwd", c"sessionDir", c"limit", c"signal", c"onProgress", c"mark"];
/// The default limit of hits.
const LIMIT: usize = 50;
/// How many hits are handed over at once.
const AT_ONCE: usize = 32;

/// What the searching thread sends.
enum SearchEvent {
    Progress(usize, usize),
    Hits(Vec<TextMatch>),
    Done,
}

/// The arguments of a search.
struct SearchRequest {
    scope: ListScope,
    query: String,
    options: SearchOptions,
    location: Option<CatalogLocation>,
    process: ProcessSnapshot,
}

/// Starts a search and gives its promise.
pub fn promise<'env>(js: JsEnv<'env>, query: JsVal<'env>, options: JsVal<'env>) -> Result<JsVal<'env>> {
    task::promise(js, |deferred| start(js, query, options, deferred))
}

fn start(js: JsEnv<'_>, query: JsVal<'_>, options: JsVal<'_>, deferred: Deferred) -> Result<()> {
    let query = to_string_lossy(&args::text(js, query, "query")?).into_owned();
    let options = Options::of(js, options, "SessionManager.search", OPTIONS)?;
    let option = |name| options.get(name);
    let asked_limit = option(c"limit")?;
    let limit = match (js.is_nullish(asked_limit)?, js.number_value(asked_limit)?) {
        (true, _) => LIMIT,
        (false, Some(limit)) if limit >= 0.0 => limit as usize,
        _ => return Err(wrong_argument(js, "limit must be a number that is not negative")),
    };
    let mark = mark(js, option(c"mark")?)?;
    let scope = scope(js, option(c"cwd")?, option(c"sessionDir")?)?;
    let (location, _) = surroundings(js)?;
    let asked = SearchRequest {
        scope,
        query,
        options: SearchOptions { limit, mark },
        location,
        process: on_paths(js, ProcessSnapshot::of)?,
    };
    let task = Task::new(js, deferred, option(c"signal")?, option(c"onProgress")?)?;
    task.hold(js, Held::Results, js.array(0)?)?;
    let location = asked.location.clone();
    task.run(js, ("search", location), handle, move |events, stop| answer(&asked, stop, events))
}

fn mark(js: JsEnv<'_>, value: JsVal<'_>) -> Result<[String; 2]> {
    if js.is_nullish(value)? {
        return Ok(["«".into(), "»".into()]);
    }
    if let Some(list) = args::optional_array(js, value)?.filter(|list| js.len(*list).is_ok_and(|size| size == 2)) {
        if let (Some(open), Some(close)) = (js.text(js.at(list, 0)?)?, js.text(js.at(list, 1)?)?) {
            return Ok([to_string_lossy(&open).into_owned(), to_string_lossy(&close).into_owned()]);
        }
    }
    Err(wrong_argument(js, "mark must be an array of two strings"))
}

/// The sessions that are searched: those that a list with the same arguments shows, or those of the directory that pi is configured
/// to use. No directory is made for it.
pub fn scope(js: JsEnv<'_>, cwd: JsVal<'_>, session_dir: JsVal<'_>) -> Result<ListScope> {
    let dir_given = args::optional_path(js, session_dir, "sessionDir")?;
    let cwd_given = match js.is_nullish(cwd)? {
        true => None,
        false => Some(args::path(js, cwd, "cwd")?),
    };
    // Without a directory of the caller's, the one that pi is configured to use.
    let dir = match dir_given {
        Some(dir) => Some(on_paths(js, |process| paths::normalize(&dir, process))?),
        None => configured_session_dir(js, cwd_given.as_deref())?.dir,
    };
    match (cwd_given, dir) {
        (None, None) => Ok(ListScope::all(on_paths(js, |process| paths::sessions_dir(process))?)),
        (None, Some(dir)) => Ok(ListScope::dir(dir, None)),
        (Some(cwd), None) => {
            Ok(ListScope::dir(on_paths(js, |process| paths::default_session_dir(&cwd, None, process))?, None))
        }
        (Some(cwd), Some(dir)) => {
            let filter = on_paths(js, |process| lookup_filter(&cwd, &dir, true, process))?;
            Ok(ListScope::dir(dir, filter))
        }
    }
}

/// Searches and sends the hits. Gives the catalog that was used.
fn answer(
    asked: &SearchRequest,
    cancelled: &Arc<AtomicBool>,
    events: &Events<SearchEvent>,
) -> CoreResult<Option<Catalog>> {
    let Some(query) = Query::of(&asked.query).filter(|_| asked.options.limit > 0) else {
        events.send(SearchEvent::Done);
        return Ok(None);
    };
    let files = asked.scope.find(&asked.process.cwd)?;
    let takes = |info: &SessionSummary| asked.scope.includes(&info.cwd, &asked.process);
    let request = Request {
        files: &files,
        takes: &takes,
        query: &query,
        options: &asked.options,
        location: asked.location.as_ref(),
        cancelled,
        progress: &|indexed, total| events.send(SearchEvent::Progress(indexed, total)),
    };
    let Some((mut hits, catalog)) = request.run()? else {
        // The promise rejects with the signal's reason.
        return Err(CoreError::internal("the search was stopped"));
    };
    while !hits.is_empty() {
        let rest = hits.split_off(hits.len().min(AT_ONCE));
        events.send(SearchEvent::Hits(std::mem::replace(&mut hits, rest)));
    }
    events.send(SearchEvent::Done);
    Ok(catalog)
}

/// Handles an event. Nothing is borrowed while the caller's callback runs.
fn handle(js: JsEnv<'_>, task: &Task, event: SearchEvent) -> Result<()> {
    match event {
        SearchEvent::Progress(indexed, total) => match task.held(js, Held::OnProgress)? {
            Some(on_progress) => {
                js.call(on_progress, &[js.number(indexed as f64)?, js.number(total as f64)?]).map(|_| ())
            }
            None => Ok(()),
        },
        SearchEvent::Hits(found) => {
            let Some(hits) = task.held(js, Held::Results)? else { return Ok(()) };
            found.iter().try_for_each(|found| js.scoped(|js, _| js.set_at(hits, js.len(hits)?, hit_object(js, found)?)))
        }
        SearchEvent::Done => {
            let hits = task.held(js, Held::Results)?;
            task.end(js, hits.map_or_else(|| js.array(0), Ok)?, true)
        }
    }
}

/// The object of a hit.
fn hit_object<'env>(js: JsEnv<'env>, found: &TextMatch) -> Result<JsVal<'env>> {
    let TextMatch { hit, session } = found;
    let args = [
        js.string(session.path.as_bytes())?,
        js.string(&session.id)?,
        js.optional_string(session.name.as_deref())?,
        js.string(&session.cwd)?,
        js.string(&hit.entry)?,
        js.string(hit.kind.name().as_bytes())?,
        js.string(&hit.timestamp)?,
        js.string(hit.snippet.as_bytes())?,
    ];
    factory::call(js, FactoryFn::Hit, &args)
}
