//! Lines of one storage in a new file. Lines that stay as they are go as bytes, neighbours together, and each is read to
//! see that it says what was indexed: on other threads, while this one writes.

use std::sync::mpsc::{channel, sync_channel, Receiver, Sender};

use super::error::{Error, Result};
use super::lines::text_of;
use super::load::Index;
use super::storage::{read_into, Durability, FileStorage, NewFile, Place, Storage};
use super::text::shown;
use super::tree::RowNo;

/// How many bytes go at once, a longer line aside.
const RUN: u64 = 256 << 10;

/// Longer runs are read by the thread that writes, one at a time: a session may be of very long lines.
const LARGE: u64 = 4 << 20;

/// From how many bytes on threads are worth their start.
const MANY: u64 = 1 << 20;

/// How many threads read, and how many runs each may be ahead.
const READERS: usize = 2;
const AHEAD: usize = 1;

/// Writes a new file from lines of `from`, of which `index` is the index, and lines of its own: what `work` adds. Without
/// a storage there is none to copy. The file has its name when all of it is there and was found to be what was indexed.
pub fn copied<T>(
    from: Option<&dyn Storage>,
    index: &Index,
    out: NewFile,
    durability: Durability,
    work: impl FnOnce(&mut Copier<'_>) -> Result<T>,
) -> Result<(FileStorage, T)> {
    let mut copier = Copier { index, parts: Vec::new(), size: 0 };
    let done = work(&mut copier)?;
    let out = match from {
        Some(from) => Source { from, index }.write(&copier.parts, out)?,
        None => write_own(&copier.parts, out)?,
    };
    Ok((out.finish(durability)?, done))
}

/// What a new file is to be, see [`copied`].
pub struct Copier<'a> {
    index: &'a Index,
    parts: Vec<Part>,
    size: u64,
}

enum Part {
    /// A line of its own.
    Own(Vec<u8>),
    Run(Run),
}

/// Neighbouring lines, with the rows that they must be found to be.
type Run = Vec<(Place, Option<RowNo>)>;

impl Copier<'_> {
    /// Adds a line of its own, given without its newline, and tells where it will stand.
    pub fn write(&mut self, line: impl Into<Vec<u8>>) -> Place {
        let line = line.into();
        let place = Place::of(self.size, line.len());
        self.size += line.len() as u64 + 1;
        self.parts.push(Part::Own(line));
        place
    }

    /// Adds an entry's line as it stands and tells where it will. It is checked to say what was indexed.
    pub fn keep(&mut self, row: RowNo) -> Option<Place> {
        self.index.place(row).map(|place| self.copy(place, Some(row)))
    }

    /// Adds the line at a place, whatever it is.
    pub fn keep_line(&mut self, place: Place) -> Place {
        self.copy(place, None)
    }

    fn copy(&mut self, place: Place, row: Option<RowNo>) -> Place {
        let copied = Place { offset: self.size, len: place.len };
        self.size += u64::from(place.len) + 1;
        match self.parts.last_mut() {
            Some(Part::Run(run)) if fits(run, place) => run.push((place, row)),
            _ => self.parts.push(Part::Run(vec![(place, row)])),
        }
        copied
    }
}

/// Whether a line belongs to a run. Only a newline is between neighbours.
fn fits(run: &Run, place: Place) -> bool {
    let follows = run.last().is_some_and(|(last, _)| place.offset == last.end() + 1);
    follows && run.first().is_some_and(|(first, _)| place.end() - first.offset <= RUN)
}

/// Where a run begins and ends.
fn span(run: &Run) -> (u64, u64) {
    let start = run.first().map_or(0, |(first, _)| first.offset);
    (start, run.last().map_or(start, |(last, _)| last.end()))
}

fn is_large(run: &Run) -> bool {
    let (start, end) = span(run);
    end - start > LARGE
}

fn write_own(parts: &[Part], mut out: NewFile) -> Result<NewFile> {
    for part in parts {
        if let Part::Own(line) = part {
            out.line(line)?;
        }
    }
    Ok(out)
}

/// What is copied from.
struct Source<'a> {
    from: &'a dyn Storage,
    index: &'a Index,
}

