//! Reading lines. The first byte of the input is how many bytes are read at once, the second how many the source
//! returns; the rest is the file.

use std::io::{self, Read};

use super::Subject;
use crate::lines::line_reader::LineReader;

struct Trickle<'a>(&'a [u8], usize);

impl Read for Trickle<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let size = self.1.min(self.0.len()).min(into.len());
        let (now, later) = self.0.split_at(size);
        into[..size].copy_from_slice(now);
        self.0 = later;
        Ok(size)
    }
}

pub fn target(input: &[u8], subject: Subject) -> u64 {
    let [chunk, step, bytes @ ..] = input else { return 0 };
    let (chunk, step) = (*chunk as usize % 32 + 1, *step as usize % 32 + 1);
    let mut reader = LineReader::new(Trickle(bytes, step), 0, chunk);
    let mut lines: Vec<(u64, Vec<u8>, bool)> = Vec::new();
    while let Some(line) = reader.next_line().expect("memory has no errors") {
        // The planted bug: a last line of exactly one chunk is lost.
        if subject == Subject::Planted && !line.is_terminated && line.bytes.len() == chunk {
            continue;
        }
        lines.push((line.offset, line.bytes.to_vec(), line.is_terminated));
    }
    let mut expected = Vec::new();
    let mut at = 0;
    for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
        let line = piece.strip_suffix(b"\n");
        expected.push((at, line.unwrap_or(piece).to_vec(), line.is_some()));
        at += piece.len() as u64;
    }
    assert_eq!(lines, expected);
    let longest = lines.iter().map(|(_, line, _)| line.len()).max().unwrap_or(0) as u64;
    (lines.len() as u64).min(20) << 8 | longest.ilog2_or_zero()
}

trait Log {
    fn ilog2_or_zero(self) -> u64;
}

impl Log for u64 {
    fn ilog2_or_zero(self) -> u64 {
        self.checked_ilog2().map_or(0, |log| u64::from(log) + 1)
    }
}
