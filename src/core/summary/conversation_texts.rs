//! What users and assistants said in a session.

use std::fs::File;
use std::io;
use std::sync::atomic::AtomicBool;

use super::line_scanner::header::HeaderLine;
use super::line_scanner::{FieldSet, LineScanError, LineScanner, ScannedLine};
use super::session_summary::{content_text, with_line};
use crate::format::entry::read_message;
use crate::format::header::Version;
use crate::io::line_reader::{is_stopped, Positioned};
use crate::json::reader::{read, Raw};
use crate::json::{fields, Value};

fields! {
    /// The fields of an entry that tell whether it is a message of a conversation, and what it says.
    struct MessageFields<V> {
        kind: V = "type",
        id: V = "id",
        message: V = "message",
    }
}

/// Whether a file was read completely.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Completion {
    Complete,
    Cancelled,
}

/// Calls `each` with the text, in WTF-8, of every message of a user or an assistant in a file's first `size` bytes that is not
/// empty. A last line without a newline counts. Nothing more is read once a flag in `stops` is set, which `each` may do.
pub fn read_texts(
    file: &File,
    size: u64,
    stops: &[&AtomicBool],
    each: &mut dyn FnMut(&[u8]),
) -> io::Result<Completion> {
    let mut lines = LineScanner::new(Positioned::new(file, 0, size, stops), 0, Box::default());
    let read = read_lines(file, &mut lines, stops, each);
    match is_stopped(stops) {
        true => Ok(Completion::Cancelled),
        false => read,
    }
}

fn read_lines(
    file: &File,
    lines: &mut LineScanner<Positioned<'_>>,
    stops: &[&AtomicBool],
    each: &mut dyn FnMut(&[u8]),
) -> io::Result<Completion> {
    let mut version = None;
    let mut line = ScannedLine::default();
    while !lines.is_done()? {
        if is_stopped(stops) {
            return Ok(Completion::Cancelled);
        }
        let offset = lines.position();
        let mut found = None;
        let mut odd = None;
        match version {
            None => match lines.header_line()? {
                HeaderLine::Header(header) => version = Some(header.version),
                HeaderLine::Other => return Ok(Completion::Complete),
                HeaderLine::NoJson => {}
            },
            Some(version) => match lines.line(FieldSet::Texts, &mut line) {
                Ok(()) if !line.kind.get().unwrap_or_default().contains(&b'\\') => found = of_scanned(&line, version),
                Err(LineScanError::NotJson) => {}
                Ok(_) | Err(LineScanError::NeedsFullParse) => odd = Some(version),
                Err(LineScanError::Io(error)) => return Err(error),
            },
        }
        lines.skip_line()?;
        if let Some(version) = odd {
            found = with_line(file, (offset, lines.position()), stops, |line| of_line(line, version))?;
        }
        if let Some(text) = found.filter(|text| !text.is_empty()) {
            each(&text);
        }
    }
    Ok(Completion::Complete)
}

fn of_scanned(line: &ScannedLine, version: Version) -> Option<Vec<u8>> {
    let is_entry = version == Version::V1 || line.has_text_id == Some(true);
    if !is_entry || line.kind.get()? != b"\"message\"" || !matches!(line.role.get()?, b"\"user\"" | b"\"assistant\"") {
        return None;
    }
    line.content.as_deref().map(content_text)
}

fn of_line(line: &str, version: Version) -> Option<Vec<u8>> {
    let fields = read::<MessageFields<Raw<'_>>>(line).ok()?;
    let is_entry = version == Version::V1 || fields.id.as_ref().and_then(Value::text).is_some();
    if !is_entry || *fields.kind.as_ref().and_then(Value::text)? != *b"message" {
        return None;
    }
    let message = fields.message.and_then(read_message)?;
    message.head().role.is_conversation().then(|| message.text())
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
            let (stops, each) = ([&full, &*stop], &mut |_: &[u8]| panic!("there is none"));
            stop_at_a_later_read();
            let read = read_texts(&file, size, &stops, each);
            assert_eq!(read.expect("read"), Completion::Cancelled);
            stop_at_a_later_read();
            let listed = read_on(&file, size, SummaryProgress::default(), &mut Box::default(), &stop);
            assert_eq!(listed.expect("read"), None);
        }
    }
}
