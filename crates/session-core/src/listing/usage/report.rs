//! A report of usage, and how it is serialized for JavaScript.

use std::collections::HashMap;

use serde::ser::Serializer;
use serde::Serialize;

use super::calendar::Period;
use crate::base::error::Error;
use crate::base::memory::{self, copy_of_bytes};
use crate::base::wtf8::to_string_lossy;
use crate::format::other_format::OtherFormat;
use crate::summary::usage::call::{Amounts, CallErrors};
use crate::summary::usage::session_usage::SessionUsage;

/// A session that will be added up.
#[derive(Debug)]
pub struct UsageSession {
    /// The path of its file.
    pub path: String,
    /// The session's id, WTF-8, as all texts here.
    pub id: Vec<u8>,
    /// Its working directory.
    pub cwd: Vec<u8>,
    /// Its name, else the beginning of the first message.
    pub title: Vec<u8>,
    /// The header's time in ms since 1970; NaN if it is not a time.
    pub created: f64,
    /// The usage of its calls.
    pub usage: SessionUsage,
    /// For a subagent's session, the path of the session that owns it, which may also be a subagent's.
    pub owner: Option<String>,
    /// Tool results that name sessions of subagents which are added too, by the index of their call: the part of each
    /// that is in none of these sessions. A result without such a part is not added.
    pub in_subagents: HashMap<u32, Amounts>,
}

/// A file that is not in the sums, or a directory whose files are not, and the reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LeftOutFile {
    /// The path of the file or directory.
    pub path: String,
    /// The reason.
    pub error: String,
    /// The format of the file if it is not a session of pi. None for a damaged session, and for a file that cannot be
    /// read.
    pub other_format: Option<OtherFormat>,
}

impl From<Error> for LeftOutFile {
    fn from(error: Error) -> Self {
        Self { path: error.path().unwrap_or_default().to_owned(), error: error.to_string(), other_format: None }
    }
}

/// The key by which calls are added up. A key without any counted call has no row.
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
    /// Every grouping, by its name.
    pub const NAMED: [(&'static str, Self); 6] = [
        ("model", Grouping::Model),
        ("day", Grouping::Period(Period::Day)),
        ("week", Grouping::Period(Period::Week)),
        ("month", Grouping::Period(Period::Month)),
        ("project", Grouping::Project),
        ("session", Grouping::Session),
    ];

    /// The grouping with this name.
    pub fn from_name(name: &[u8]) -> Option<Self> {
        Self::NAMED.iter().find(|(known, _)| known.as_bytes() == name).map(|(_, grouping)| *grouping)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::NAMED.iter().find(|(_, grouping)| *grouping == self).map_or("", |(name, _)| name)
    }
}

/// The options of a report.
#[derive(Debug, Clone)]
pub struct ReportOptions {
    /// Only calls from this time on, in ms since 1970, and before `until`. A call without a time is only in an
    /// unlimited report.
    pub since: f64,
    /// The time before which calls count, in ms since 1970.
    pub until: f64,
    /// The groupings. The report has one table for each.
    pub by: Vec<Grouping>,
    /// How many of the largest entries are listed.
    pub largest: usize,
}

/// Every call, by model, without entries.
impl Default for ReportOptions {
    fn default() -> Self {
        Self { since: f64::NEG_INFINITY, until: f64::INFINITY, by: vec![Grouping::Model], largest: 0 }
    }
}

/// A sum of calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Sum {
    /// The number of calls.
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

    /// Compares by cost, then by output.
    pub(super) fn order(&self, other: &Self) -> std::cmp::Ordering {
        let (a, b) = (&self.amounts, &other.amounts);
        a.cost.total_cmp(&b.cost).then_with(|| a.output.total_cmp(&b.output))
    }
}

/// A text in WTF-8. It is serialized as bytes, because it may contain lone surrogates, which serde's strings cannot. In
/// human-readable formats, such as JSON, it is a string with U+FFFD for each of them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Text(pub Vec<u8>);