/// What a thread reads, and what takes its memory back.
struct Reader {
    bytes: Receiver<Result<Vec<u8>>>,
    free: Sender<Vec<u8>>,
}

impl Source<'_> {
    fn write(&self, parts: &[Part], mut out: NewFile) -> Result<NewFile> {
        let runs = parts.iter().filter_map(|part| match part {
            Part::Run(run) => Some(run),
            Part::Own(_) => None,
        });
        let bytes: u64 = runs.clone().map(span).map(|(start, end)| end - start).sum();
        let ahead: Vec<&Run> = runs.filter(|run| bytes >= MANY && !is_large(run)).collect();
        std::thread::scope(|scope| {
            let ahead = &ahead;
            // Each reads every other run, so that they come in order.
            let readers: Vec<Reader> = (0..READERS.min(ahead.len()))
                .map(|number| {
                    let (send, bytes) = sync_channel(AHEAD);
                    let (free, freed) = channel();
                    let read = move || {
                        for run in ahead.iter().skip(number).step_by(READERS) {
                            let memory = freed.try_recv().unwrap_or_default();
                            if send.send(self.read(run, memory)).is_err() {
                                break;
                            }
                        }
                    };
                    // If no thread can be had nothing comes from it, and this one reads.
                    let _ = std::thread::Builder::new().spawn_scoped(scope, read);
                    Reader { bytes, free }
                })
                .collect();
            let mut turns = readers.iter().cycle();
            let mut own = Vec::new();
            for part in parts {
                let run = match part {
                    Part::Own(line) => {
                        out.line(line)?;
                        continue;
                    }
                    Part::Run(run) => run,
                };
                let reader = if is_large(run) { None } else { turns.next() };
                match reader.and_then(|reader| Some((reader.bytes.recv().ok()?, reader))) {
                    Some((bytes, reader)) => {
                        let bytes = bytes?;
                        out.bytes(&bytes)?;
                        // It may have read everything.
                        let _ = reader.free.send(bytes);
                    }
                    None => {
                        own = self.read(run, own)?;
                        out.bytes(&own)?;
                    }
                }
            }
            Ok(out)
        })
    }

    /// The bytes of a run, its last newline too, looked through.
    fn read(&self, run: &Run, mut bytes: Vec<u8>) -> Result<Vec<u8>> {
        let (start, end) = span(run);
        // The newline behind the last of them, too, if there is one.
        let behind = u64::from(end < self.from.size()?);
        read_into(self.from, start, (end + behind - start) as usize, &mut bytes)?;
        if behind == 0 {
            bytes.push(b'\n');
        }
        self.check(run, &bytes)?;
        Ok(bytes)
    }

    fn check(&self, run: &Run, bytes: &[u8]) -> Result<()> {
        let (start, name) = (span(run).0, self.from.name());
        for (place, row) in run {
            let at = (place.offset - start) as usize;
            let end = at + place.len as usize;
            if let Some(row) = *row {
                let line = bytes.get(at..end).unwrap_or_default();
                self.index.check_copy(name, row, memchr::memchr(b'\n', line).is_none(), &text_of(line))?;
            }
            // A line that became longer where it stands still begins as it did.
            if bytes.get(end) != Some(&b'\n') {
                let line = row.map(|row| format!("entry {}", shown(self.index.tree.id_of(row))));
                let line = line.unwrap_or_else(|| "a line".into());
                return Err(Error::changed(name, format!("{line} no longer ends where it did")));
            }
        }
        Ok(())
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
                        places.push(copier.write(*b"mine"));
                        expected.push("mine");
                    }
                    _ => {
                        places.push(copier.keep(row).expect("a place"));
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

    /// What a line says is changed in place, its length and beginning kept, early and late in a file that threads read.
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
            type Harm<'a> = (&'a str, &'a dyn Fn(&mut [u8]));
            let places: [Harm<'_>; 3] = [
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
                let keep = |copier: &mut Copier<'_>| {
                    assert!((0..5_999).all(|row| copier.keep(row).is_some()));
                    Ok(())
                };
                let error = copied(Some(&storage), &index, out, Durability::Os, keep).err().expect("an error");
                assert!(error.is_changed() && error.to_string().contains(&format!("{odd:05}")), "{error}");
                assert!(!path.exists());
            }
        }
    }
}
