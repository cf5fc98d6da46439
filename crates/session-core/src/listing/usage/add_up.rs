//! Adds up the usage of sessions.
//!
//! A call that is in several sessions, because one was forked from the other, is counted once. (If a session repeats a
//! call, it is counted as often as in the session where it occurs most.) It counts for the oldest of these sessions, in
//! whatever order they are read. Calls are added one by one, the oldest session first and each in the order of its
//! file, so that sums of costs are always equal to the last bit.
//!
//! The usage of a subagent's session counts for the session that owns it, and for the owner's working directory. If the
//! usage of a tool result is the usage of subagents, only the part that is in none of their sessions is added.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::iter;

use hashbrown::hash_map::Entry;
use hashbrown::HashMap;

use super::calendar::{Calendar, DAY_MS};
use super::report::{
    Grouping, LargeRow, LeftOut, LeftOutCalls, LeftOutFile, Report, ReportOptions, RowSession, Sum, Text, UsageRow,
    UsageSession,
};
use crate::base::error::{Error, Result};
use crate::base::memory::{self, collect, copy_of, push, resize};
use crate::summary::usage::call::{Amounts, Call, CallErrors};
use crate::summary::usage::session_usage::LargeEntry;

/// Returns the id of a large entry of a session. None if its line has no id, or has changed.
pub type IdOf<'a> = dyn Fn(&UsageSession, &LargeEntry) -> Option<Vec<u8>> + 'a;

/// Sorts sessions into the order in which they are added up: the oldest first.
pub(crate) fn sort_sessions(sessions: &mut [UsageSession]) {
    // NaN comes last.
    sessions.sort_by(|a, b| a.created.total_cmp(&b.created).then_with(|| a.path.cmp(&b.path)));
}

/// For each session the index of its owner.
pub(crate) fn owners(sessions: &[UsageSession]) -> Vec<Option<usize>> {
    let places: HashMap<&str, usize> =
        sessions.iter().enumerate().map(|(at, session)| (session.path.as_str(), at)).collect();
    sessions.iter().map(|session| places.get(session.owner.as_deref()?).copied()).collect()
}

/// A session, its owner, the owner's owner, and so on. No session owns itself.
pub(crate) fn with_owners(owners: &[Option<usize>], at: usize) -> impl Iterator<Item = usize> + '_ {
    iter::successors(Some(at), |at| owners.get(*at).copied().flatten())
}

/// The days of UTC on which calls were made, in days since 1970. JavaScript makes a calendar from them.
#[doc(hidden)]
pub fn utc_days(sessions: &[UsageSession]) -> memory::Result<Vec<f64>> {
    let mut days: Vec<f64> = Vec::new();
    for call in sessions.iter().flat_map(|session| &session.usage.calls).filter(|call| !call.time.is_nan()) {
        let day = (call.time / DAY_MS).floor();
        if days.last() != Some(&day) {
            push(&mut days, day)?;
        }
    }
    days.sort_unstable_by(f64::total_cmp);
    days.dedup();
    Ok(days)
}

/// Adds up sessions, which must be sorted with the oldest first. `left_out` contains the files that could not be read
/// as sessions.
pub fn report(
    sessions: &[UsageSession],
    left_out: Vec<LeftOutFile>,
    calendar: &Calendar,
    options: &ReportOptions,
    id_of: &IdOf<'_>,
) -> Result<Report> {
    let mut adding = Adding::new(calendar, options);
    let mut copies = Copies::default();
    let is_limited = options.since > f64::NEG_INFINITY || options.until < f64::INFINITY;
    let by_path: HashMap<&str, &UsageSession> =
        sessions.iter().map(|session| (session.path.as_str(), session)).collect();
    let owners = owners(sessions);
    let mut subagents: HashMap<&str, usize> = HashMap::new();
    for (position, session) in sessions.iter().enumerate() {
        adding.begin(session)?;
        let root = with_owners(&owners, position).last().and_then(|root| sessions.get(root)).unwrap_or(session);
        if session.owner.is_some() {
            *subagents.entry(&root.path).or_default() += 1;
        }
        for (at, call) in session.usage.calls.iter().enumerate() {
            let has_time = !call.time.is_nan();
            if has_time && !(call.time >= options.since && call.time < options.until)
                || !copies.is_new(position, call)?
            {
                continue;
            }
            let rest = session.in_subagents.get(&(at as u32));
            if rest == Some(&Amounts::default()) {
                continue;
            }
            match has_time || !is_limited {
                true => adding.add(root, &Call { amounts: *rest.unwrap_or(&call.amounts), ..call.clone() })?,
                // It is not known whether the call is in that time.
                false => adding.left_out.without_time += 1,
            }
        }
    }
    let Adding { total, left_out: calls, models, groups, .. } = adding;
    let session_of = |path: &str| {
        let Some(session) = by_path.get(path) else { return Ok(None) };
        let [id, cwd, title] = [&session.id, &session.cwd, &session.title].map(|text| Text::copy_of(text));
        let subagents = subagents.get(path).copied().unwrap_or_default();
        Ok(Some(RowSession { id: id?, cwd: cwd?, title: title?, subagents }))
    };
    let by = groups.into_iter().map(|group| Ok((group.grouping, group.finish(&models.all, &session_of)?)));
    let by = by.collect::<memory::Result<_>>()?;
    let entries = sessions.iter().map(|session| session.usage.entries).sum();
    let bytes = sessions.iter().map(|session| session.usage.bytes).sum();
    let damaged_lines = sessions.iter().map(|session| session.usage.damaged).sum();
    let subagents = sessions.iter().filter(|session| session.owner.is_some()).count();
    Ok(Report {
        sessions: sessions.len() - subagents,
        subagents,
        entries,
        bytes,
        total,
        by,
        largest: largest(sessions, options.largest, id_of)?,
        left_out: LeftOut { calls, damaged_lines, files: left_out },
    })
}

