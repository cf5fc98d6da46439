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
fn a_list_shows_names_and_times() {
    let summary = summary_of(
        r#"{"type":"session","version":3,"id":"s","cwd":"/c","branchedFrom":"/p"}
{"type":"session_info","id":"a","name":" one "}
{"type":"message","id":"b","timestamp":"2024-01-01T00:00:00.000Z","message":{"role":"assistant","content":[{"type":"text","text":"hi"}]}}
{"type":"message","id":"c","message":{"role":"user","content":"yo","timestamp":5}}
{"type":"message","id":"d","timestamp":"Jan 5 2031","message":{"role":"user","content":null}}
{"type":"message","id":"f","timestamp":"Jan 5 2031","message":{"role":"user","content":null}}
{"type":"message","message":{"role":"user","content":"no id"}}
{"type":"message","id":"e"}
torn"#,
    )
    .expect("a session");
    assert_eq!(summary.name.as_deref(), Some(&b"one"[..]));
    assert_eq!(summary.parent, Some(ParentSession::Path(b"/p".to_vec())));
    assert_eq!((summary.message_count, summary.active), (5, Some(1704067200000.0)));
    assert_eq!(summary.unparsed_dates, HashSet::from(["\"Jan 5 2031\"".to_owned()]));
    assert_eq!(summary.first_message.as_deref(), Some(&b"yo"[..]));
}

#[test]
fn version_1_entries_need_no_id() {
    let summary = summary_of("{\"type\":\"session\",\"id\":\"s\"}\n{\"type\":\"message\",\"message\":{\"role\":\"user\",\"content\":\"x\"}}\n");
    assert_eq!(summary.expect("a session").message_count, 1);
}

#[test]
fn files_that_are_not_sessions_are_not_listed() {
    assert_eq!(summary_of("5\n{\"type\":\"session\",\"id\":\"s\"}\n"), None);
    assert_eq!(summary_of(""), None);
}
