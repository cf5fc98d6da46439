//! What a report of usage is.

use serde::Serialize;

use super::calendar::Period;
use crate::base::memory::{self, push};
use crate::summary::usage::call::{Amounts, CallErrors};
use crate::summary::usage::session_usage::{KindSize, SessionUsage};

/// A session to be added up.
#[derive(Debug)]
pub struct UsageSession {
    /// The path of its file.
    pub path: String,
    /// WTF-8, as the rest.
    pub id: Vec<u8>,
    /// Its working directory.
    pub cwd: Vec<u8>,
    /// Its name, else the beginning of the first message.
    pub title: Vec<u8>,
    /// The header's time in ms since 1970; NaN if it is not a time.
    pub created: f64,
    /// What its calls used.
    pub usage: SessionUsage,
    /// Of a subagent's session: the file of the session that it belongs to.
    pub owner: Option<String>,
}

/// A file that is not in the sums, or a directory whose files are not, and why.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct LeftOutFile {
    /// The path of the file or directory.
    pub path: String,
    /// Why it is left out.
    pub error: String,
}

/// What calls are added up by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grouping {
    /// The model.
    Model,
    /// The day, week or month.
    Period(Period),
    /// The working directory.
    Project,
    /// The session.
    Session,
}

impl Grouping {
    /// Their names.
    pub const NAMES: [&'static str; 6] = ["model", "day", "week", "month", "project", "session"];

    /// The grouping with this name.
    pub fn from_name(name: &[u8]) -> Option<Self> {
        Some(match name {
            b"model" => Grouping::Model,
            b"day" => Grouping::Period(Period::Day),
            b"week" => Grouping::Period(Period::Week),
            b"month" => Grouping::Period(Period::Month),
            b"project" => Grouping::Project,
            b"session" => Grouping::Session,
            _ => return None,
        })
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Grouping::Model => "model",
            Grouping::Period(Period::Day) => "day",
            Grouping::Period(Period::Week) => "week",
            Grouping::Period(Period::Month) => "month",
            Grouping::Project => "project",
            Grouping::Session => "session",
        }
    }
}

/// What is added up, and how.
#[derive(Debug, Clone)]
pub struct ReportOptions {
    /// Only calls from this time on, in ms since 1970, and before that one. A call without a time is only in an
    /// unlimited report.
    pub since: f64,
    /// The time before which calls count, in ms since 1970.
    pub until: f64,
    /// The groupings, each of which gives a table.
    pub by: Vec<Grouping>,
    /// How many of the largest entries are listed.
    pub largest: usize,
}

/// A sum of calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Sum {
    /// How many calls there are.
    pub calls: u64,
    /// Their tokens and their cost.
    #[serde(flatten)]
    pub amounts: Amounts,
}

impl Sum {
    /// Adds a call.
    pub(super) fn add(&mut self, amounts: &Amounts) {
        self.calls += 1;
        self.amounts.add(amounts);
    }

    /// Which is larger, by cost, then by output.
    pub(super) fn order(&self, other: &Self) -> std::cmp::Ordering {
        let (a, b) = (&self.amounts, &other.amounts);
        a.cost.total_cmp(&b.cost).then_with(|| a.output.total_cmp(&b.output))
    }
}

/// The sum of one key of a grouping, and of each model in it.
#[derive(Debug, Clone, Default)]
pub struct UsageRow {
    /// The sum of all its calls.
    pub sum: Sum,
    /// The models' positions in [`Report::models`].
    pub models: Vec<(usize, Sum)>,
}

impl UsageRow {
    /// Adds a call of a model.
    pub(super) fn add(&mut self, model: usize, amounts: &Amounts) -> memory::Result<()> {
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

/// A grouping's rows.
#[derive(Debug)]
pub enum Table {
    /// By the models' positions in [`Report::models`].
    Models(Vec<(usize, Sum)>),
    /// By the names of periods or projects.
    Named(Grouping, Vec<(Vec<u8>, UsageRow)>),
    /// By the sessions' positions.
    Sessions(Vec<(usize, UsageRow)>),
}

/// A large entry: its session's position, and its position in the session's list of the largest.
pub type LargeEntryAt = (usize, usize);

/// How many calls are left out of a sum, by what is wrong with them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LeftOutCalls {
    /// They have no usage.
    pub without_usage: u64,
    /// An amount is missing or null.
    pub missing: u64,
    /// An amount is not a number.
    pub not_numbers: u64,
    /// An amount is below 0.
    pub negative: u64,
    /// An amount is larger than a double holds, or makes a sum larger.
    pub infinite: u64,
    /// An amount is of a kind that this release does not know.
    pub unknown_kinds: u64,
    /// The provider or the model has no name.
    pub without_model: u64,
    /// There is no time.
    pub without_time: u64,
}

impl LeftOutCalls {
    /// Counts what is wrong with a call that has usage.
    pub(super) fn add(&mut self, errors: CallErrors) {
        let count = |number: &mut u64, error| *number += u64::from(errors.contains(error));
        count(&mut self.missing, CallErrors::MISSING);
        count(&mut self.not_numbers, CallErrors::NOT_A_NUMBER);
        count(&mut self.negative, CallErrors::NEGATIVE);
        count(&mut self.infinite, CallErrors::INFINITE);
        count(&mut self.unknown_kinds, CallErrors::UNKNOWN_KIND);
        count(&mut self.without_model, CallErrors::NO_MODEL);
        count(&mut self.without_time, CallErrors::NO_TIME);
    }
}

/// The sums over sessions.
#[derive(Debug)]
pub struct Report {
    /// How many entries there are.
    pub entries: u64,
    /// How many bytes their lines have.
    pub bytes: u64,
    /// The sum of all calls.
    pub total: Sum,
    /// The models' names.
    pub models: Vec<Vec<u8>>,
    /// A table for each grouping, in the order of [`ReportOptions::by`].
    pub tables: Vec<Table>,
    /// The largest first.
    pub kinds: Vec<KindSize>,
    /// The largest entries, the largest first.
    pub largest: Vec<LargeEntryAt>,
    /// Times in ms since 1970, and how many bytes there were by then.
    pub growth: Vec<(f64, u64)>,
    /// The calls that are not in the sums.
    pub left_out: LeftOutCalls,
    /// Lines that are not entries.
    pub damaged: u64,
}
