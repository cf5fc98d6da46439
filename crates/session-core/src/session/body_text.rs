//! The text of one body, even if its entry's line has moved.

use xxhash_rust::xxh3::xxh3_128;

use super::session::Session;
use crate::base::error::{Error, Result};
use crate::base::wtf8::shown;
use crate::format::body::BodyOf;
use crate::format::entry::{read_line_and_bodies, EntryKind};
use crate::index::read_entries::TakeBody;
use crate::tree::RowNo;

/// Identifies a body of an entry that was returned earlier.
#[derive(Debug)]
pub struct BodyPlace<'a> {
    /// The row of the entry at that time.
    pub row: RowNo,
    /// The id of the entry, WTF-8.
    pub id: &'a [u8],
    /// Which value of the entry the body is.
    pub of: BodyOf,
}

/// The known facts about a body that is not at its position any more.
#[derive(Debug)]
pub struct MissingBody {
    session: u128,
    kind: Option<EntryKind>,
    len: Option<usize>,
    /// Whether another file has the session's name. Then the body is read from that file.
    pub is_replaced: bool,
}

#[doc(hidden)]
impl Session {
    /// Calls `take` with the text of a body in the file; `take` returns false if it is not JSON. If the body is not at
    /// its position, the error comes with the known facts about it. With `checks_name` the body also counts as missing
    /// if another file has the session's name.
    pub fn body_text(
        &self,
        place: &BodyPlace<'_>,
        checks_name: bool,
        take: &mut TakeBody<'_>,
    ) -> Result<(), (Error, MissingBody)> {
        // Several lines may have this id, and rows have other numbers after another file was read.
        let is_there = self.tree().id_of(place.row) == place.id;
        let row = if is_there { Some(place.row) } else { self.tree().find(place.id) };
        let is_replaced = checks_name && self.is_replaced();
        let taken = match row {
            Some(_) if is_replaced => self.note_mismatch(Err(Error::elsewhere(self.file().unwrap_or_default()))),
            Some(row) => self.body_of(row, place.of, take),
            None => Err(Error::changed(self.file().unwrap_or_default(), format!("entry {} is gone", shown(place.id)))),
        };
        taken.map_err(|error| {
            let session = xxh3_128(self.id());
            let kind = row.and_then(|row| self.tree().row(row)).map(|row| row.kind);
            let len = row.filter(|_| !is_replaced).and_then(|row| self.body_len(row, place.of));
            (error, MissingBody { session, kind, len, is_replaced })
        })
    }

    /// Finds a body that was not at its position in the same session after it was read again, and calls `take` with its
    /// text. False if it is not the same session or entry.
    pub fn find_body(&self, place: &BodyPlace<'_>, missing: &MissingBody, take: &mut TakeBody<'_>) -> bool {
        let row = self.tree().find(place.id).filter(|_| xxh3_128(self.id()) == missing.session);
        let is_same_kind = |row: &RowNo| self.tree().row(*row).map(|row| row.kind) == missing.kind;
        let Some(row) = row.filter(is_same_kind) else { return false };
        let mut take = |text: &str| missing.len.is_none_or(|len| len == text.len()) && take(text);
        self.body_of(row, place.of, &mut take).is_ok()
    }

    fn body_len(&self, row: RowNo, of: BodyOf) -> Option<usize> {
        self.index.bodies(row).find(|body| body.of == of).map(|body| body.len as usize)
    }

    /// Calls `take` with the text of a body, found in the current line of the entry.
    fn body_of(&self, row: RowNo, of: BodyOf, take: &mut TakeBody<'_>) -> Result<()> {
        if self.body(row, of, take)? {
            return Ok(());
        }
        let changed = |how: &str| self.entry_changed(row, how);
        let line = match &self.storage {
            Some(storage) => self.note_mismatch(self.index.line(&**storage, row))?,
            None => None,
        };
        let line = line.ok_or_else(|| changed("has no line"))?;
        let found = read_line_and_bodies(&line, 0, |read, bodies| {
            let bodies = self.index.is_entry(row, &read).then_some(bodies);
            bodies.and_then(|bodies| bodies.iter().find(|body| body.of == of).copied())
        })?;
        let body = found.ok_or_else(|| changed(&format!("has no {} any more", of.name())))?;
        let text = line.get(body.from as usize..body.end() as usize).ok_or_else(|| {
            Error::internal(format_args!("{} of entry {} is not in its line", of.name(), shown(self.tree().id_of(row))))
        })?;
        if take(text) {
            Ok(())
        } else {
            Err(changed(&format!("has a {} that is not JSON", of.name())))
        }
    }
}
