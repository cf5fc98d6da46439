//! `search`. Another thread searches; its hits are handled here in slices, in order.

use std::ffi::CStr;
use std::sync::atomic::Ordering;
use std::sync::Arc;

use napi::Result;
use serde::Serialize;

use super::list::catalog_and_cwd;
use super::task::{self, Task, TaskValue};
use crate::convert::args::{self, Options};
use crate::convert::errors::wrong_argument;
use crate::convert::paths::on_paths;
use crate::engine::{or_undefined, to_js, Deferred, JsEnv, JsVal, Wtf8};
use crate::factory::process::ProcessSnapshot;
use crate::manager::session_dir::configured_session_dir;
use pi_session_core::addon::{hit_role, search_roles};
use pi_session_core::find_session::lookup_filter;
use pi_session_core::wtf8::to_string_lossy;
use pi_session_core::{paths, ListScope};
use pi_session_core::{Hit, HitSession, Query, Search, SearchOptions, SessionHits, TextScope};

/// The options of a search.
const OPTIONS: &[&CStr] = &[
    c"cwd",
    c"sessionDir",
    c"folders",
    c"in",
    c"roles",
    c"since",
    c"until",
    c"session",
    c"excludeSession",
    c"subagents",
    c"phrase",
    c"dedupe",
    c"limit",
    c"perSession",
    c"mark",
    c"signal",
    c"onProgress",
    c"onHit",
];

/// An event of the searching thread.
enum SearchEvent {
    Progress(usize, usize),
    Hit(HitEvent),
    Done,
}

/// A hit, its session, the session that owns that one, and the number of hits in the session.
struct HitEvent {
    session: Arc<HitSession>,
    owner: Option<Arc<HitSession>>,
    hit: Hit,
    count: usize,
}

/// Starts a search. Returns its promise.
pub fn promise<'env>(js: JsEnv<'env>, query: JsVal<'env>, options: JsVal<'env>) -> Result<JsVal<'env>> {
    task::promise(js, |deferred| start(js, query, options, deferred))
}

fn start(js: JsEnv<'_>, query: JsVal<'_>, options: JsVal<'_>, deferred: Deferred) -> Result<()> {
    let query = to_string_lossy(&args::text(js, query, "query")?).into_owned();
    let options = Options::of(js, options, "SessionManager.search", OPTIONS)?;
    let search_options = search_options(js, &options)?;
    let is_phrase = js.is_truthy(options.get(c"phrase")?)?;
    let scope = scope(js, &options)?;
    let on_hit = options.function(c"onHit")?;
    let SearchOptions { limit, per_session, scopes, roles, .. } = &search_options;
    let may_find =
        *limit > 0 && *per_session > 0 && !scopes.is_empty() && roles.as_ref().is_none_or(|roles| !roles.is_empty());
    // If there cannot be a hit, no file is read.
    let query = if is_phrase { Query::phrase(&query) } else { Query::new(&query) }.filter(|_| may_find);
    let (location, _) = catalog_and_cwd(js)?;
    let process = on_paths(js, ProcessSnapshot::of)?;
    let task = Task::new(js, deferred, options.get(c"signal")?, options.get(c"onProgress")?)?;
    task.keep(js, TaskValue::Results, js.array(0)?)?;
    if let Some(on_hit) = on_hit {
        task.keep(js, TaskValue::OnHit, on_hit)?;
    }
    task.run(js, "search", handle, move |events, cancelled| {
        if let Some(query) = &query {
            let search = Search {
                scope: &scope,
                process: &process,
                location: location.as_ref(),
                query,
                options: &search_options,
                cancelled,
                progress: &|searched, total| events.send(SearchEvent::Progress(searched, total)),
                each: &|found| {
                    let SessionHits { session, owner, hits, count } = found;
                    for hit in hits {
                        events.send(SearchEvent::Hit(HitEvent {
                            session: session.clone(),
                            owner: owner.clone(),
                            hit,
                            count,
                        }));
                    }
                    Ok(())
                },
            };
            search.run()?;
        }
        if !cancelled.load(Ordering::Relaxed) {
            events.send(SearchEvent::Done);
        }
        Ok(())
    })
}

/// The options of the search in the core.
fn search_options(js: JsEnv<'_>, options: &Options<'_>) -> Result<SearchOptions> {
    let defaults = SearchOptions::default();
    let scopes = options.names(c"in", TextScope::named, &TextScope::NAMED.map(|(_, name)| name))?;
    Ok(SearchOptions {
        limit: options.whole_number(c"limit")?.unwrap_or(defaults.limit),
        mark: options.optional(c"mark")?.map(|mark| marks(js, mark)).transpose()?.unwrap_or(defaults.mark),
        scopes: scopes.unwrap_or(defaults.scopes),
        roles: options.names(c"roles", hit_role, &search_roles())?,
        time: (options.time(c"since")?.unwrap_or(f64::NEG_INFINITY), options.time(c"until")?.unwrap_or(f64::INFINITY)),
        per_session: options.whole_number(c"perSession")?.unwrap_or(defaults.per_session),
        excluded: options.path(c"excludeSession")?,
        only: options.path(c"session")?,
        subagents: with_subagents(js, options)?,
        dedupe: options.optional(c"dedupe")?.map_or(Ok(true), |dedupe| js.is_truthy(dedupe))?,
    })
}

/// Whether the sessions of subagents are searched too.
pub fn with_subagents(js: JsEnv<'_>, options: &Options<'_>) -> Result<bool> {
    options.optional(c"subagents")?.map_or(Ok(true), |wanted| js.is_truthy(wanted))
}

