//! A report as JSON, the form in which it is passed to JavaScript.

use std::collections::HashMap;

use serde::ser::Error as _;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::report::{LeftOutCalls, LeftOutFile, Report, Sum, Table, UsageRow, UsageSession};
use crate::base::error::Result;
use crate::base::memory::{self, collect, extend, push};
use crate::json::{json_of, quoted};
use crate::summary::usage::session_usage::LargeEntry;

/// The JSON text of a report over sessions. `id_of` gives the id of a large entry of a session.
pub fn to_json(
    report: &Report,
    sessions: &[UsageSession],
    left_out: &[LeftOutFile],
    id_of: &dyn Fn(&UsageSession, &LargeEntry) -> Option<Vec<u8>>,
) -> Result<String> {
    let subagents = sessions.iter().filter(|session| session.owner.is_some()).count();
    let kinds = report.kinds.iter();
    let large = |(session, at): &(usize, usize)| {
        let session = sessions.get(*session)?;
        let entry = session.usage.largest.get(*at)?;
        Some(LargeJson {
            path: &session.path,
            session_id: Text(&session.id),
            entry_id: Text(id_of(session, entry).unwrap_or_default()),
            kind: Text(&session.usage.kinds.get(entry.kind as usize)?.name),
            bytes: entry.bytes,
            offset: entry.offset.0,
        })
    };
    let by = report.tables.iter().map(|table| rows_of(table, report, sessions)).collect::<memory::Result<_>>();
    let report = ReportJson {
        sessions: sessions.len() - subagents,
        subagents,
        entries: report.entries,
        bytes: report.bytes,
        total: &report.total,
        by: by?,
        kinds: collect(kinds.map(|kind| KindJson {
            kind: Text(&kind.name),
            entries: kind.entries,
            bytes: kind.bytes,
        }))?,
        largest: collect(report.largest.iter().filter_map(large))?,
        growth: collect(report.growth.iter().map(|&(time, bytes)| GrowthJson { time, bytes }))?,
        left_out: LeftOutJson { calls: report.left_out, damaged_lines: report.damaged, files: left_out },
    };
    Ok(json_of(&report)?)
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ReportJson<'a> {
    sessions: usize,
    subagents: usize,
    entries: u64,
    bytes: u64,
    total: &'a Sum,
    #[serde(serialize_with = "as_object")]
    by: Vec<(&'static str, Vec<RowJson<'a>>)>,
    kinds: Vec<KindJson<'a>>,
    largest: Vec<LargeJson<'a>>,
    growth: Vec<GrowthJson>,
    left_out: LeftOutJson<'a>,
}

#[derive(Serialize)]
struct RowJson<'a> {
    key: Text<&'a [u8]>,
    #[serde(flatten)]
    session: Option<SessionJson<'a>>,
    #[serde(flatten)]
    sum: &'a Sum,
    #[serde(skip_serializing_if = "Option::is_none")]
    models: Option<Vec<RowJson<'a>>>,
}

#[derive(Serialize)]
struct SessionJson<'a> {
    id: Text<&'a [u8]>,
    cwd: Text<&'a [u8]>,
    title: Text<&'a [u8]>,
    subagents: usize,
}

#[derive(Serialize)]
struct KindJson<'a> {
    kind: Text<&'a [u8]>,
    entries: u64,
    bytes: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LargeJson<'a> {
    path: &'a str,
    session_id: Text<&'a [u8]>,
    entry_id: Text<Vec<u8>>,
    kind: Text<&'a [u8]>,
    bytes: u64,
    offset: u64,
}

#[derive(Serialize)]
struct GrowthJson {
    time: f64,
    bytes: u64,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct LeftOutJson<'a> {
    #[serde(flatten)]
    calls: LeftOutCalls,
    damaged_lines: u64,
    files: &'a [LeftOutFile],
}

/// A text in WTF-8. It may have lone surrogates, which serde's strings do not.
struct Text<T>(T);

impl<T: AsRef<[u8]>> Serialize for Text<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let json = quoted(self.0.as_ref()).map_err(S::Error::custom)?;
        serde_json::from_str::<&RawValue>(&json).map_err(S::Error::custom)?.serialize(serializer)
    }
}

fn as_object<S: Serializer>(
    pairs: &[(&'static str, Vec<RowJson<'_>>)],
    serializer: S,
) -> std::result::Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().map(|(key, rows)| (key, rows)))
}

/// The rows of a table, and its name.
fn rows_of<'a>(
    table: &'a Table,
    report: &'a Report,
    sessions: &'a [UsageSession],
) -> memory::Result<(&'static str, Vec<RowJson<'a>>)> {
    let model = |(model, sum): &'a (usize, Sum)| {
        let name = report.models.get(*model).map(Vec::as_slice).unwrap_or_default();
        RowJson { key: Text(name), session: None, sum, models: None }
    };
    let row = |key: &'a [u8], session, row: &'a UsageRow| -> memory::Result<RowJson<'a>> {
        let models = Some(collect(row.models.iter().map(model))?);
        Ok(RowJson { key: Text(key), session, sum: &row.sum, models })
    };
    let mut made = Vec::new();
    let name = match table {
        Table::Models(rows) => {
            extend(&mut made, rows.iter().map(model))?;
            "model"
        }
        Table::Named(grouping, rows) => {
            rows.iter().try_for_each(|(key, sums)| push(&mut made, row(key, None, sums)?))?;
            grouping.name()
        }
        Table::Sessions(rows) => {
            let mut subagents: HashMap<&str, usize> = HashMap::new();
            for owner in sessions.iter().filter_map(|session| session.owner.as_deref()) {
                *subagents.entry(owner).or_default() += 1;
            }
            for (position, sums) in rows {
                let Some(session) = sessions.get(*position) else { continue };
                let subagents = subagents.get(session.path.as_str()).copied().unwrap_or_default();
                let [id, cwd, title] = [&session.id, &session.cwd, &session.title].map(|text| Text(text.as_slice()));
                let row = row(session.path.as_bytes(), Some(SessionJson { id, cwd, title, subagents }), sums)?;
                push(&mut made, row)?;
            }
            "session"
        }
    };
    Ok((name, made))
}
