//! Checks lines that the caller makes from its objects. The caller may have changed an object, but id, parent and type
//! stay as in the tree.

use crate::base::error::{Error, Result};
use crate::base::memory;
use crate::base::wtf8::shown;
use crate::format::entry::{read_line, EntryHead, EntryKind, Line};
use crate::format::header::{Header, Version, CURRENT_VERSION};
use crate::json::{quoted, ObjectText};
use crate::lines::line_reader::line_text;
use crate::session::Session;
use crate::tree::{ParentRef, RowNo};

#[doc(hidden)]
impl Session {
    /// The line of a header object. Type, version and id are set to the session's, even if the caller changed the
    /// object.
    pub fn header_as_known(&self, line: Vec<u8>) -> Result<Vec<u8>> {
        let is_ours = |header: Header| header.id == self.id && header.version == Version::Current;
        let is_known = |line: &str| Ok(Header::read(line)?.is_some_and(is_ours));
        restored(line, "The session's header", is_known, |object| {
            object.set("type", "\"session\"")?;
            object.set("version", CURRENT_VERSION.to_string())?;
            object.set("id", quoted(&self.id)?)
        })
    }

    /// The line of the object of an entry that was created here, with the tree's id, parent and type: changing them in
    /// an object does not change the session. Fails if the line is not an object, or if its type is unknown and was
    /// changed.
    pub fn line_as_known(&self, row: RowNo, line: Vec<u8>) -> Result<Vec<u8>> {
        let tree = self.tree();
        let id = tree.id_of(row);
        let known = tree.row(row).ok_or_else(|| Error::internal(format_args!("there is no row {row}")))?;
        let is_row =
            |head: &EntryHead<'_>| head.kind == known.kind && *head.id == *id && tree.has_parent(known, &head.parent);
        let is_known = |line: &str| read_line(line, |line| matches!(line, Line::Entry(head) if is_row(&head)));
        restored(line, &format!("Entry {}", shown(id)), is_known, |object| {
            object.set("id", quoted(id)?)?;
            let parent = match known.parent {
                ParentRef::Id(parent) => quoted(tree.id_bytes(parent))?,
                _ => "null".to_owned(),
            };
            object.set("parentId", parent)?;
            // The tree does not store the name of an unknown type.
            if known.kind != EntryKind::Unknown {
                object.set("type", quoted(known.kind.name().as_bytes())?)?;
            }
            Ok(())
        })
    }
}

/// The line itself if it is as known, else with the changes of `edit`. `what` names it in errors.
fn restored(
    line: Vec<u8>,
    what: &str,
    is_known: impl Fn(&str) -> memory::Result<bool>,
    edit: impl FnOnce(&mut ObjectText<'_>) -> memory::Result<()>,
) -> Result<Vec<u8>> {
    if is_known(&line_text(&line)?)? {
        return Ok(line);
    }
    let text = line_text(&line)?;
    let not_an_object = || Error::invalid(format!("{what} cannot be written: its JSON is not an object"));
    let mut object = ObjectText::read(&text)?.ok_or_else(not_an_object)?;
    edit(&mut object)?;
    let edited = object.text()?;
    if is_known(&line_text(&edited)?)? {
        Ok(edited)
    } else {
        Err(Error::invalid(format!("{what} cannot be written: its type was changed")))
    }
}

#[cfg(test)]
mod tests;
