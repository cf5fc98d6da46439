//! The sums over sessions.
//!
//! A call that is in several sessions, because one was forked from the other, counts once. (If sessions repeat a call, it counts
//! as often as in the session that has it most often.) It counts for the oldest of these sessions, whichever is read first. Calls
//! are added one by one, the oldest session first and each in the order of its file, so that costs are the same to the last bit.
//!
//! What a subagent's session used counts for the session that it belongs to, and for that one's working directory.

use std::hash::Hash;

use hashbrown::hash_map::Entry;
use hashbrown::HashMap;

use super::calendar::{Calendar, DAY_MS};
use super::report::{Grouping, LargeEntryAt, LeftOutCalls, Report, ReportOptions, Sum, Table, UsageRow, UsageSession};
use crate::base::memory::{self, collect, copy_of_bytes, push, resize};
use crate::summary::usage::call::{Amounts, Call, CallErrors};
use crate::summary::usage::session_usage::KindSize;

/// Brings sessions into the order in which they are added up: the oldest first.
pub(crate) fn sort_sessions(sessions: &mut [UsageSession]) {
    // NaN comes last.
    sessions.sort_by(|a, b| a.created.total_cmp(&b.created).then_with(|| a.path.cmp(&b.path)));
}

/// The days of UTC that calls were made on, in days since 1970: JavaScript makes a calendar of them.
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

/// Adds up sessions, of which the oldest come first.
pub fn report(sessions: &[UsageSession], calendar: &Calendar, options: &ReportOptions) -> memory::Result<Report> {
    let mut adding = Adding::new(calendar, options);
    let mut copies = Copies::default();
    let is_limited = options.since > f64::NEG_INFINITY || options.until < f64::INFINITY;
    let positions: HashMap<&str, usize> =
        sessions.iter().enumerate().map(|(position, session)| (session.path.as_str(), position)).collect();
    let owner_of = |session: &UsageSession| positions.get(session.owner.as_deref()?).copied();
    for (position, session) in sessions.iter().enumerate() {
        adding.begin(session)?;
        let owner = owner_of(session).unwrap_or(position);
        let charged = sessions.get(owner).map_or((position, session), |session| (owner, session));
        for call in &session.usage.calls {
            let has_time = !call.time.is_nan();
            if has_time && !(call.time >= options.since && call.time < options.until)
                || !copies.is_new(position, call)?
            {
                continue;
            }
            match has_time || !is_limited {
                true => adding.add(charged, call)?,
                // Whether it is of that time is not known.
                false => adding.left_out.without_time += 1,
            }
        }
    }
    adding.finish(sessions)
}

/// How many of each call were counted.
#[derive(Default)]
struct Copies(HashMap<(u64, u64), Counted>);

struct Counted {
    /// The most that one session has.
    times: u32,
    /// The session that was read last, and how many it has so far.
    session: usize,
    in_session: u32,
}

impl Copies {
    /// Whether a session has a call more often than every session before it.
    fn is_new(&mut self, session: usize, call: &Call) -> memory::Result<bool> {
        reserve_one(&mut self.0)?;
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

fn reserve_one<K: Eq + Hash, V>(map: &mut HashMap<K, V>) -> memory::Result<()> {
    Ok(map.try_reserve(1)?)
}

/// Distinct names, in the order in which they came.
#[derive(Default)]
struct Names {
    positions: HashMap<Vec<u8>, usize>,
    names: Vec<Vec<u8>>,
}

impl Names {
    fn position(&mut self, name: &[u8]) -> memory::Result<usize> {
        if let Some(position) = self.positions.get(name) {
            return Ok(*position);
        }
        let position = self.names.len();
        reserve_one(&mut self.positions)?;
        self.positions.insert(copy_of_bytes(name)?, position);
        push(&mut self.names, copy_of_bytes(name)?)?;
        Ok(position)
    }
}

/// The rows of a grouping while calls are added.
struct Group {
    grouping: Grouping,
    /// Of periods and projects.
    names: Names,
    /// A date in each period, or minus infinity.
    dates: Vec<f64>,
    /// Of sessions: their positions, and the row of each position.
    sessions: Vec<usize>,
    session_rows: HashMap<usize, usize>,
    rows: Vec<UsageRow>,
    /// The row of the last call's session, project or date, as long as that stays the same.
    current: Option<usize>,
    /// The date of the current row.
    date: f64,
}

struct Adding<'a> {
    calendar: &'a Calendar,
    options: &'a ReportOptions,
    total: Sum,
    left_out: LeftOutCalls,
    models: Names,
    model_sums: Vec<Sum>,
    /// The positions of the current session's models.
    session_models: Vec<usize>,
    groups: Vec<Group>,
}

impl<'a> Adding<'a> {
    fn new(calendar: &'a Calendar, options: &'a ReportOptions) -> Self {
        let group = |grouping: &Grouping| Group {
            grouping: *grouping,
            names: Names::default(),
            dates: Vec::new(),
            sessions: Vec::new(),
            session_rows: HashMap::new(),
            rows: Vec::new(),
            current: None,
            date: f64::NAN,
        };
        Self {
            calendar,
            options,
            total: Sum::default(),
            left_out: LeftOutCalls::default(),
            models: Names::default(),
            model_sums: Vec::new(),
            session_models: Vec::new(),
            groups: options.by.iter().map(group).collect(),
        }
    }

