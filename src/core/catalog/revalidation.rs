//! Whether a file that was changed still says what the catalog has of it. A changed mode, owner or time makes another stamp,
//! and so does a copy put in its place: to read the file again is cheap, to index it is not.

use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use super::text_rows::Batch;
use crate::core::summary::searchable_text::{read_texts, Text};

/// Compares the texts of a file with what rows of texts were made of.
struct Comparison {
    session: i64,
    /// Where each row that is to come ends in the file, and its checksum.
    rows: std::vec::IntoIter<(u64, i64)>,
    row: Option<(u64, i64)>,
    /// The same row, made of the file.
    made: Batch,
}

impl Comparison {
    /// Takes the next text. False if there is no such text in the rows.
    fn take(&mut self, text: &Text) -> bool {
        while self.row.is_some_and(|(end, _)| text.end > end) {
            if !self.next() {
                return false;
            }
        }
        self.made.push(text);
        self.row.is_some()
    }

    /// Goes on to the next row. False if this one is not what was made.
    fn next(&mut self) -> bool {
        let is_same = self.row.is_some_and(|(_, checksum)| self.made.checksum(self.session) == checksum);
        self.made = Batch::default();
        self.row = self.rows.next();
        is_same
    }
}

/// Whether the texts in the first `end` bytes of a file are those that a session's rows of texts were made of, given where
/// each of them ends and its checksum.
pub fn is_same(
    file: &File,
    end: u64,
    (session, rows): (i64, Vec<(u64, i64)>),
    buffer: &mut Box<[u8]>,
    cancelled: &AtomicBool,
) -> io::Result<bool> {
    let mut rows = rows.into_iter();
    let mut comparison = Comparison { session, row: rows.next(), rows, made: Batch::default() };
    let mut is_same = true;
    let ends = AtomicBool::new(false);
    let mut each = |text: Text| {
        is_same = is_same && comparison.take(&text);
        ends.store(!is_same || cancelled.load(Ordering::Relaxed), Ordering::Relaxed);
    };
    read_texts(file, (0, end), None, buffer, &[&ends, cancelled], &mut each)?;
    while is_same && comparison.row.is_some() {
        is_same = comparison.next();
    }
    Ok(is_same)
}
