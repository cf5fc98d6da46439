use super::*;
use crate::io::fs::faults::before_nth;
use crate::io::fs::FsCall;
use crate::summary::session_summary::{read_on, SummaryProgress};
use std::io::Write;
use std::sync::atomic::Ordering;
use std::sync::Arc;

/// A session whose first line after the header is a terabyte long, and its size.
fn endless(line: &str) -> (tempfile::NamedTempFile, u64) {
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    writeln!(file, r#"{{"type":"session","version":3,"id":"s","cwd":"/c"}}"#).expect("written");
    file.write_all(line.as_bytes()).expect("written");
    file.as_file().set_len(1 << 40).expect("made longer");
    (file, 1 << 40)
}

/// Regression: a process that was ending waited for the end of a long line.
#[test]
fn a_process_that_ends_does_not_wait_for_the_end_of_a_long_line() {
    for line in ["", r#"{"type":"message","id":"a","message":{"role":"toolResult","content":""#, "[1,\"\\u00"] {
        let (file, size) = endless(line);
        let stop = Arc::new(AtomicBool::new(false));
        // In the middle of the line.
        let stop_at_a_later_read = || {
            stop.store(false, Ordering::Relaxed);
            let stop = stop.clone();
            before_nth(4, FsCall::Read, move || stop.store(true, Ordering::Relaxed));
        };
        stop_at_a_later_read();
        let file_id = fs::stat(file.as_file()).expect("asked").file_id;
        let head_tail_hash = head_tail_hash(file.as_file(), 0).expect("read");
        let (state, mut all) = (ListedState { file_id, size, end: 0, head_tail_hash }, b"before".to_vec());
        text(file.path(), &state, &[&*stop], &mut all);
        assert_eq!(all, b"");
        stop_at_a_later_read();
        let listed =
            read_on(file.as_file(), size, SummaryProgress::default(), &mut Box::default(), &[&stop], &mut |_| Ok(()));
        assert_eq!(listed.expect("read"), None);
    }
}
