//! Subagents' sessions that a tool result names.
//!
//! Packages of subagents report the usage of a subagent as `usage` of the tool's result, as pi's documentation asks.
//! The subagent's session contains the same calls. If the details of the result name that session, and it is among the
//! sessions that are added up, its calls count and the result does not. If only some of the named sessions are among
//! them, the result counts with the part that exceeds their calls, because otherwise the cost of the others would be
//! lost. Such a session then counts for the session that names it, wherever its file is.

use std::collections::HashMap;

use super::add_up::{owners, with_owners};
use super::report::UsageSession;
use crate::base::memory::{self, insert, push};
use crate::base::paths::{file_name, join, parent, resolve_from};
use crate::io::session_files::ENDING;
use crate::summary::usage::call::{Amounts, CallErrors};

/// The indexes of the sessions that are added up, by path and by id.
struct Places<'a> {
    by_path: HashMap<String, usize>,
    by_id: HashMap<&'a [u8], usize>,
}

impl<'a> Places<'a> {
    fn of(sessions: &'a [UsageSession], cwd: &str) -> Self {
        let (mut by_path, mut by_id) = (HashMap::new(), HashMap::new());
        for (at, session) in sessions.iter().enumerate() {
            by_path.entry(resolve_from(cwd, &session.path)).or_insert(at);
            by_id.entry(session.id.as_slice()).or_insert(at);
        }
        Self { by_path, by_id }
    }

    /// The session that `session` names. Both files may have moved together since.
    fn find(&self, name: &[u8], session: &UsageSession, cwd: &str) -> Option<usize> {
        if let Some(at) = self.by_id.get(name) {
            return Some(*at);
        }
        let path = resolve_from(cwd, std::str::from_utf8(name).ok()?);
        let below = || {
            let folder = resolve_from(cwd, session.path.strip_suffix(ENDING)?);
            let (_, rest) = path.rsplit_once(file_name(&folder))?;
            self.by_path.get(&join(&folder, rest.strip_prefix(['/', '\\'])?))
        };
        let beside = || self.by_path.get(&join(&parent(&resolve_from(cwd, &session.path)), file_name(&path)));
        let by_path = self.by_path.get(&path).or_else(below).or_else(beside);
        by_path.or_else(|| self.by_id.get(id_in(file_name(&path))?.as_bytes())).copied()
    }
}

/// The id in the name of a session's file, as pi names files: the text after the time. An id may contain `_`.
pub(crate) fn id_in(file_name: &str) -> Option<&str> {
    Some(file_name.strip_suffix(ENDING)?.split_once('_')?.1)
}

/// A tool result that names sessions.
struct Naming {
    /// The index of its session.
    session: usize,
    /// The index of its call in that session.
    call: u32,
    /// The indexes of the sessions that it names, each once.
    children: Vec<usize>,
    /// Whether it also names a session that is not added up.
    has_missing: bool,
}