/// How often each call was counted. Calls are identified by their content, not by ids, because copies in migrated forks
/// have ids of their own.
#[derive(Default)]
struct Copies(HashMap<(u64, u64), Counted>);

struct Counted {
    /// How often the call occurs in the session where it occurs most.
    times: u32,
    /// The session with the call that was read last, and how often the call occurred in it so far.
    session: usize,
    in_session: u32,
}

impl Copies {
    /// Counts a call. Returns whether it now occurs more often in this session than in every session before.
    fn is_new(&mut self, session: usize, call: &Call) -> memory::Result<bool> {
        self.0.try_reserve(1)?;
        Ok(match self.0.entry((call.identity, call.time.to_bits())) {
            Entry::Vacant(entry) => {
                entry.insert(Counted { times: 1, session, in_session: 1 });
                true
            }
            Entry::Occupied(mut entry) => {
                let counted = entry.get_mut();
                if counted.session != session {
                    (counted.session, counted.in_session) = (session, 0);
                }
                counted.in_session += 1;
                let is_new = counted.in_session > counted.times;
                counted.times = counted.times.max(counted.in_session);
                is_new
            }
        })
    }
}

/// Distinct names, in the order in which they were added.
#[derive(Default)]
struct Names<'a> {
    positions: HashMap<Cow<'a, [u8]>, usize>,
    all: Vec<Cow<'a, [u8]>>,
}

impl<'a> Names<'a> {
    fn position(&mut self, name: Cow<'a, [u8]>) -> memory::Result<usize> {
        if let Some(position) = self.positions.get(&*name) {
            return Ok(*position);
        }
        let position = self.all.len();
        self.positions.try_reserve(1)?;
        self.positions.insert(name.clone(), position);
        push(&mut self.all, name)?;
        Ok(position)
    }
}

/// The rows of a grouping while calls are added.
struct Group<'a> {
    grouping: Grouping,
    /// The keys of the rows, except for the grouping by model.
    keys: Names<'a>,
    rows: Vec<GroupRow>,
    /// The row of the last call, and its date; minus infinity for calls without a time.
    current: (usize, f64),
}

#[derive(Clone, Default)]
struct GroupRow {
    /// A date in the row's period, for sorting: the names of years beyond 9999 begin with a sign and do not sort
    /// correctly.
    date: f64,
    sum: Sum,
    /// By the index of the model.
    models: Vec<(usize, Sum)>,
}

impl GroupRow {
    /// Adds a call of a model.
    fn add(&mut self, model: usize, amounts: &Amounts) -> memory::Result<()> {
        self.sum.add(amounts);
        match self.models.iter_mut().find(|(known, _)| *known == model) {
            Some((_, sum)) => {
                sum.add(amounts);
                Ok(())
            }
            None => {
                let mut sum = Sum::default();
                sum.add(amounts);
                push(&mut self.models, (model, sum))
            }
        }
    }
}

struct Adding<'a, 'o> {
    calendar: &'o Calendar,
    total: Sum,
    left_out: LeftOutCalls,
    models: Names<'a>,
    /// The indexes of the current session's models.
    session_models: Vec<usize>,
    groups: Vec<Group<'a>>,
}

impl<'a, 'o> Adding<'a, 'o> {
    fn new(calendar: &'o Calendar, options: &ReportOptions) -> Self {
        let group = |grouping: &Grouping| Group {
            grouping: *grouping,
            keys: Names::default(),
            rows: Vec::new(),
            current: (0, f64::NAN),
        };
        Self {
            calendar,
            total: Sum::default(),
            left_out: LeftOutCalls::default(),
            models: Names::default(),
            session_models: Vec::new(),
            groups: options.by.iter().map(group).collect(),
        }
    }

    fn begin(&mut self, session: &'a UsageSession) -> memory::Result<()> {
        self.session_models.clear();
        for name in &session.usage.models {
            push(&mut self.session_models, self.models.position(name.into())?)?;
        }
        Ok(())
    }

