//! `search`: another thread searches; its hits arrive here in slices, in order.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::AtomicBool;
use std::sync::Arc;

use napi::Result;

use super::listing::surroundings;
use super::task::{self, abort_reason, reason_of, reason_of_abort, Deferred, Task};
use crate::core::base::error::{Error as CoreError, Result as CoreResult};
use crate::core::base::options::Durability;
use crate::core::base::paths;
use crate::core::base::wtf8::to_string_lossy;
use crate::core::catalog::background::spawn;
use crate::core::catalog::connection::Catalog;
use crate::core::catalog::location::Location;
use crate::core::listing::list::Listing;
use crate::core::search::query::{Options, Query};
use crate::core::search::run::{Request, TextMatch};
use crate::core::summary::session_summary::SessionSummary;
use crate::js::convert::args;
use crate::js::convert::errors::{thrown, wrong_argument};
use crate::js::convert::paths::on_paths;
use crate::js::engine::{queue, JsEnv, JsVal, Persistent, Sender};
use crate::js::factory::host::HostSnapshot;
use crate::js::factory::{self, FactoryFn};
use crate::js::manager::session_dir::{search_dir, SearchDir};

/// How many hits there are at most, unless told.
const LIMIT: usize = 50;
/// How many hits are handed over at once.
const AT_ONCE: usize = 32;

/// What the searching thread sends.
enum Event {
    Progress(usize, usize),
    Hits(Vec<TextMatch>),
    Done,
    Failed(Box<CoreError>),
    Aborted,
}

/// The arguments of a search.
struct SearchRequest {
    listing: Listing,
    query: String,
    options: Options,
    location: Option<Location>,
    host: HostSnapshot,
}

/// Starts a search and gives its promise.
pub fn promise<'env>(js: JsEnv<'env>, query: JsVal<'env>, options: JsVal<'env>) -> Result<JsVal<'env>> {
    task::promise(js, |deferred| start(js, query, options, deferred))
}

fn start(js: JsEnv<'_>, query: JsVal<'_>, options: JsVal<'_>, deferred: Deferred) -> Result<()> {
    let query = to_string_lossy(&args::text(js, query, "query")?).into_owned();
    let given = !js.is_nullish(options)?;
    if given {
        args::object(js, options, "options")?;
    }
    let option = |name| if given { js.get(options, name) } else { js.undefined() };
    let asked_limit = option(c"limit")?;
    let limit = match (js.is_nullish(asked_limit)?, js.number_value(asked_limit)?) {
        (true, _) => LIMIT,
        (false, Some(limit)) if limit >= 0.0 => limit as usize,
        _ => return Err(wrong_argument(js, "limit must be a number that is not negative")),
    };
    let mark = mark(js, option(c"mark")?)?;
    let listing = listing(js, option(c"cwd")?, option(c"dir")?)?;
    let (location, _) = surroundings(js)?;
    let asked = SearchRequest {
        listing,
        query,
        options: Options { limit, mark },
        location,
        host: on_paths(js, HostSnapshot::of)?,
    };
    let task = Task::new(js, deferred, option(c"signal")?, option(c"onProgress")?)?;
    let cancelled = task.cancelled.clone();
    let searching = Rc::new(RefCell::new(Searching { task, hits: Some(js.keep(js.array(0)?)?) }));
    let begin = || {
        let handled = searching.clone();
        let sender =
            queue(js, factory::function(js, FactoryFn::Slices)?, Box::new(move |js, event| take(&handled, js, event)))?;
        searching.borrow_mut().task.listen(js, sender.weak(), || Event::Aborted)?;
        let (location, stop) = (asked.location.clone(), cancelled.clone());
        let failed = |sender: &Sender<Event>, error| sender.send(Event::Failed(Box::new(error)));
        spawn("search", cancelled, location, sender, move |sender| answer(&asked, &stop, sender), failed)
            .map_err(|error| thrown(js, &error))
    };
    begin().or_else(|error| end(&searching, js, reason_of(js, &error)?, false))
}

fn mark(js: JsEnv<'_>, value: JsVal<'_>) -> Result<[String; 2]> {
    if js.is_nullish(value)? {
        return Ok(["«".into(), "»".into()]);
    }
    if let Some(list) = args::optional_list(js, value)?.filter(|list| js.len(*list).is_ok_and(|size| size == 2)) {
        if let (Some(open), Some(close)) = (js.text(js.at(list, 0)?)?, js.text(js.at(list, 1)?)?) {
            return Ok([to_string_lossy(&open).into_owned(), to_string_lossy(&close).into_owned()]);
        }
    }
    Err(wrong_argument(js, "mark must be an array of two strings"))
}

