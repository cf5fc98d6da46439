//! Lines that the caller makes from its objects. The caller may have changed an object, but id, parent and type stay those of
//! the tree.

use crate::base::error::{Error, Result};
use crate::base::memory;
use crate::base::wtf8::shown;
use crate::format::entry::{read_line, EntryHead, EntryKind, Line};
use crate::format::header::{Header, Version, CURRENT_VERSION};
use crate::io::line_reader::line_text;
use crate::json::{quoted, ObjectText};
use crate::tree::tree::{ParentRef, RowNo};

use crate::session::session::Session;

impl Session {
    /// The line of a header object. Type, version and id are the session's, whatever was done to the object.
    pub fn header_as_known(&self, line: Vec<u8>) -> Result<Vec<u8>> {
        let text = line_text(&line)?;
        let is_ours = |header: Header| header.id == self.id && header.version == Version::Current;
        if Header::read(&text)?.is_some_and(is_ours) {
            return Ok(line);
        }
        self.edited(&line, "The session's header", |object| {
            object.set("type", "\"session\"")?;
            object.set("version", CURRENT_VERSION.to_string())?;
            object.set("id", quoted(&self.id)?)
        })
    }

    /// The line of an entry object, with the id, parent and type that the tree has: changing them on an object does not
    /// change the session. An error if it is not an object, or if its type is unknown to the tree and was changed.
    pub fn line_as_known(&self, row: RowNo, line: Vec<u8>) -> Result<Vec<u8>> {
        let is_known = |line: &[u8]| {
            let is_row = |line: Line<'_>| matches!(line, Line::Entry(head) if self.is_row(row, &head));
            line_text(line).and_then(|text| read_line(&text, is_row))
        };
        if is_known(&line)? {
            return Ok(line);
        }
        let id = self.tree().id_of(row);
        let no_row = || Error::internal(format_args!("there is no row {row}"));
        let known = self.tree().row(row).ok_or_else(no_row)?;
        let what = format!("Entry {}", shown(id));
        let edited = self.edited(&line, &what, |object| {
            object.set("id", quoted(id)?)?;
            match known.parent {
                ParentRef::Missing => object.remove("parentId"),
                ParentRef::Null => object.set("parentId", "null")?,
                ParentRef::Id(parent) => object.set("parentId", quoted(self.tree().id_bytes(parent))?)?,
                ParentRef::Number(number) => object.set("parentId", number.to_string())?,
                // Any value that is not an id: the entry has no parent.
                ParentRef::Other => object.set("parentId", "{}")?,
            }
            // An unknown type is not kept in the tree.
            if known.kind != EntryKind::Unknown {
                object.set("type", quoted(known.kind.name().as_bytes())?)?;
            }
            Ok(())
        })?;
        if is_known(&edited)? {
            Ok(edited)
        } else {
            Err(Error::invalid(format!("{what} cannot be written: its type was changed")))
        }
    }

    fn edited(
        &self,
        line: &[u8],
        what: &str,
        edit: impl FnOnce(&mut ObjectText<'_>) -> memory::Result<()>,
    ) -> Result<Vec<u8>> {
        let text = line_text(line)?;
        let not_an_object = || Error::invalid(format!("{what} cannot be written: its JSON is not an object"));
        let mut object = ObjectText::read(&text)?.ok_or_else(not_an_object)?;
        edit(&mut object)?;
        Ok(object.text()?)
    }

    fn is_row(&self, row: RowNo, head: &EntryHead<'_>) -> bool {
        let known = self.tree().row(row);
        known.is_some_and(|known| {
            let same_kind = known.kind == head.kind;
            same_kind && *head.id == *self.tree().id_of(row) && self.tree().has_parent(known, &head.parent)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::session::Persistence;

    fn session(lines: &[&str]) -> Session {
        let mut session = Session::new(b"s".to_vec(), Persistence::Memory, None);
        for line in lines {
            read_line(line, |line| match line {
                Line::Entry(head) => drop(session.push_local(&head, None).expect("memory")),
                other => panic!("{other:?}"),
            })
            .expect("memory");
        }
        session
    }

    fn known(session: &Session, row: RowNo, line: &str) -> std::result::Result<String, String> {
        let line = session.line_as_known(row, line.as_bytes().to_vec());
        line.map(|line| String::from_utf8(line).expect("text")).map_err(|error| error.to_string())
    }

    #[test]
    fn what_was_changed_on_an_object_does_not_change_the_tree_it_is_written_from() {
        let lines = [
            r#"{"type":"message","id":"a","parentId":null,"message":{"role":"user"}}"#,
            r#"{"type":"label","id":"b","parentId":"a","targetId":"a"}"#,
            r#"{"type":"x-new","id":"c","parentId":7}"#,
            r#"{"type":"custom","id":"d"}"#,
            r#"{"type":"custom","id":"e","parentId":[1]}"#,
        ];
        let session = session(&lines);
        for (row, line) in lines.iter().enumerate() {
            assert_eq!(known(&session, row as RowNo, line).as_deref(), Ok(*line));
        }
        assert_eq!(
            known(&session, 0, r#"{"type":"session","id":"b","n":1.50,"parentId":"b","message":{"role":"user"}}"#)
                .as_deref(),
            Ok(r#"{"type":"message","id":"a","n":1.50,"parentId":null,"message":{"role":"user"}}"#)
        );
        assert_eq!(known(&session, 1, "{}").as_deref(), Ok(r#"{"id":"b","parentId":"a","type":"label"}"#));
        assert_eq!(
            known(&session, 2, r#"{"type":"x","id":2}"#).as_deref(),
            Ok(r#"{"type":"x","id":"c","parentId":7}"#)
        );
        assert_eq!(known(&session, 3, r#"{"type":"custom","id":"d","parentId":"a"}"#).as_deref(), Ok(lines[3]));
        assert_eq!(
            known(&session, 4, r#"{"type":"custom","id":"e","parentId":"a"}"#).as_deref(),
            Ok(r#"{"type":"custom","id":"e","parentId":{}}"#)
        );
        for (row, line) in
            [(0, "5"), (1, "[]"), (2, r#"{"type":"session","id":"c"}"#), (2, r#"{"type":"label","id":"c"}"#)]
        {
            let error = known(&session, row, line).expect_err(line);
            assert!(
                error.starts_with(&format!("Entry {} cannot be written", ["a", "b", "c"][row as usize])),
                "{error}"
            );
        }
    }

    #[test]
    fn a_changed_header_is_still_the_sessions() {
        let header = |text: &str| session(&[]).header_as_known(text.as_bytes().to_vec());
        for kept in
            [r#"{"type":"session","version":3,"id":"s","cwd":"/c"}"#, r#"{"type":"session","version":9,"id":"s"}"#]
        {
            assert_eq!(header(kept).expect("a header"), kept.as_bytes());
        }
        let changed = header(r#"{"type":"x","version":1,"id":"t","cwd":"/d"}"#).expect("a header");
        assert_eq!(changed, br#"{"type":"session","version":3,"id":"s","cwd":"/d"}"#);
        assert!(header("null").is_err());
    }
}
