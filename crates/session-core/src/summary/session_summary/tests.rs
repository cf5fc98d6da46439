use super::*;
use crate::json::reader::is_json;
use crate::summary::line_scanner::tests::read_whole;

impl SessionSummary {
    /// Reads each line as a whole, which is slow, but simple enough to compare with.
    pub(crate) fn of_lines(text: &str) -> Option<SessionSummary> {
        let mut lines = text.split('\n').skip_while(|line| !is_json(line));
        let header = Header::read(lines.next()?).expect("memory");
        let FileKind::Session(version, mut summary) = header.map(SessionSummary::of)? else {
            return None;
        };
        lines.for_each(|line| summary.add(&mut read_whole(line, (0, 0)), version).expect("memory"));
        Some(summary)
    }
}

fn summary_of(text: &str) -> Option<SessionSummary> {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), text).expect("written");
    let size = text.len() as u64;
    let read = read_on(file.as_file(), size, SummaryProgress::default(), &mut Box::default(), &[], &mut |_| Ok(()));
    read.expect("read").expect("not cancelled").kind.into_summary()
}

#[test]
fn version_1_entries_need_no_id() {
    let summary = summary_of("{\"type\":\"session\",\"id\":\"s\"}\n{\"type\":\"message\",\"message\":{\"role\":\"user\",\"content\":\"x\"}}\n");
    assert_eq!(summary.expect("a session").message_count, 1);
}