    /// Adds a call of the current session. It counts for the session `charged`.
    fn add(&mut self, charged: &'a UsageSession, call: &Call) -> Result<()> {
        // The call is in no sum, so its other errors do not count.
        if call.errors.contains(CallErrors::NO_USAGE) {
            self.left_out.without_usage += 1;
            return Ok(());
        }
        let (amounts, errors) = self.addable(call);
        self.left_out.add(errors);
        let Some(&model) = self.session_models.get(call.model as usize) else {
            return Err(Error::internal(format_args!(
                "a call of model {} of {}",
                call.model,
                self.session_models.len()
            )));
        };
        self.total.add(&amounts);
        for group in &mut self.groups {
            let at = group.row_of(charged, model, call.time, self.calendar)?;
            if group.rows.len() <= at {
                resize(&mut group.rows, at + 1)?;
            }
            if let Some(row) = group.rows.get_mut(at) {
                row.date = group.current.1;
                row.add(model, &amounts)?;
            }
        }
        Ok(())
    }

    /// The amounts of a call, without amounts that would make a sum infinite, and its errors. Only the total is
    /// checked: because no amount is negative, no other sum is larger.
    fn addable(&self, call: &Call) -> (Amounts, CallErrors) {
        let (mut amounts, mut errors) = (call.amounts.to_array(), call.errors);
        for (amount, sum) in amounts.iter_mut().zip(self.total.amounts.to_array()) {
            if (*amount + sum).is_infinite() {
                *amount = 0.0;
                errors.add(CallErrors::INFINITE);
            }
        }
        (Amounts::from_array(amounts), errors)
    }
}

impl<'a> Group<'a> {
    /// The index of the row of a call.
    fn row_of(
        &mut self,
        charged: &'a UsageSession,
        model: usize,
        time: f64,
        calendar: &Calendar,
    ) -> memory::Result<usize> {
        match self.grouping {
            Grouping::Model => Ok(model),
            Grouping::Session => self.keys.position(charged.path.as_bytes().into()),
            Grouping::Project => self.keys.position((&charged.cwd).into()),
            Grouping::Period(period) => {
                let date = if time.is_nan() { f64::NEG_INFINITY } else { calendar.date_of(time) };
                if date != self.current.1 {
                    let label = if time.is_nan() { "(no date)".to_owned() } else { period.label(date) };
                    self.current = (self.keys.position(label.into_bytes().into())?, date);
                }
                Ok(self.current.0)
            }
        }
    }

    /// The sorted rows: periods by time, other rows by cost.
    fn finish(
        self,
        models: &[Cow<'a, [u8]>],
        session_of: &dyn Fn(&str) -> memory::Result<Option<RowSession>>,
    ) -> memory::Result<Vec<UsageRow>> {
        let is_of_models = self.grouping == Grouping::Model;
        let keys = if is_of_models { models } else { &self.keys.all };
        let mut rows = collect(keys.iter().zip(self.rows).filter(|(_, row)| row.sum.calls > 0))?;
        rows.sort_unstable_by(|(a_key, a), (b_key, b)| match self.grouping {
            Grouping::Period(_) => a.date.total_cmp(&b.date),
            _ => b.sum.order(&a.sum).then_with(|| a_key.cmp(b_key)),
        });
        let mut finished = Vec::new();
        for (key, mut row) in rows {
            let session = match self.grouping {
                Grouping::Session => std::str::from_utf8(key).map_or(Ok(None), session_of)?,
                _ => None,
            };
            let mut in_row = Vec::new();
            if !is_of_models {
                row.models.sort_unstable_by(|(a, left), (b, right)| {
                    right.order(left).then_with(|| models.get(*a).cmp(&models.get(*b)))
                });
                for (model, sum) in row.models {
                    let key = Text::copy_of(models.get(model).map_or(&[], |name| name))?;
                    push(&mut in_row, UsageRow { key, session: None, sum, models: Vec::new() })?;
                }
            }
            push(&mut finished, UsageRow { key: Text::copy_of(key)?, session, sum: row.sum, models: in_row })?;
        }
        Ok(finished)
    }
}

/// The largest entries of all sessions.
fn largest(sessions: &[UsageSession], count: usize, id_of: &IdOf<'_>) -> memory::Result<Vec<LargeRow>> {
    let mut all = Vec::new();
    for session in sessions {
        for entry in session.usage.largest.iter().take(count) {
            let at = all.len();
            push(&mut all, (at, session, entry))?;
        }
    }
    // Entries of one size stay in their order. A stable sort would allocate memory, and the process would end without
    // it.
    all.sort_unstable_by_key(|(at, _, entry)| (Reverse(entry.bytes), *at));
    let mut rows = Vec::new();
    for (_, session, entry) in all.into_iter().take(count) {
        let row = LargeRow {
            path: copy_of(&session.path)?,
            session_id: Text::copy_of(&session.id)?,
            entry_id: Text(id_of(session, entry).unwrap_or_default()),
            bytes: entry.bytes,
            offset: entry.offset,
        };
        push(&mut rows, row)?;
    }
    Ok(rows)
}

#[cfg(test)]
mod tests;
