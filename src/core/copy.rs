//! Lines of one storage in a new file. Lines that stay as they are go as bytes, neighbours together.

mod checks;

use std::thread::Scope;

use checks::{Checks, Copied};

use super::error::Result;
use super::load::Index;
use super::storage::{Durability, FileStorage, NewFile, Place, Storage};
use super::tree::RowNo;

/// How many bytes go at once, a longer line aside.
const RUN: u64 = 256 << 10;

/// Writes a new file from lines of `from`, of which `index` is the index, and lines of its own: what `work` adds. Without
/// a storage there is none to copy. The file has its name when all of it is there and was found to be what was indexed.
pub fn copied<T>(
    from: Option<&dyn Storage>,
    index: &Index,
    out: NewFile,
    durability: Durability,
    work: impl FnOnce(&mut Copier<'_, '_>) -> Result<T>,
) -> Result<(FileStorage, T)> {
    std::thread::scope(|scope| {
        let mut copier = Copier::new(from, index, out, scope);
        let done = work(&mut copier)?;
        Ok((copier.finish(durability)?, done))
    })
}

/// Adds lines to a new file, see [`copied`].
pub struct Copier<'scope, 'env> {
    from: Option<&'env dyn Storage>,
    out: NewFile,
    /// Neighbouring lines that are still to be copied, with the rows that they must be found to be.
    run: Vec<(Place, Option<RowNo>)>,
    index: &'env Index,
    checks: Checks<'scope, 'env>,
    size: u64,
    bytes: Vec<u8>,
}

impl<'scope, 'env> Copier<'scope, 'env> {
    fn new(
        from: Option<&'env dyn Storage>,
        index: &'env Index,
        out: NewFile,
        scope: &'scope Scope<'scope, 'env>,
    ) -> Self {
        let checks = Checks::new(index, from.map_or("", |from| from.name()), scope);
        Self { from, out, run: Vec::new(), index, checks, size: 0, bytes: Vec::new() }
    }

    /// Adds a line of its own, given without its newline, and tells where it stands.
    pub fn write(&mut self, line: &[u8]) -> Result<Place> {
        self.flush()?;
        let place = self.out.line(line)?;
        self.size = place.offset + line.len() as u64 + 1;
        Ok(place)
    }

    /// Adds an entry's line as it stands and tells where it will. It is checked to say what was indexed.
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
        let mut bytes = std::mem::take(&mut self.bytes);
        bytes.resize((end + behind - start) as usize, 0);
        from.read_at(start, &mut bytes)?;
        if behind == 0 {
            bytes.push(b'\n');
        }
        // The file has no name yet: what is found wrong with them later still keeps them from anybody's eyes.
        self.out.bytes(&bytes)?;
        self.bytes = self.checks.take(Copied { bytes, lines: std::mem::take(&mut self.run) })?;
        Ok(())
    }

    /// Hands everything to the system and keeps the file.
    fn finish(mut self, durability: Durability) -> Result<FileStorage> {
        self.flush()?;
        self.checks.finish()?;
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
        let mut expected = Vec::new();
        let out = NewFile::create(path).expect("created");
        let (copy, places) = copied(Some(&storage), &index, out, Durability::Os, |copier| {
            let mut places = Vec::new();
            for row in 0..4_000 {
                match row % 97 {
                    0 => {}
                    1 => {
                        places.push(copier.write(b"mine")?);
                        expected.push("mine");
                    }
                    _ => {
                        places.push(copier.keep(row)?.expect("a place"));
                        expected.push(&lines[row as usize]);
                    }
                }
            }
            Ok(places)
        })
        .expect("written");
        assert_eq!(std::fs::read_to_string(path).expect("read"), format!("{}\n", expected.join("\n")));
        for (place, line) in places.iter().zip(expected) {
            let mut bytes = vec![0; place.len as usize];
            copy.read_at(place.offset, &mut bytes).expect("read");
            assert_eq!(bytes, line.as_bytes());
        }
    }
    /// What a line says is changed in place, its length and beginning kept: near the start, where there is no thread yet,
    /// and far behind it.
    #[test]
    fn lines_that_no_longer_say_what_was_indexed_are_not_copied() {
        let line = |n: usize, parent: usize| {
            let filler = "x".repeat(900);
            format!("{{\"type\":\"custom\",\"id\":\"{n:05}\",\"parentId\":\"{parent:05}\",\"data\":\"{filler}\"}}\n")
        };
        let head = "{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n";
        let text = |odd: usize, parent: usize| {
            let lines = (1..6_000).map(|n| line(n, if n == odd { parent } else { n - 1 }));
            (head.to_owned() + &lines.collect::<String>()).into_bytes()
        };
        let index = load(&MemoryStorage::new("test".into(), text(0, 0))).expect("readable").expect("a session").index;
        let dir = tempfile::tempdir().expect("a directory");
        for odd in [3, 5_990] {
            let same_type = |bytes: &mut [u8]| bytes.copy_from_slice(b"label-");
            let places: [(&str, &dyn Fn(&mut [u8])); 3] = [
                ("\"data\":\"xx", &|bytes| bytes.fill(0)),
                ("\"parentId\":\"0", &|bytes| bytes.fill(b' ')),
                ("custom", &same_type),
            ];
            let harmed = places.into_iter().map(|(at, harm)| {
                let mut bytes = text(0, 0);
                let line = line(odd, odd - 1);
                let start = memchr::memmem::find(&bytes, line.as_bytes()).expect("the line");
                let from = start + line.find(at).expect("the part");
                harm(bytes.get_mut(from..from + at.len()).expect("the part"));
                bytes
            });
            for bytes in harmed.chain([text(odd, odd - 2)]) {
                let storage = MemoryStorage::new("test".into(), bytes);
                let path = dir.path().join("copy");
                let out = NewFile::create(path.to_str().expect("text")).expect("created");
                let keep = |copier: &mut Copier<'_, '_>| (0..5_999).try_for_each(|row| copier.keep(row).map(drop));
                let error = copied(Some(&storage), &index, out, Durability::Os, keep).err().expect("an error");
                assert!(error.is_changed() && error.to_string().contains(&format!("{odd:05}")), "{error}");
                assert!(!path.exists());
            }
        }
    }
}
