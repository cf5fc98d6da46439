//! A report as JSON, the form in which it is passed to JavaScript.

use std::collections::HashMap;
use std::fmt::{self, Write};

use super::report::{LeftOutCalls, LeftOutFile, Report, Sum, Table, UsageRow, UsageSession};
use crate::json::quoted;
use crate::summary::usage::session_usage::LargeEntry;

/// The JSON text of a report over sessions. `id_of` gives the id of a large entry of a session.
pub fn to_json(
    report: &Report,
    sessions: &[UsageSession],
    left_out: &[LeftOutFile],
    id_of: &dyn Fn(&UsageSession, &LargeEntry) -> Option<Vec<u8>>,
) -> String {
    let mut out = String::new();
    let all = All { report, sessions, left_out, id_of };
    // Writing to a string does not fail.
    let _ = all.write(&mut out);
    out
}

struct All<'a> {
    report: &'a Report,
    sessions: &'a [UsageSession],
    left_out: &'a [LeftOutFile],
    id_of: &'a dyn Fn(&UsageSession, &LargeEntry) -> Option<Vec<u8>>,
}

impl All<'_> {
    fn write(&self, out: &mut String) -> fmt::Result {
        let Report { entries, bytes, total, tables, kinds, growth, .. } = self.report;
        let subagents = self.sessions.iter().filter(|session| session.owner.is_some()).count();
        write!(out, "{{\"sessions\":{},\"subagents\":{subagents},", self.sessions.len() - subagents)?;
        write!(out, "\"entries\":{entries},\"bytes\":{bytes},\"total\":{{")?;
        sum(out, total)?;
        out.push_str("},\"by\":{");
        list(out, tables, |out, table| self.table(out, table))?;
        out.push_str("},\"kinds\":[");
        list(out, kinds, |out, kind| {
            write!(out, "{{\"kind\":{},\"entries\":{},\"bytes\":{}}}", quoted(&kind.name), kind.entries, kind.bytes)
        })?;
        out.push_str("],\"largest\":[");
        list(out, &self.report.largest, |out, (session, at)| self.large(out, *session, *at))?;
        out.push_str("],\"growth\":[");
        list(out, growth, |out, (time, bytes)| write!(out, "{{\"time\":{time},\"bytes\":{bytes}}}"))?;
        out.push_str("],\"leftOut\":{");
        self.left_out(out)?;
        out.push_str("}}");
        Ok(())
    }

    fn model(&self, model: usize) -> String {
        quoted(self.report.models.get(model).map(Vec::as_slice).unwrap_or_default())
    }

    fn models(&self, out: &mut String, rows: &[(usize, Sum)]) -> fmt::Result {
        list(out, rows, |out, (model, one)| {
            write!(out, "{{\"key\":{},", self.model(*model))?;
            sum(out, one)?;
            out.push('}');
            Ok(())
        })
    }

    fn row(&self, out: &mut String, row: &UsageRow) -> fmt::Result {
        sum(out, &row.sum)?;
        out.push_str(",\"models\":[");
        self.models(out, &row.models)?;
        out.push_str("]}");
        Ok(())
    }

    fn table(&self, out: &mut String, table: &Table) -> fmt::Result {
        match table {
            Table::Models(rows) => {
                out.push_str("\"model\":[");
                self.models(out, rows)?;
            }
            Table::Named(grouping, rows) => {
                write!(out, "\"{}\":[", grouping.name())?;
                list(out, rows, |out, (name, row)| {
                    write!(out, "{{\"key\":{},", quoted(name))?;
                    self.row(out, row)
                })?;
            }
            Table::Sessions(rows) => {
                out.push_str("\"session\":[");
                let mut subagents: HashMap<&str, usize> = HashMap::new();
                for owner in self.sessions.iter().filter_map(|session| session.owner.as_deref()) {
                    *subagents.entry(owner).or_default() += 1;
                }
                list(out, rows, |out, (position, row)| {
                    let Some(session) = self.sessions.get(*position) else { return Ok(()) };
                    let path = quoted(session.path.as_bytes());
                    let [id, cwd, title] = [&session.id, &session.cwd, &session.title].map(|text| quoted(text));
                    let subagents = subagents.get(session.path.as_str()).copied().unwrap_or_default();
                    write!(out, "{{\"key\":{path},\"id\":{id},\"cwd\":{cwd},\"title\":{title},")?;
                    write!(out, "\"subagents\":{subagents},")?;
                    self.row(out, row)
                })?;
            }
        }
        out.push(']');
        Ok(())
    }

    fn large(&self, out: &mut String, session: usize, at: usize) -> fmt::Result {
        let Some(session) = self.sessions.get(session) else { return Ok(()) };
        let Some(entry) = session.usage.largest.get(at) else { return Ok(()) };
        let kind = session.usage.kinds.get(entry.kind as usize).map(|kind| kind.name.as_slice()).unwrap_or_default();
        let id = (self.id_of)(session, entry).unwrap_or_default();
        let [session_id, id, kind] = [&*session.id, &*id, kind].map(quoted);
        let path = quoted(session.path.as_bytes());
        let (bytes, offset) = (entry.bytes, entry.offset.0);
        write!(
            out,
            "{{\"path\":{path},\"sessionId\":{session_id},\"entryId\":{id},\"kind\":{kind},\"bytes\":{bytes},\"offset\":{offset}}}"
        )
    }

    fn left_out(&self, out: &mut String) -> fmt::Result {
        let LeftOutCalls {
            without_usage,
            missing,
            not_numbers,
            negative,
            infinite,
            unknown_kinds,
            without_model,
            without_time,
        } = self.report.left_out;
        write!(out, "\"withoutUsage\":{without_usage},\"missing\":{missing},\"notNumbers\":{not_numbers},")?;
        write!(out, "\"negative\":{negative},\"infinite\":{infinite},\"unknownKinds\":{unknown_kinds},")?;
        write!(out, "\"withoutModel\":{without_model},\"withoutTime\":{without_time},")?;
        write!(out, "\"damagedLines\":{},\"files\":[", self.report.damaged)?;
        list(out, self.left_out, |out, file| {
            let [path, error] = [&file.path, &file.error].map(|text| quoted(text.as_bytes()));
            write!(out, "{{\"path\":{path},\"error\":{error}}}")
        })?;
        out.push(']');
        Ok(())
    }
}

fn sum(out: &mut String, sum: &Sum) -> fmt::Result {
    write!(out, "\"calls\":{}", sum.calls)?;
    for (name, amount) in ["input", "output", "cacheRead", "cacheWrite", "cost"].iter().zip(sum.amounts.to_array()) {
        write!(out, ",\"{name}\":{amount:?}")?;
    }
    Ok(())
}

/// Writes items with commas between them.
fn list<T>(out: &mut String, items: &[T], mut each: impl FnMut(&mut String, &T) -> fmt::Result) -> fmt::Result {
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        each(out, item)?;
    }
    Ok(())
}
