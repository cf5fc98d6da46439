use super::*;
use crate::base::error::ErrorCode;
use crate::lines::file_window::WHOLE;
use crate::storage::memory::MemoryStorage;

/// Lines of many lengths, some longer than segments, so that every kind of border occurs.
fn text(seed: u64, is_unterminated: bool) -> Vec<u8> {
    let mut state = seed;
    let mut random = move |below: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % below
    };
    let mut out = Vec::new();
    while out.len() < 5 * SEGMENT as usize {
        let length = match random(40) {
            0 => random(3 * SEGMENT) as usize,
            1 => (SEGMENT - out.len() as u64 % SEGMENT).saturating_sub(40 + random(30)) as usize,
            _ => random(5000) as usize,
        };
        match random(9) {
            0 => out.extend_from_slice(b"torn {"),
            1 => out.resize(out.len() + random(4) as usize, b'\n'),
            n => out.extend_from_slice(format!("{{\"id\":\"{n}\",\"x\":\"{}\"}}", "x".repeat(length)).as_bytes()),
        }
        out.push(b'\n');
    }
    if is_unterminated {
        out.extend_from_slice(b"{\"id\":\"last\"}");
    }
    out
}

/// The compared fields of a line. They are printed, because NaN times are not equal to themselves.
fn shown(line: &IndexedLine<Text<'_>>, bodies: &[Body]) -> String {
    format!("{line:?} {bodies:?}")
}

/// The lines of a text, read by a single reader.
fn read_on(bytes: &[u8], offset: u64) -> Vec<String> {
    let mut reader = LineReader::new(bytes, offset, WHOLE);
    let mut lines = Vec::new();
    while let Some(line) = reader.next_line().expect("read") {
        let read = with_indexed_line(line, |line, bodies| {
            lines.push(shown(&line, bodies));
            Ok(())
        });
        read.expect("memory");
    }
    lines
}

/// Regression: an entry lost its bodies, or its id.
#[test]
fn a_segment_that_does_not_fit_together_is_an_internal_error() {
    let body = "x".repeat(LARGE_BODY);
    let line = format!("{{\"type\":\"custom\",\"id\":\"a\",\"data\":\"{body}\"}}\n");
    let storage = MemoryStorage::new("test".into(), line.clone().into_bytes());
    let size = line.len() as u64;
    let segment = || scan_segment(&storage, true, 0, size, size, &mut Vec::new()).expect("read");
    let hand_on = |segment: ScanSegment| segment.hand_on(&mut |_, _| Ok(())).map_err(|error| error.code());
    assert_eq!(hand_on(segment()), Ok(()));
    assert_eq!(hand_on(ScanSegment { bodies: Vec::new(), ..segment() }), Err(ErrorCode::Internal));
    assert_eq!(hand_on(ScanSegment { texts: Vec::new(), ..segment() }), Err(ErrorCode::Internal));
}

#[test]
fn threads_find_the_lines_that_one_reader_finds() {
    for seed in 0..6 {
        let bytes = text(seed, seed % 2 == 0);
        let storage = MemoryStorage::new("test".into(), bytes.clone());
        let mut found = Vec::new();
        let size = if seed < 3 { SEGMENT } else { SEGMENT / 3 };
        let mut each = |line: IndexedLine<Text<'_>>, bodies: &[Body]| {
            if line.lines == 1 {
                found.push(shown(&line, bodies));
            } else {
                // Blank lines that are counted as one.
                let (from, to) = (line.offset as usize, (line.offset + line.len) as usize);
                let lines = read_on(&bytes[from..(to + 1).min(bytes.len())], line.offset);
                assert_eq!(lines.len() as u64, line.lines);
                found.extend(lines);
            }
            Ok(())
        };
        scan_in(&storage, 0, bytes.len() as u64, size, &mut each).expect("read");
        let expected = read_on(&bytes, 0);
        assert_eq!(found.len(), expected.len(), "seed {seed}");
        assert_eq!(found, expected, "seed {seed}");
    }
}