/// Finds the sessions that tool results name. Sets the owner of each, and records which part of the results they
/// contain. Sessions must be sorted with the oldest first. A relative path starts from `cwd`. Fails if an allocation
/// fails.
pub(crate) fn link(sessions: &mut [UsageSession], cwd: &str) -> memory::Result<()> {
    if sessions.iter().all(|session| session.usage.named_sessions.is_empty()) {
        return Ok(());
    }
    let places = Places::of(sessions, cwd);
    let mut owners = owners(sessions);
    let is_below = |owners: &[Option<usize>], at: usize, other: usize| with_owners(owners, at).any(|at| at == other);
    let mut results: Vec<Naming> = Vec::new();
    for (at, session) in sessions.iter().enumerate().filter(|(_, session)| !session.usage.named_sessions.is_empty()) {
        let begun = begun(session);
        for named in &session.usage.named_sessions {
            // The names in one result are consecutive.
            if results.last().is_none_or(|last| (last.session, last.call) != (at, named.call)) {
                let (call, children) = (named.call, Vec::new());
                push(&mut results, Naming { session: at, call, children, has_missing: false })?;
            }
            let Some(result) = results.last_mut() else { continue };
            let Some(child) = places.find(&named.name, session, cwd) else {
                result.has_missing = true;
                continue;
            };
            let has_begun_before = sessions.get(child).is_some_and(|child| child.created < begun);
            // Skipped, because a subagent may name its owner, and a tool may read an older session.
            if is_below(&owners, at, child) || has_begun_before && !is_below(&owners, child, at) {
                continue;
            }
            if let Some(owner @ None) = owners.get_mut(child) {
                *owner = Some(at);
            }
            if !result.children.contains(&child) {
                result.children.push(child);
            }
        }
    }
    let paths: Vec<Option<String>> = owners
        .iter()
        .map(|owner| owner.and_then(|owner| sessions.get(owner)).map(|owner| owner.path.clone()))
        .collect();
    for (session, owner) in sessions.iter_mut().zip(paths) {
        session.owner = owner.or(session.owner.take());
    }
    let mut known: HashMap<usize, Amounts> = HashMap::new();
    // The rest of each result. A copy of a result in a fork has the same rest, so nothing is subtracted from it again.
    let mut rests: HashMap<(u64, u64), Amounts> = HashMap::new();
    // A call is subtracted from one result only. We subtract first from the results that name no missing session. A
    // result that also names a missing session is reduced only by the calls that are left.
    let (complete, others) =
        (results.iter().filter(|one| !one.has_missing), results.iter().filter(|one| one.has_missing));
    for Naming { session, call, children, has_missing } in complete.chain(others).filter(|one| !one.children.is_empty())
    {
        let calls = sessions.get(*session).map(|session| session.usage.calls.as_slice()).unwrap_or_default();
        let Some(result) = calls.get(*call as usize) else { continue };
        rests.try_reserve(1)?;
        let rest = *rests.entry((result.identity, result.time.to_bits())).or_insert_with(|| {
            let mut rest = result.amounts;
            for child in children {
                let own =
                    known.entry(*child).or_insert_with(|| sessions.get(*child).map(own_amounts).unwrap_or_default());
                take(&mut rest, own);
            }
            rest
        });
        if let Some(session) = sessions.get_mut(*session) {
            insert(&mut session.in_subagents, *call, if *has_missing { rest } else { Amounts::default() })?;
        }
    }
    Ok(())
}

/// The usage of a session's calls, without the copied calls with which a fork begins.
fn own_amounts(session: &UsageSession) -> Amounts {
    let mut sum = Amounts::default();
    // A call without a time counts, because we cannot know whether it is a copy.
    let is_copy = |time: f64| time < session.created;
    let own = session.usage.calls.iter().filter(|call| !is_copy(call.time));
    own.filter(|call| !call.errors.contains(CallErrors::NO_USAGE)).for_each(|call| sum.add(&call.amounts));
    sum
}

/// Costs that differ by less count as equal, because sums are rounded.
const LEAST: f64 = 1e-9;

/// Subtracts the remaining amounts of a session from `rest`, a part of a result, and from the session's amounts. So
/// each call of a session is subtracted from one result only, even if several results name the session.
fn take(rest: &mut Amounts, session: &mut Amounts) {
    let (mut left, mut own) = (rest.to_array(), session.to_array());
    for (left, own) in left.iter_mut().zip(&mut own) {
        let taken = left.min(*own);
        (*left, *own) = (*left - taken, *own - taken);
        if *left < LEAST {
            *left = 0.0;
        }
    }
    (*rest, *session) = (Amounts::from_array(left), Amounts::from_array(own));
}

/// When a session was created, or the session from which it was forked.
fn begun(session: &UsageSession) -> f64 {
    session.usage.calls.iter().map(|call| call.time).fold(session.created, f64::min)
}