impl Text {
    pub(super) fn copy_of(text: &[u8]) -> memory::Result<Self> {
        copy_of_bytes(text).map(Self)
    }
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.serialize_str(&to_string_lossy(&self.0))
        } else {
            serializer.serialize_bytes(&self.0)
        }
    }
}

/// The sum of one key of a grouping.
#[derive(Debug, Serialize)]
pub struct UsageRow {
    /// The path of a session; a working directory; a period (`2026-11-22`, a week's Monday, `2026-11`, `(no date)`); or
    /// a model or another kind of call: `provider/model`, `(no provider)/model`, `provider/(no model)`, `(no model)`;
    /// `(tool x)`, `(compaction)`, `(branch_summary)`; or `(other)`, all after the first 1,000 of a session.
    pub key: Text,
    /// The session, in a row of a session.
    #[serde(flatten)]
    pub session: Option<RowSession>,
    /// The sum of all its calls.
    #[serde(flatten)]
    pub sum: Sum,
    /// The sum of each model in the row; empty in a row of a model.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<UsageRow>,
}

/// The session of a row.
#[derive(Debug, Serialize)]
pub struct RowSession {
    /// Its id.
    pub id: Text,
    /// Its working directory.
    pub cwd: Text,
    /// Its name, else the beginning of the first message.
    pub title: Text,
    /// The number of sessions of subagents in its row.
    pub subagents: usize,
}

/// A large entry.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LargeRow {
    /// The path of its session's file.
    pub path: String,
    /// The id of its session.
    pub session_id: Text,
    /// The id of the entry; empty if its line has none, or has changed.
    pub entry_id: Text,
    /// The length of its line in bytes, with the newline.
    pub bytes: u64,
    /// The position of its line in the file.
    pub offset: u64,
}

/// The numbers of calls with errors. For most errors an amount of the call is left out of the sums, and its other
/// amounts are counted. A call may have several errors.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LeftOutCalls {
    /// Calls without usage, which are in no sum.
    pub without_usage: u64,
    /// Calls with an amount that is missing or null.
    pub missing: u64,
    /// Calls with an amount that is not a number.
    pub not_numbers: u64,
    /// Calls with a negative amount.
    pub negative: u64,
    /// Calls with an amount that is larger than a double, or would make a sum so large.
    pub infinite: u64,
    /// Calls with an amount of a kind that this release does not know.
    pub unknown_kinds: u64,
    /// Calls whose provider or model has no name. All their amounts are counted.
    pub without_model: u64,
    /// Calls without a time. All their amounts are counted in an unlimited report; in a limited one they are in no sum.
    pub without_time: u64,
}

impl LeftOutCalls {
    /// Counts the errors of a call with usage.
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

/// Calls, lines and files that are not in the sums.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LeftOut {
    /// Calls, by their errors.
    #[serde(flatten)]
    pub calls: LeftOutCalls,
    /// Lines that are not entries.
    pub damaged_lines: u64,
    /// Files and directories, with the reasons.
    pub files: Vec<LeftOutFile>,
}

/// The sums over sessions.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// The number of sessions, without sessions of subagents. Only `total`, `by` and `left_out.calls` are limited by
    /// `since` and `until`.
    pub sessions: usize,
    /// The number of sessions of subagents.
    pub subagents: usize,
    /// The number of entries.
    pub entries: u64,
    /// The number of bytes in their lines.
    pub bytes: u64,
    /// The sum of all calls.
    pub total: Sum,
    /// The rows of each grouping.
    #[serde(serialize_with = "as_object")]
    pub by: Vec<(Grouping, Vec<UsageRow>)>,
    /// The largest entries, the largest first.
    pub largest: Vec<LargeRow>,
    /// Calls, lines and files that are not in the sums.
    pub left_out: LeftOut,
}

fn as_object<S: Serializer>(tables: &[(Grouping, Vec<UsageRow>)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(tables.iter().map(|(grouping, rows)| (grouping.name(), rows)))
}
