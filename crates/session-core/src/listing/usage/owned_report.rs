//! A report that borrows nothing, so that it can be sent to another thread.

use std::borrow::Cow;

use super::report::{LargeRow, LeftOut, Report, RowSession, Text, UsageRow};
use crate::base::memory::{copy_of, owned, Result};

fn owned_text(Text(text): Text<'_>) -> Result<Text<'static>> {
    Ok(Text(Cow::Owned(owned(text)?)))
}

fn all<T, U>(list: Vec<T>, each: impl Fn(T) -> Result<U>) -> Result<Vec<U>> {
    list.into_iter().map(each).collect()
}

impl Report<'_> {
    /// The report with owned texts.
    ///
    /// # Errors
    ///
    /// `OutOfMemory`: an allocation fails.
    pub fn into_owned(self) -> Result<Report<'static>> {
        Ok(Report {
            sessions: self.sessions,
            subagents: self.subagents,
            entries: self.entries,
            bytes: self.bytes,
            total: self.total,
            by: all(self.by, |(grouping, rows)| Ok((grouping, all(rows, owned_row)?)))?,
            largest: all(self.largest, owned_large)?,
            left_out: LeftOut {
                calls: self.left_out.calls,
                damaged_lines: self.left_out.damaged_lines,
                files: Cow::Owned(self.left_out.files.into_owned()),
            },
        })
    }
}

fn owned_row(row: UsageRow<'_>) -> Result<UsageRow<'static>> {
    let owned_session = |RowSession { id, cwd, title, subagents }: RowSession<'_>| -> Result<_> {
        Ok(RowSession { id: owned_text(id)?, cwd: owned_text(cwd)?, title: owned_text(title)?, subagents })
    };
    Ok(UsageRow {
        key: owned_text(row.key)?,
        session: row.session.map(owned_session).transpose()?,
        sum: row.sum,
        models: all(row.models, owned_row)?,
    })
}

fn owned_large(row: LargeRow<'_>) -> Result<LargeRow<'static>> {
    Ok(LargeRow {
        path: Cow::Owned(copy_of(&row.path)?),
        session_id: owned_text(row.session_id)?,
        entry_id: owned_text(row.entry_id)?,
        bytes: row.bytes,
        offset: row.offset,
    })
}