/// The sessions that are searched: those that a list with the same arguments shows. No directory is made for it.
fn listing(js: JsEnv<'_>, cwd: JsVal<'_>, dir: JsVal<'_>) -> Result<Listing> {
    let dir_given = args::optional_path(js, dir, "dir")?;
    let cwd_given = match js.is_nullish(cwd)? {
        true => None,
        false => Some(args::path(js, cwd, "cwd")?),
    };
    match (cwd_given, dir_given) {
        (None, None) => Ok(Listing::all(on_paths(js, |host| paths::sessions_dir(host))?)),
        (None, Some(dir)) => Ok(Listing::dir(on_paths(js, |host| paths::normalize(&dir, host))?, None)),
        (Some(cwd), None) => Ok(Listing::dir(on_paths(js, |host| paths::default_session_dir(&cwd, None, host))?, None)),
        (Some(_), Some(_)) => {
            let SearchDir { dir, filter } = search_dir(js, cwd, dir, Durability::Os)?;
            Ok(Listing::dir(dir, filter))
        }
    }
}

/// Searches and sends the hits. Gives the catalog that was used.
fn answer(asked: &SearchRequest, cancelled: &Arc<AtomicBool>, sender: &Sender<Event>) -> CoreResult<Option<Catalog>> {
    let Some(query) = Query::of(&asked.query).filter(|_| asked.options.limit > 0) else {
        sender.send(Event::Done);
        return Ok(None);
    };
    let files = asked.listing.find(&asked.host.cwd)?;
    let takes = |info: &SessionSummary| asked.listing.includes(&info.cwd, &asked.host);
    let request = Request {
        files: &files,
        takes: &takes,
        query: &query,
        options: &asked.options,
        location: asked.location.as_ref(),
        cancelled,
        progress: &|indexed, total| sender.send(Event::Progress(indexed, total)),
    };
    let Some((mut hits, catalog)) = request.run()? else {
        // The promise rejects with the signal's reason.
        return Err(CoreError::failed("The search was stopped"));
    };
    while !hits.is_empty() {
        let rest = hits.split_off(hits.len().min(AT_ONCE));
        sender.send(Event::Hits(std::mem::replace(&mut hits, rest)));
    }
    sender.send(Event::Done);
    Ok(catalog)
}

/// A search that runs.
struct Searching {
    task: Task,
    /// The hits so far; None when the search is over.
    hits: Option<Persistent>,
}

/// Handles an event. Nothing is borrowed while the caller's callback runs.
fn take(searching: &RefCell<Searching>, js: JsEnv<'_>, event: Event) -> Result<()> {
    if searching.borrow().task.is_over() {
        return Ok(());
    }
    let signal = searching.borrow().task.signal(js)?;
    let handled = abort_reason(js, signal).and_then(|reason| match reason {
        Some(reason) => end(searching, js, reason, false),
        None => handle(searching, js, event),
    });
    match handled {
        Ok(()) => Ok(()),
        // An exception of a callback or a signal ends the search.
        Err(error) => {
            let reason = reason_of(js, &error)?;
            end(searching, js, reason, false)
        }
    }
}

fn handle(searching: &RefCell<Searching>, js: JsEnv<'_>, event: Event) -> Result<()> {
    let event = if searching.borrow().task.heard_abort() { Event::Aborted } else { event };
    match event {
        Event::Aborted => {
            let signal = searching.borrow().task.signal(js)?;
            end(searching, js, reason_of_abort(js, signal)?, false)
        }
        Event::Progress(indexed, total) => {
            let on_progress = searching.borrow().task.on_progress(js)?;
            match on_progress {
                Some(on_progress) => {
                    js.call(on_progress, &[js.number(indexed as f64)?, js.number(total as f64)?]).map(|_| ())
                }
                None => Ok(()),
            }
        }
        Event::Hits(found) => {
            let hits = searching.borrow().hits.as_ref().map(|hits| js.kept(hits)).transpose()?;
            let Some(hits) = hits else { return Ok(()) };
            found.iter().try_for_each(|found| js.scoped(|js, _| js.set_at(hits, js.len(hits)?, hit_object(js, found)?)))
        }
        Event::Done => {
            let hits = searching.borrow().hits.as_ref().map(|hits| js.kept(hits)).transpose()?;
            end(searching, js, hits.map_or_else(|| js.array(0), Ok)?, true)
        }
        Event::Failed(error) => {
            let reason = reason_of(js, &thrown(js, &error))?;
            end(searching, js, reason, false)
        }
    }
}

/// Settles the promise and lets everything go.
fn end(searching: &RefCell<Searching>, js: JsEnv<'_>, value: JsVal<'_>, resolves: bool) -> Result<()> {
    let (ending, hits) = {
        let mut searching = searching.borrow_mut();
        (searching.task.ending(), searching.hits.take())
    };
    if let Some(hits) = hits {
        js.release(hits)?;
    }
    ending.settle(js, value, resolves)
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
