//! Lines of one storage in a new file. Lines that stay as they are go as bytes, neighbours together.

use super::error::{Error, Result};
use super::load::Index;
use super::storage::{read_into, Durability, FileStorage, NewFile, Place, Storage};
use super::text::shown;
use super::tree::RowNo;

/// How many bytes go at once, a longer line aside.
const RUN: u64 = 256 << 10;

/// Writes a new file from lines of another storage and lines of its own.
pub struct Copier<'a> {
    from: Option<&'a dyn Storage>,
    out: NewFile,
    /// Neighbouring lines that are still to be copied, with the rows that they must be found to be.
    run: Vec<(Place, Option<RowNo>)>,
    index: &'a Index,
    size: u64,
    bytes: Vec<u8>,
}

impl<'a> Copier<'a> {
    /// Copies lines of `from`, of which `index` is the index, to a new file. Without a storage there is none to copy.
    pub fn new(from: Option<&'a dyn Storage>, index: &'a Index, out: NewFile) -> Self {
        Self { from, out, run: Vec::new(), index, size: 0, bytes: Vec::new() }
    }

    /// Adds a line of its own, given without its newline, and tells where it stands.
    pub fn write(&mut self, line: &[u8]) -> Result<Place> {
        self.flush()?;
        let place = self.out.line(line)?;
        self.size = place.offset + line.len() as u64 + 1;
        Ok(place)
    }

    /// Adds an entry's line as it stands and tells where it will. It is checked to be that entry's.
    pub fn keep(&mut self, row: RowNo) -> Result<Option<Place>> {
        self.index.place(row).map(|place| self.copy(place, Some(row))).transpose()
    }

    /// Adds the line at a place, whatever it is.
    pub fn keep_line(&mut self, place: Place) -> Result<Place> {
        self.copy(place, None)
    }

    fn copy(&mut self, place: Place, row: Option<RowNo>) -> Result<Place> {
        let end = |place: &Place| place.offset + u64::from(place.len);
        // Only a newline is between neighbours.
        let follows = self.run.last().is_some_and(|(last, _)| place.offset == end(last) + 1);
        let start = self.run.first().map_or(place.offset, |(first, _)| first.offset);
        if !follows || end(&place) - start > RUN {
            self.flush()?;
        }
        self.run.push((place, row));
        let copied = Place { offset: self.size, len: place.len };
        self.size += u64::from(place.len) + 1;
        Ok(copied)
    }

    fn flush(&mut self) -> Result<()> {
        let (Some(from), Some((first, _)), Some((last, _))) = (self.from, self.run.first(), self.run.last()) else {
            return Ok(());
        };
        let start = first.offset;
        let end = last.offset + u64::from(last.len);
        // The newline behind the last of them, too, if there is one.
        let behind = u64::from(end < from.size()?);
        read_into(from, start, (end + behind - start) as usize, &mut self.bytes)?;
        if behind == 0 {
            self.bytes.push(b'\n');
        }
        for (place, row) in &self.run {
            let at = (place.offset - start) as usize;
            let end = at + place.len as usize;
            if let Some(row) = *row {
                self.index.check_line(from, row, self.bytes.get(at..end).unwrap_or_default())?;
            }
            // A line that became longer where it stands still begins as it did.
            if self.bytes.get(end) != Some(&b'\n') {
                let line = row.map(|row| format!("entry {}", shown(self.index.tree.id_of(row))));
                let line = line.unwrap_or_else(|| "a line".into());
                return Err(Error::changed(from.name(), format!("{line} no longer ends where it did")));
            }
        }
        self.run.clear();
        self.out.bytes(&self.bytes)
    }

    /// Hands everything to the system and keeps the file.
    pub fn finish(mut self, durability: Durability) -> Result<FileStorage> {
        self.flush()?;
        self.out.finish(durability)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::load::load;
    use crate::core::storage::MemoryStorage;

    #[test]
    fn lines_arrive_where_they_are_said_to() {
        let header = "{\"type\":\"session\",\"version\":3,\"id\":\"s\"}";
        let lines: Vec<_> = (0..4_000)
            .map(|n| format!("{{\"type\":\"custom\",\"id\":\"{n}\",\"data\":\"{}\"}}", "x".repeat(n % 700)))
            .collect();
        let text = format!("{header}\n{}", lines.join("\n"));
        let storage = MemoryStorage::new("test".into(), text.into_bytes());
        let index = load(&storage).expect("readable").expect("a session").index;
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("copy");
        let path = path.to_str().expect("text");
        let mut copier = Copier::new(Some(&storage), &index, NewFile::create(path).expect("created"));
        let mut expected = Vec::new();
        let mut places = Vec::new();
        for row in 0..4_000 {
            match row % 97 {
                0 => {}
                1 => {
                    places.push(copier.write(b"mine").expect("written"));
                    expected.push("mine");
                }
                _ => {
                    places.push(copier.keep(row).expect("copied").expect("a place"));
                    expected.push(&lines[row as usize]);
                }
            }
        }
        let copy = copier.finish(Durability::Os).expect("written");
        assert_eq!(std::fs::read_to_string(path).expect("read"), format!("{}\n", expected.join("\n")));
        for (place, line) in places.iter().zip(expected) {
            let mut bytes = vec![0; place.len as usize];
            copy.read_at(place.offset, &mut bytes).expect("read");
            assert_eq!(bytes, line.as_bytes());
        }
    }
}
