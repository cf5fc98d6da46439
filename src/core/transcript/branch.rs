//! Entries of a branch as plain text, drawn by several threads.

use std::sync::Mutex;

use super::message::{DrawLayout, MessageWriter};
use crate::base::error::Result;
use crate::base::threads::{into_inner, locked, try_on_threads};
use crate::format::agent_message::Role;
use crate::format::body::BodyOf;
use crate::format::entry::EntryKind;
use crate::index::index::Index;
use crate::storage::storage::Storage;
use crate::tree::tree::RowNo;

/// How many entries a thread draws at once.
const ENTRIES_PER_TASK: usize = 64;
/// Longer lines, in bytes, are not read for their texts.
const MAX_LINE_BYTES: u32 = 16 << 20;
/// A line with more bytes of what is not shown is not read for its texts.
const MAX_UNSHOWN_BYTES: u32 = 64 << 10;

/// Entries as plain text, in order.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Transcript {
    pub text: Vec<u8>,
    /// Where each entry ends in the text. An entry that is not drawn ends where the one before it does.
    pub ends: Vec<usize>,
}

/// Draws the messages among these entries. One that is not in the storage, has a label, or takes more than plain text is not drawn.
pub fn draw(index: &Index, storage: &dyn Storage, rows: &[RowNo], layout: DrawLayout) -> Result<Transcript> {
    let shares: Vec<&[RowNo]> = rows.chunks(ENTRIES_PER_TASK).collect();
    let drawn = Mutex::new(Vec::with_capacity(shares.len()));
    try_on_threads(shares.len(), |writer: &mut MessageWriter, at| {
        let share = shares.get(at).copied().unwrap_or_default();
        let transcript = draw_share(index, storage, share, layout, writer)?;
        locked(&drawn).push((at, transcript));
        Ok(())
    })?;
    let mut drawn = into_inner(drawn);
    drawn.sort_unstable_by_key(|(at, _)| *at);
    let mut all = Transcript::default();
    for (_, Transcript { text, ends }) in drawn {
        all.ends.extend(ends.iter().map(|end| all.text.len() + end));
        all.text.extend_from_slice(&text);
    }
    Ok(all)
}

fn draw_share(
    index: &Index,
    storage: &dyn Storage,
    rows: &[RowNo],
    layout: DrawLayout,
    writer: &mut MessageWriter,
) -> Result<Transcript> {
    let mut drawn = Transcript::default();
    let shown: Vec<RowNo> = rows.iter().copied().filter(|row| is_message(index, *row)).collect();
    let mut rest = rows.iter();
    index.lines(storage, &shown, &mut |row, line, _| {
        let before = rest.by_ref().take_while(|other| **other != row).count();
        drawn.ends.resize(drawn.ends.len() + before, drawn.text.len());
        let start = drawn.text.len();
        if writer.push(line, layout, &mut drawn.text).is_none() {
            drawn.text.truncate(start);
        }
        drawn.ends.push(drawn.text.len());
        Ok(())
    })?;
    drawn.ends.resize(rows.len(), drawn.text.len());
    Ok(drawn)
}

fn is_message(index: &Index, row: RowNo) -> bool {
    let Some((entry, span)) = index.tree.row(row).zip(index.line_span(row)) else { return false };
    let unshown = index.bodies(row).iter().map(|(_, body)| *body).filter(|body| body.of != BodyOf::MessageContent);
    entry.kind == EntryKind::Message
        && matches!(entry.role(), Some(Role::User | Role::Assistant | Role::ToolResult))
        && index.tree.labels().row_of(entry.id).is_none()
        && span.len <= MAX_LINE_BYTES
        && unshown.map(|body| body.len).sum::<u32>() <= MAX_UNSHOWN_BYTES
}