    fn begin(&mut self, session: &UsageSession) -> memory::Result<()> {
        let models = &mut self.models;
        self.session_models.clear();
        for name in &session.usage.models {
            push(&mut self.session_models, models.position(name)?)?;
        }
        resize(&mut self.model_sums, self.models.names.len())?;
        for group in self.groups.iter_mut().filter(|group| !matches!(group.grouping, Grouping::Period(_))) {
            group.current = None;
        }
        Ok(())
    }

    /// Adds a call of the current session, which counts for a session at a position.
    fn add(&mut self, charged: (usize, &UsageSession), call: &Call) -> memory::Result<()> {
        // It is not in the sums, whatever else it lacks.
        if call.errors.contains(CallErrors::NO_USAGE) {
            self.left_out.without_usage += 1;
            return Ok(());
        }
        let (amounts, errors) = self.addable(call);
        self.left_out.add(errors);
        let model = self.session_models.get(call.model as usize).copied().unwrap_or_default();
        self.total.add(&amounts);
        if let Some(sum) = self.model_sums.get_mut(model) {
            sum.add(&amounts);
        }
        for group in &mut self.groups {
            if let Some(row) = group.row(charged, call.time, self.calendar)? {
                row.add(model, &amounts)?;
            }
        }
        Ok(())
    }

    /// The amounts of a call without those that would make a sum infinite, and what is wrong with it. The total decides: no
    /// amount is below 0, so no other sum is larger.
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

    fn finish(self, sessions: &[UsageSession]) -> memory::Result<Report> {
        let mut kinds = Names::default();
        let mut sizes: Vec<KindSize> = Vec::new();
        for kind in sessions.iter().flat_map(|session| &session.usage.kinds) {
            match sizes.get_mut(kinds.position(&kind.name)?) {
                Some(size) => {
                    size.entries += kind.entries;
                    size.bytes += kind.bytes;
                }
                None => {
                    let name = copy_of_bytes(&kind.name)?;
                    push(&mut sizes, KindSize { name, entries: kind.entries, bytes: kind.bytes })?;
                }
            }
        }
        let (entries, bytes) =
            sizes.iter().fold((0, 0), |(entries, bytes), kind| (entries + kind.entries, bytes + kind.bytes));
        sizes.sort_unstable_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.name.cmp(&b.name)));
        let models = self.models.names;
        let tables = self.groups.into_iter().map(|group| match group.grouping {
            Grouping::Model => {
                let mut rows = collect(self.model_sums.iter().copied().enumerate().filter(|(_, sum)| sum.calls > 0))?;
                sort_models(&mut rows, &models);
                Ok(Table::Models(rows))
            }
            _ => group.finish(&models, sessions),
        });
        let tables = tables.collect::<memory::Result<_>>()?;
        Ok(Report {
            entries,
            bytes,
            total: self.total,
            models,
            tables,
            kinds: sizes,
            largest: largest(sessions, self.options.largest)?,
            growth: growth(sessions)?,
            left_out: self.left_out,
            damaged: sessions.iter().map(|session| session.usage.damaged).sum(),
        })
    }
}

