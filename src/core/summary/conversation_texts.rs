//! What users and assistants said in a session.

use std::fs::File;
use std::io;
use std::sync::atomic::AtomicBool;

use super::header_scan::HeaderLine;
use super::line_scanner::{FileLines, KeptTexts, ScannedLine};
use super::usage::call::plain;
use crate::io::line_reader::is_stopped;

/// Whether a file was read completely.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completion {
    Complete,
    Cancelled,
}

/// Calls `each` with the text, in WTF-8, of every message of a user or an assistant in a file's first `size` bytes that is not
/// empty. A last line without a newline counts. Nothing more is read once a flag in `stops` is set, which `each` may do, or `each` failed.
pub fn read_texts(
    file: &File,
    size: u64,
    stops: &[&AtomicBool],
    each: &mut dyn FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<Completion> {
    let read = read_lines(&mut FileLines::new(file, 0, size, stops, Box::default()), stops, each);
    if is_stopped(stops) {
        return Ok(Completion::Cancelled);
    }
    read.map(|()| Completion::Complete)
}

fn read_lines(
    lines: &mut FileLines<'_>,
    stops: &[&AtomicBool],
    each: &mut dyn FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let mut version = None;
    let mut line = ScannedLine::default();
    while !is_stopped(stops) && !lines.scanner.is_done()? {
        let Some(version) = version else {
            match lines.scanner.header_line()? {
                HeaderLine::Header(header) => version = Some(header.version),
                HeaderLine::Other => return Ok(()),
                HeaderLine::NoJson => {}
            }
            lines.scanner.skip_line()?;
            continue;
        };
        lines.next_line(KeptTexts::OfConversation, &mut line)?;
        let is_message = line.is_entry(version) && plain(&line.kind).as_deref() == Some(b"message");
        // A text is kept by the role before it; the last role counts.
        let is_conversation = is_message && line.message.role().is_conversation();
        if let Some(text) = line.message.text.take().filter(|text| is_conversation && !text.is_empty()) {
            each(&text)?;
        }
    }
    Ok(())
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::fs::faults::before_nth;
    use crate::io::fs::FsCall;
    use crate::summary::session_summary::{read_on, SummaryProgress};
    use std::io::Write;
    use std::sync::atomic::Ordering;
    use std::sync::Arc;

    /// A session whose first line after the header does not end for a terabyte, and where it does.
    fn endless(line: &str) -> (File, u64) {
        let mut file = tempfile::tempfile().expect("a file");
        writeln!(file, r#"{{"type":"session","version":3,"id":"s","cwd":"/c"}}"#).expect("written");
        file.write_all(line.as_bytes()).expect("written");
        file.set_len(1 << 40).expect("made longer");
        (file, 1 << 40)
    }

    /// Regression: a process that ended waited for the end of a long line.
    #[test]
    fn a_process_that_ends_does_not_wait_for_the_end_of_a_long_line() {
        for line in ["", r#"{"type":"message","id":"a","message":{"role":"toolResult","content":""#, "[1,\"\\u00"] {
            let (file, size) = endless(line);
            let (stop, full) = (Arc::new(AtomicBool::new(false)), AtomicBool::new(false));
            // In the middle of the line.
            let stop_at_a_later_read = || {
                stop.store(false, Ordering::Relaxed);
                let stop = stop.clone();
                before_nth(4, FsCall::Read, move || stop.store(true, Ordering::Relaxed));
            };
            let (stops, each) = ([&full, &*stop], &mut |_: &[u8]| -> io::Result<()> { panic!("there is none") });
            stop_at_a_later_read();
            let read = read_texts(&file, size, &stops, each);
            assert_eq!(read.expect("read"), Completion::Cancelled);
            stop_at_a_later_read();
            let listed =
                read_on(&file, size, SummaryProgress::default(), &mut Box::default(), &[&stop], &mut |_| Ok(()));
            assert_eq!(listed.expect("read"), None);
        }
    }
}