/// The marks before and after each word that was found.
fn marks(js: JsEnv<'_>, value: JsVal<'_>) -> Result<[String; 2]> {
    if let Some(list) = args::optional_array(js, value)?.filter(|list| js.len(*list).is_ok_and(|size| size == 2)) {
        if let (Some(open), Some(close)) = (js.text(js.at(list, 0)?)?, js.text(js.at(list, 1)?)?) {
            return Ok([to_string_lossy(&open).into_owned(), to_string_lossy(&close).into_owned()]);
        }
    }
    Err(wrong_argument(js, "options.mark must be an array of two strings"))
}

/// The sessions that the options `cwd`, `sessionDir` and `folders` name: the sessions of a list with the same
/// arguments, or of the directory that is configured for pi. Creates no directory.
pub fn scope(js: JsEnv<'_>, options: &Options<'_>) -> Result<ListScope> {
    let dir_given = args::optional_path(js, options.get(c"sessionDir")?, "options.sessionDir")?;
    let cwd_given = options.path(c"cwd")?;
    // If the caller passes no directory, the one that is configured for pi.
    let dir = match dir_given {
        Some(dir) => Some(on_paths(js, |process| paths::normalize(&dir, process))?),
        None => configured_session_dir(js, cwd_given.as_deref())?.dir,
    };
    let folders = options.optional(c"folders")?.map(|folders| folders_of(js, folders)).transpose()?;
    // `folders` select the sessions. Then the working directory only selects whose settings are used.
    let (cwd_given, in_folders) = if folders.is_some() { (None, folders) } else { (cwd_given, None) };
    let scope = match (cwd_given, dir) {
        (None, None) => Ok(ListScope::all(on_paths(js, |process| paths::sessions_dir(process))?)),
        (None, Some(dir)) => Ok(ListScope::dir(dir, None)),
        (Some(cwd), None) => {
            Ok(ListScope::dir(on_paths(js, |process| paths::default_session_dir(&cwd, None, process))?, None))
        }
        (Some(cwd), Some(dir)) => {
            let filter = on_paths(js, |process| lookup_filter(&cwd, &dir, true, process))?;
            Ok(ListScope::dir(dir, filter))
        }
    };
    scope.map(|scope| match in_folders {
        Some(folders) => scope.in_folders(folders),
        None => scope,
    })
}

fn folders_of<'env>(js: JsEnv<'env>, folders: JsVal<'env>) -> Result<Vec<String>> {
    let list = args::list(js, folders, "options.folders")?;
    let folder = |at| {
        let path = args::path(js, js.at(list, at)?, "each of options.folders")?;
        on_paths(js, |process| paths::resolve(&path, process))
    };
    (0..js.len(list)?).map(folder).collect()
}

/// Handles an event. Nothing is borrowed while the caller's callback runs.
fn handle(js: JsEnv<'_>, task: &Task, event: SearchEvent) -> Result<()> {
    match event {
        SearchEvent::Progress(searched, total) => task.progress(js, searched, total),
        SearchEvent::Hit(event) => {
            let Some(hits) = task.kept(js, TaskValue::Results)? else { return Ok(()) };
            let hit = hit_object(js, &event)?;
            js.set_at(hits, js.len(hits)?, hit)?;
            task.kept(js, TaskValue::OnHit)?.map_or(Ok(()), |on_hit| js.call(on_hit, &[hit]).map(drop))
        }
        SearchEvent::Done => {
            let hits = task.kept(js, TaskValue::Results)?;
            task.end(js, hits.map_or_else(|| js.array(0), Ok)?, true)
        }
    }
}

/// A hit and its session, as a JavaScript object.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct HitObject<'a> {
    path: &'a str,
    id: Wtf8<'a>,
    #[serde(serialize_with = "or_undefined")]
    name: Option<Wtf8<'a>>,
    #[serde(serialize_with = "or_undefined")]
    first_message: Option<Wtf8<'a>>,
    cwd: Wtf8<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    owner: Option<SessionObject<'a>>,
    entry_id: Wtf8<'a>,
    role: &'a str,
    #[serde(rename = "in")]
    scope: &'a str,
    timestamp: Wtf8<'a>,
    snippet: &'a str,
    hits_in_session: usize,
}

/// The object of a hit.
fn hit_object<'env>(js: JsEnv<'env>, HitEvent { session, owner, hit, count }: &HitEvent) -> Result<JsVal<'env>> {
    to_js(
        js,
        &HitObject {
            path: &session.path,
            id: Wtf8(&session.id),
            name: session.name.as_deref().map(Wtf8),
            first_message: session.title.as_deref().map(Wtf8),
            cwd: Wtf8(&session.cwd),
            owner: owner.as_deref().map(session_object),
            entry_id: Wtf8(&hit.entry),
            role: hit.role,
            scope: hit.scope.name(),
            timestamp: Wtf8(&hit.timestamp),
            snippet: &hit.snippet,
            hits_in_session: *count,
        },
    )
}

/// The session that owns the hit's session, as a JavaScript object.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SessionObject<'a> {
    path: &'a str,
    id: Wtf8<'a>,
    #[serde(serialize_with = "or_undefined")]
    name: Option<Wtf8<'a>>,
    #[serde(serialize_with = "or_undefined")]
    first_message: Option<Wtf8<'a>>,
    cwd: Wtf8<'a>,
}

fn session_object(session: &HitSession) -> SessionObject<'_> {
    SessionObject {
        path: &session.path,
        id: Wtf8(&session.id),
        name: session.name.as_deref().map(Wtf8),
        first_message: session.title.as_deref().map(Wtf8),
        cwd: Wtf8(&session.cwd),
    }
}