impl Group {
    fn row(
        &mut self,
        (position, session): (usize, &UsageSession),
        time: f64,
        calendar: &Calendar,
    ) -> memory::Result<Option<&mut UsageRow>> {
        let at = match (self.grouping, self.current) {
            (Grouping::Model, _) => return Ok(None),
            (Grouping::Session | Grouping::Project, Some(at)) => at,
            (Grouping::Session, None) => *self.session_rows.entry(position).or_insert_with(|| {
                self.sessions.push(position);
                self.sessions.len() - 1
            }),
            (Grouping::Project, None) => self.names.position(&session.cwd)?,
            (Grouping::Period(period), current) => {
                let date = if time.is_nan() { f64::NAN } else { calendar.date_of(time) };
                match current.filter(|_| date == self.date) {
                    Some(at) => at,
                    None => {
                        self.date = date;
                        let label = if date.is_nan() { "(no date)".to_owned() } else { period.label(date) };
                        let at = self.names.position(label.as_bytes())?;
                        // The names of years beyond 9999 begin with a sign.
                        if at == self.dates.len() {
                            push(&mut self.dates, if date.is_nan() { f64::NEG_INFINITY } else { date })?;
                        }
                        at
                    }
                }
            }
        };
        self.current = Some(at);
        if self.rows.len() <= at {
            resize(&mut self.rows, at + 1)?;
        }
        Ok(self.rows.get_mut(at))
    }

    /// The rows in their order: periods by time, the others by cost.
    fn finish(self, models: &[Vec<u8>], sessions: &[UsageSession]) -> memory::Result<Table> {
        let mut rows = self.rows;
        rows.iter_mut().for_each(|row| sort_models(&mut row.models, models));
        if self.grouping == Grouping::Session {
            let mut rows = collect(self.sessions.into_iter().zip(rows))?;
            let path = |position: usize| sessions.get(position).map(|session| &session.path);
            rows.sort_unstable_by(|a, b| b.1.sum.order(&a.1.sum).then_with(|| path(a.0).cmp(&path(b.0))));
            return Ok(Table::Sessions(rows));
        }
        let rows = self.names.names.into_iter().zip(rows);
        if let Grouping::Period(_) = self.grouping {
            let mut rows = collect(self.dates.into_iter().zip(rows))?;
            rows.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
            return Ok(Table::Named(self.grouping, collect(rows.into_iter().map(|(_, row)| row))?));
        }
        let mut rows = collect(rows)?;
        rows.sort_unstable_by(|a, b| b.1.sum.order(&a.1.sum).then_with(|| a.0.cmp(&b.0)));
        Ok(Table::Named(self.grouping, rows))
    }
}

fn sort_models(rows: &mut [(usize, Sum)], names: &[Vec<u8>]) {
    rows.sort_unstable_by(|(a, left), (b, right)| right.order(left).then_with(|| names.get(*a).cmp(&names.get(*b))));
}

/// The largest entries of all sessions.
fn largest(sessions: &[UsageSession], count: usize) -> memory::Result<Vec<LargeEntryAt>> {
    let all = sessions.iter().enumerate().flat_map(|(position, session)| {
        session.usage.largest.iter().take(count).enumerate().map(move |(at, entry)| (entry.bytes, position, at))
    });
    let mut all = collect(all)?;
    all.sort_unstable_by_key(|(bytes, position, at)| (std::cmp::Reverse(*bytes), *position, *at));
    collect(all.into_iter().take(count).map(|(_, position, at)| (position, at)))
}

/// The largest number of steps in which growth is given.
const STEPS: u64 = 60;

/// The bytes of all sessions after equal numbers of entries, in the order of their times, to the minute.
fn growth(sessions: &[UsageSession]) -> memory::Result<Vec<(f64, u64)>> {
    let mut minutes = collect(sessions.iter().flat_map(|session| &session.usage.minutes))?;
    minutes.sort_unstable_by_key(|minute| minute.minute);
    let all = minutes.iter().map(|minute| minute.entries).sum::<u64>().max(1);
    let mut steps: Vec<(f64, u64)> = Vec::new();
    let (mut entries, mut bytes) = (0, 0);
    for (at, minute) in minutes.iter().enumerate() {
        let before = entries * STEPS / all;
        entries += minute.entries;
        bytes += minute.bytes;
        if entries * STEPS / all != before || at + 1 == minutes.len() {
            steps.push((minute.minute as f64 * 60_000.0, bytes));
        }
    }
    Ok(steps)
}

#[cfg(test)]
mod tests;
