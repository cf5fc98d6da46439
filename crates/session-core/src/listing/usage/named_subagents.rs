//! Subagents' sessions that a tool result names.
//!
//! Packages of subagents report what a subagent used as `usage` of the tool's result, as pi's documentation asks, and the subagent's
//! session has the same calls. If the details of the result name that session, and it is among those that are added up, its calls count and
//! the result does not. The session then counts for the one that names it, wherever its file is.

use std::collections::HashMap;

use super::add_up::{owners, with_owners};
use super::report::UsageSession;
use crate::base::paths::{file_name, join, parent, resolve_from};
use crate::io::session_files::ENDING;

/// Where sessions are among those that are added up.
struct Places {
    by_path: HashMap<String, usize>,
    by_id: HashMap<Vec<u8>, usize>,
}

impl Places {
    fn of(sessions: &[UsageSession], cwd: &str) -> Self {
        let (mut by_path, mut by_id) = (HashMap::new(), HashMap::new());
        for (at, session) in sessions.iter().enumerate() {
            by_path.entry(resolve_from(cwd, &session.path)).or_insert(at);
            by_id.entry(session.id.clone()).or_insert(at);
        }
        Self { by_path, by_id }
    }

    /// The session that `session` names. Its file may have moved since, together with that of `session`.
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

/// The id in the name that pi gives to a session's file.
pub(crate) fn id_in(file_name: &str) -> Option<&str> {
    Some(file_name.strip_suffix(ENDING)?.rsplit_once('_')?.1)
}

/// Finds the sessions that tool results name: makes each the one of a subagent, and notes the results whose calls it has. The oldest
/// session comes first. `cwd` is what a relative path starts from.
pub(crate) fn link(sessions: &mut [UsageSession], cwd: &str) {
    if sessions.iter().all(|session| session.usage.named_sessions.is_empty()) {
        return;
    }
    let places = Places::of(sessions, cwd);
    let mut owners = owners(sessions);
    let is_below = |owners: &[Option<usize>], at: usize, other: usize| with_owners(owners, at).any(|at| at == other);
    let mut found = Vec::new();
    for (at, session) in sessions.iter().enumerate().filter(|(_, session)| !session.usage.named_sessions.is_empty()) {
        let begun = begun(session);
        for named in &session.usage.named_sessions {
            let Some(child) = places.find(&named.name, session, cwd) else { continue };
            let has_begun_before = sessions.get(child).is_some_and(|child| child.created < begun);
            // A subagent may name the session that it belongs to, and a tool may read an older session.
            if is_below(&owners, at, child) || has_begun_before && !is_below(&owners, child, at) {
                continue;
            }
            if let Some(owner @ None) = owners.get_mut(child) {
                *owner = Some(at);
            }
            found.push((at, named.call));
        }
    }
    let paths: Vec<Option<String>> = owners
        .iter()
        .map(|owner| owner.and_then(|owner| sessions.get(owner)).map(|owner| owner.path.clone()))
        .collect();
    for (session, owner) in sessions.iter_mut().zip(paths) {
        session.owner = owner.or(session.owner.take());
    }
    for (at, call) in found {
        if let Some(session) = sessions.get_mut(at) {
            session.in_subagents.insert(call);
        }
    }
}

/// When a session was begun, or the one that it was forked from.
fn begun(session: &UsageSession) -> f64 {
    session.usage.calls.iter().map(|call| call.time).fold(session.created, f64::min)
}
