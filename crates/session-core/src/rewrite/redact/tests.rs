use std::collections::HashSet;
use std::fs;
use std::path::Path;

use proptest::prelude::*;

use super::copies::hash_of;
use super::text::Needle;
use super::*;
use crate::base::error::ErrorCode;
use crate::json::reader::is_json;

const HEADER: &str = r#"{"type":"session","version":3,"id":"s","timestamp":"t","cwd":"/home/hunter2"}"#;

fn file(lines: &[&str]) -> (tempfile::TempDir, String) {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("s.jsonl").to_str().expect("text").to_owned();
    let all: String = std::iter::once(&HEADER).chain(lines).map(|line| format!("{line}\n")).collect();
    fs::write(&path, all).expect("written");
    (dir, path)
}

fn text(text: &str) -> Redaction {
    Redaction::text(text.as_bytes(), None, b"[redacted]").expect("not empty")
}

fn set_of(ids: &[&str]) -> HashSet<Vec<u8>> {
    ids.iter().map(|id| id.as_bytes().to_vec()).collect()
}

fn entries(ids: &[&str]) -> Redaction {
    Redaction::entries(set_of(ids), b"[redacted]").expect("memory")
}

/// A redaction of lines: each with its replacement and its session.
fn lines(lines: &[(&str, Option<&str>, Option<&str>)]) -> Redaction {
    let lines = lines.iter().map(|&(old, new, session)| LineRedaction {
        hash: hash_of(old.as_bytes()),
        line: new.map(|new| new.as_bytes().to_vec()),
        session: session.map(str::to_owned),
    });
    Redaction::lines(lines, b"*").expect("no line breaks")
}

fn redacted(line: &str, secret: &str) -> String {
    let needle = Needle::new(secret.as_bytes(), b"*").expect("not empty");
    let new = needle.redacted(line.as_bytes()).expect("memory").unwrap_or_else(|| line.into());
    String::from_utf8(new).expect("text")
}

#[test]
fn a_text_is_found_however_it_is_escaped_and_all_else_stays() {
    for (line, secret, expected) in [
        (
            r#"{"type":"x", "n":1.0,"content":"a hunter2 b \u00e9"}"#,
            "hunter2",
            r#"{"type":"x", "n":1.0,"content":"a * b \u00e9"}"#,
        ),
        (r#"{"content":"hunt\u0065r2"}"#, "hunter2", r#"{"content":"*"}"#),
        (r#"{"content":"\/a\"b\\c\n."}"#, "/a\"b\\c\n", r#"{"content":"*."}"#),
        (r#"{"content":"\ud83d\ude00\u00E9😀é"}"#, "😀é", r#"{"content":"**"}"#),
        // JSON in a string, and JSON in a string of that JSON.
        (r#"{"data":"{\"pw\":\"a\\\"b\"}"}"#, "a\"b", r#"{"data":"{\"pw\":\"*\"}"}"#),
        (r#"{"data":"\"{\\\"pw\\\":\\\"a\\\\\\\"b\\\"}\""}"#, "a\"b", r#"{"data":"\"{\\\"pw\\\":\\\"*\\\"}\""}"#),
        // Escapes of other programs in JSON: Python, PHP, Go, .NET, and several in one text.
        (r#"{"data":"{\"pw\":\"gr\\u00fcn\"}"}"#, "grün", r#"{"data":"{\"pw\":\"*\"}"}"#),
        (r#"{"data":"{\"pw\":\"a\\/b\"}"}"#, "a/b", r#"{"data":"{\"pw\":\"*\"}"}"#),
        (r#"{"data":"{\"pw\":\"a\\u0026b\"}"}"#, "a&b", r#"{"data":"{\"pw\":\"*\"}"}"#),
        (r#"{"data":"{\"pw\":\"a\\u002Bb\"}"}"#, "a+b", r#"{"data":"{\"pw\":\"*\"}"}"#),
        (
            r#"{"data":"\"{\\\"pw\\\":\\\"a\\\\u002b\\\\/\\u00fc\u00fcü\\\"}\""}"#,
            "a+/üüü",
            r#"{"data":"\"{\\\"pw\\\":\\\"*\\\"}\""}"#,
        ),
        (r#"{"data":"\\ud83d\\uDE00 \\\\ud83d\\\\uDE00"}"#, "😀", r#"{"data":"* *"}"#),
        (r#"{"content":"\\u0041 \u005cu0041"}"#, "A", r#"{"content":"* *"}"#),
        (r#"{"content":"\\u0041"}"#, "u0041", r#"{"content":"\\*"}"#),
        (r#"{"content":"aaaa"}"#, "aa", r#"{"content":"**"}"#),
        ("torn {\"content\":\"hunter2", "hunter2", "torn {\"content\":\"*"),
    ] {
        assert_eq!(redacted(line, secret), expected, "{line}");
    }
}

#[test]
fn what_holds_a_session_together_stays() {
    let line = r#"{"type":"message","id":"user","parentId":"user","message":{"role":"user","content":[{"type":"text","text":"a user"},{"type":"toolCall","id":"user","name":"user","arguments":{"user":"user","type":"user"}}],"user":"user"}}"#;
    let expected = r#"{"type":"message","id":"user","parentId":"user","message":{"role":"user","content":[{"type":"text","text":"a *"},{"type":"toolCall","id":"user","name":"user","arguments":{"*":"*","type":"*"}}],"user":"*"}}"#;
    assert_eq!(redacted(line, "user"), expected);
    let thought = r#"{"message":{"content":[{"type":"thinking","thinking":"hunter2","thinkingSignature":"abc"},{"type":"thinking","thinking":"x","thinkingSignature":"abc"}]}}"#;
    assert_eq!(redacted(thought, "hunter2"), thought.replacen("hunter2", "*", 1).replacen("abc", "", 1));
}

/// Regression: if a signature preceded its text, it stayed.
#[test]
fn the_signature_of_a_changed_thought_goes_wherever_it_stands() {
    let thought = r#"{"message":{"content":[{"thinkingSignature":"abc","type":"thinking","thinking":"hunter2"},{"thinkingSignature":"abc","thinking":"x"}]}}"#;
    assert_eq!(redacted(thought, "hunter2"), thought.replacen("hunter2", "*", 1).replacen("abc", "", 1));
}

proptest! {
    /// For any line: if the line was JSON, the result is JSON, and its value is the line's value with the text
    /// replaced.
    #[test]
    fn the_strings_of_a_redacted_line_are_those_of_the_line_with_the_text_replaced(
        parts in proptest::collection::vec("[ab\\\\\"\n/é😀]{0,4}", 0..6), secret in "[ab\\\\\"\né😀]{1,3}", escapes in any::<u64>(),
    ) {
        let plain: Vec<String> = parts.iter().map(|part| part.to_string()).collect();
        let mut bits = escapes;
        let written: Vec<String> = plain.iter().map(|part| part.chars().map(|c| {
            bits = bits.rotate_left(1);
            let mut units = [0; 2];
            match (bits & 1, c) {
                (0, c) => serde_json::to_string(&c).expect("JSON").trim_matches('"').to_owned(),
                _ => c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")).collect(),
            }
        }.replace('"', "\\\"").replace("\\\\\\\"", "\\\"")).collect::<String>()).collect();
        let line = format!("{{\"data\":[{}]}}", written.iter().map(|text| format!("\"{text}\"")).collect::<Vec<_>>().join(","));
        prop_assume!(serde_json::from_str::<serde_json::Value>(&line).is_ok_and(|value| value["data"] == serde_json::json!(plain)));
        let needle = Needle::new(secret.as_bytes(), b"*").expect("not empty");
        let new = needle.redacted(line.as_bytes()).expect("memory").unwrap_or_else(|| line.clone().into_bytes());
        let new = String::from_utf8(new).expect("text");
        prop_assert!(is_json(&new), "{new}");
        // The meaning of JSON escapes in a string is replaced as well, so only strings without backslashes are
        // compared.
        if !plain.concat().contains('\\') {
            let expected: Vec<String> = plain.iter().map(|part| part.replace(&secret, "*")).collect();
            prop_assert_eq!(serde_json::from_str::<serde_json::Value>(&new).expect("JSON"), serde_json::json!({ "data": expected }));
        }
    }
}

/// The JSON of a text in several programs: each escapes the necessary characters, and some others.
fn written_by(writer: usize, text: &str) -> String {
    let escaped = |c: char| {
        let escape = |unit: &mut u16| if writer == 3 { format!("\\u{unit:04X}") } else { format!("\\u{unit:04x}") };
        c.encode_utf16(&mut [0; 2]).iter_mut().map(escape).collect()
    };
    let written = |c: char| match (c, writer) {
        // .NET escapes all characters with a meaning in HTML, even quotes.
        ('"' | '<' | '>' | '&' | '\'' | '+' | '`', 3) => escaped(c),
        ('"' | '\\', _) => format!("\\{c}"),
        ('\n', _) => "\\n".to_owned(),
        // Go escapes characters with a meaning in HTML, too.
        ('<' | '>' | '&' | '\u{2028}', 2) => escaped(c),
        // PHP escapes every slash.
        ('/', 1) => "\\/".to_owned(),
        // Python, PHP and .NET escape all characters beyond ASCII.
        (c, 0 | 1 | 3) if !c.is_ascii() => escaped(c),
        (c, _) => c.to_string(),
    };
    text.chars().map(written).collect()
}

proptest! {
    /// Regression: a secret that another program had written as JSON inside a text stayed, and `left` was 0.
    #[test]
    fn a_text_is_found_in_json_of_any_writer_inside_json_of_any_writer(
        secret in "[ab\\\\\"\n/éü😀<>&+'`\u{2028}]{1,8}", before in "[a-c \"\\\\/é+]{0,6}", writers in proptest::collection::vec(0usize..4, 1..4),
        after in "( end)?",
    ) {
        // With it the text would begin in an escape of the text before it.
        prop_assume!(!before.ends_with('\\'));
        let [before, inside] = [before, secret.clone()].map(|text| writers.iter().fold(text, |text, &writer| written_by(writer, &text)));
        let line = format!("{{\"data\":\"{before}{inside}{after}\"}}");
        prop_assert!(is_json(&line), "{line}");
        let needle = Needle::new(secret.as_bytes(), b"*").expect("not empty");
        let new = needle.redacted(line.as_bytes()).expect("memory").expect("found");
        let text = String::from_utf8_lossy(&new);
        let string = text.strip_prefix("{\"data\":\"").and_then(|rest| rest.strip_suffix("\"}")).expect("a string");
        prop_assert!(is_json(&text) && !needle.is_in(string.as_bytes()) && !string.contains(&inside), "{line} {text}");
    }
}

/// Regression: when one way to read the string had come to its end, the others were not tried, and the text stayed for
/// ever.
#[test]
fn a_text_that_ends_in_backslashes_is_found_at_the_end_of_a_string() {
    for (content, secret) in
        [(r#"x\\\\"#, r"x\\"), (r#"x\\"#, r"x\"), (r#"{\"p\":\"x\\\\\"}"#, r"x\"), (r#"{\"p\":\"x\\\\\\\\\"}"#, r"x\\")]
    {
        let line = format!(r#"{{"type":"message","message":{{"content":"{content}"}}}}"#);
        let new = redacted(&line, secret);
        let needle = Needle::new(secret.as_bytes(), b"*").expect("not empty");
        assert!(is_json(&new) && !needle.is_in(new.as_bytes()) && new.contains('*'), "{secret} in {line}: {new}");
    }
}

/// Regression: in a header whose type has an escape the working directory was changed, and a tool's call lost its name.
#[test]
fn types_are_read_however_they_are_written() {
    let header = r#"{"type":"\u0073ession","version":3,"id":"s","timestamp":"t","cwd":"/home/hunter2"}"#;
    let call = r#"{"type":"message","id":"a","parentId":null,"timestamp":"1","message":{"role":"assistant","content":[{"type":"toolC\u0061ll","id":"c","name":"bash","arguments":{"x":"hunter2"}}]}}"#;
    let (_dir, path) = file(&[]);
    fs::write(&path, format!("{header}\n{call}\n")).expect("written");
    let report = redact(&path, &text("hunter2"), false).expect("redacted");
    assert_eq!((report.lines.len(), report.left), (1, 1), "the header keeps it");
    redact(&path, &entries(&["a"]), false).expect("redacted");
    let now = fs::read_to_string(&path).expect("read");
    assert!(
        now.starts_with(header) && now.contains(r#"{"type":"toolCall","id":"c","name":"bash","arguments":{}}"#),
        "{now}"
    );
}

/// Regression: a number stayed that was the entry's only content, and so did texts within `usage`.
#[test]
fn an_entry_loses_numbers_and_texts_that_say_something() {
    let a = r#"{"type":"custom","customType":"pin","data":4711,"id":"a","parentId":null,"timestamp":"1"}"#;
    let b = r#"{"type":"message","id":"b","parentId":"a","timestamp":"2","message":{"role":"toolResult","toolCallId":"c","toolName":"x","content":4711,"details":true,"pin":4711,"usage":{"input":1,"note":"hunter2","4711":4711,"cost":{"total":0.5,"hunter2":1}},"isError":false,"exitCode":1,"timestamp":5}}"#;
    let c = r#"{"type":"usage","id":"c","parentId":"b","timestamp":"3","kind":"hunter2","provider":"p","model":"m","usage":"hunter2"}"#;
    let (_dir, path) = file(&[a, b, c]);
    assert_eq!(redact(&path, &entries(&["a", "b", "c"]), false).expect("redacted").left, 0);
    let expected = [
        HEADER,
        r#"{"type":"custom","customType":"pin","id":"a","parentId":null,"timestamp":"1"}"#,
        r#"{"type":"message","id":"b","parentId":"a","timestamp":"2","message":{"role":"toolResult","toolCallId":"c","toolName":"x","usage":{"input":1,"cost":{"total":0.5}},"isError":false,"timestamp":5}}"#,
        r#"{"type":"usage","id":"c","parentId":"b","timestamp":"3","kind":"[redacted]","provider":"p","model":"m"}"#,
        "",
    ];
    assert_eq!(fs::read_to_string(&path).expect("read"), expected.join("\n"));
}

#[test]
fn a_file_and_its_backups_are_redacted_and_all_else_stays() {
    let a = r#"{"type":"custom","id":"a","parentId":null,"timestamp":"1","data":"hunter2"}"#;
    let b = r#"{"type":"custom","id":"b","parentId":"a","timestamp":"2","data":"x\u0041"}"#;
    let (dir, path) = file(&[a, "torn { hunter2", "", b]);
    let old = [HEADER, r#"{"type":"custom","timestamp":"1","data":"hunter2"}"#].join("\n");
    for name in ["s.jsonl.v1.bak", "s.jsonl.bak", "s.jsonl.bak.1", "s.jsonl.bak.x", "t.jsonl.bak"] {
        fs::write(dir.path().join(name), &old).expect("written");
    }
    let before = fs::read_to_string(&path).expect("read");
    let planned = redact(&path, &text("hunter2"), true).expect("planned");
    assert_eq!(fs::read_to_string(&path).expect("read"), before);
    let report = redact(&path, &text("hunter2"), false).expect("redacted");
    assert_eq!(planned, report);
    let ids: Vec<_> = report.lines.iter().map(|line| line.id.as_deref()).collect();
    assert_eq!(ids, [Some("a"), None]);
    // The headers of the four files contain it in their paths.
    assert_eq!((report.backups.len(), report.left), (3, 4));
    let expected = before.replace("hunter2", "[redacted]").replacen("[redacted]", "hunter2", 1);
    assert_eq!(fs::read_to_string(&path).expect("read"), expected);
    for (name, is_changed) in [
        ("s.jsonl.v1.bak", true),
        ("s.jsonl.bak", true),
        ("s.jsonl.bak.1", true),
        ("s.jsonl.bak.x", false),
        ("t.jsonl.bak", false),
    ] {
        let now = fs::read_to_string(dir.path().join(name)).expect("read");
        assert_eq!(now.contains("\"data\":\"[redacted]\""), is_changed, "{name}");
        assert!(!now.ends_with('\n'), "{name}");
    }
    assert_eq!(redact(&path, &text("hunter2"), false).expect("redacted").lines, []);
}

#[test]
fn an_entry_keeps_its_place_and_loses_what_it_says() {
    let a = r#"{"type":"message","id":"a","parentId":null,"timestamp":"1","message":{"role":"assistant","content":[{"type":"thinking","thinking":"hunter2"},{"type":"image","data":"hunter2","mimeType":"image/png"},{"type":"toolCall","id":"c","name":"bash","arguments":{"command":"hunter2"}}],"usage":{"input":1},"details":{"hunter2":1},"errorMessage":"hunter2","timestamp":5}}"#;
    let b = r#"{"type":"compaction","id":"b","parentId":"a","timestamp":"2","summary":"hunter2","firstKeptEntryId":"a","tokensBefore":7}"#;
    let c = r#"{"type":"custom","id":"c","parentId":"b","timestamp":"3","data":"stays"}"#;
    let (dir, path) = file(&[a, b, c]);
    let old = r#"{"type":"message","timestamp":"1","message":{"role":"assistant","content":"hunter2"}}"#;
    fs::write(dir.path().join("s.jsonl.v1.bak"), format!("{HEADER}\n{old}\n")).expect("written");
    let report = redact(&path, &entries(&["a", "b"]), false).expect("redacted");
    assert_eq!((report.lines.len(), report.backups.len(), report.left), (2, 1, 0));
    let expected = [
        HEADER,
        r#"{"type":"message","id":"a","parentId":null,"timestamp":"1","message":{"role":"assistant","content":[{"type":"text","text":"[redacted]"},{"type":"text","text":"[redacted]"},{"type":"toolCall","id":"c","name":"bash","arguments":{}}],"usage":{"input":1},"errorMessage":"[redacted]","timestamp":5}}"#,
        r#"{"type":"compaction","id":"b","parentId":"a","timestamp":"2","summary":"[redacted]","firstKeptEntryId":"a","tokensBefore":7}"#,
        c,
        "",
    ];
    assert_eq!(fs::read_to_string(&path).expect("read"), expected.join("\n"));
    let backup = fs::read_to_string(dir.path().join("s.jsonl.v1.bak")).expect("read");
    assert_eq!(backup, format!("{HEADER}\n{}\n", old.replace("hunter2", "[redacted]")));
}

/// Regression: fields that pi does not have kept their names, and entries of extensions kept fields that are names or
/// numbers in messages.
#[test]
fn an_entry_that_loses_what_it_says_keeps_only_the_fields_of_its_kind() {
    let head = r#""id":"a","parentId":null,"timestamp":"1""#;
    let message = |fields: &str| format!("{{\"type\":\"message\",{head},\"message\":{{{fields},\"timestamp\":5}}}}");
    for (before, after) in [
        (
            format!(
                r#"{{"type":"custom",{head},"customType":"x","exitCode":5,"role":"hunter2","model":"hunter2","hunter2":"y","data":"hunter2"}}"#
            ),
            format!(r#"{{"type":"custom",{head},"customType":"x","data":"[redacted]"}}"#),
        ),
        (
            format!(
                r#"{{"type":"hunter3",{head},"targetId":"hunter2","hunter2":null,"tokensBefore":7,"isError":true}}"#
            ),
            format!(r#"{{"type":"hunter3",{head}}}"#),
        ),
        (
            format!(r#"{{"type":"context_edit",{head},"targetId":"b","replacement":null,"hunter2":[]}}"#),
            format!(r#"{{"type":"context_edit",{head},"targetId":"b","replacement":null}}"#),
        ),
        (
            message(
                r#""role":"bashExecution","command":"hunter2","output":"hunter2","exitCode":1,"hunter2":1,"model":"hunter2""#,
            ),
            message(r#""role":"bashExecution","command":"[redacted]","output":"[redacted]","exitCode":1"#),
        ),
        (
            message(
                r#""role":"toolResult","toolCallId":"c","toolName":"bash","content":[{"type":"text","text":"hunter2"}],"isError":"hunter2","exitCode":2"#,
            ),
            message(
                r#""role":"toolResult","toolCallId":"c","toolName":"bash","content":[{"type":"text","text":"[redacted]"}]"#,
            ),
        ),
        (
            message(r#""role":"user","content":"hunter2","provider":"hunter2","usage":{"input":1}"#),
            message(r#""role":"user","content":"[redacted]""#),
        ),
    ] {
        let (_dir, path) = file(&[&before]);
        assert_eq!(redact(&path, &entries(&["a"]), false).expect("redacted").left, 0);
        assert_eq!(fs::read_to_string(&path).expect("read"), [HEADER, &after, ""].join("\n"));
    }
}

#[test]
fn lines_are_replaced_by_their_hashes() {
    let a = r#"{"type":"custom","id":"a","parentId":null,"timestamp":"1","data":"hunter2"}"#;
    let b = r#"{"type":"custom","id":"b","parentId":"a","timestamp":"2","data":{"x":"hunter2"}}"#;
    let (_dir, path) = file(&[a, b]);
    let planned = redact(&path, &text("hunter2"), true).expect("planned");
    let [first, second] = &planned.lines[..] else { panic!("two lines") };
    let new = a.replace("hunter2", "[redacted]");
    let lines = [(first.hash.to_ascii_uppercase(), Some(new.clone().into_bytes())), (second.hash.clone(), None)];
    let lines = lines.map(|(hash, line)| LineRedaction { hash, line, session: None });
    let redaction = Redaction::lines(lines, b"").expect("no line breaks");
    let report = redact(&path, &redaction, false).expect("redacted");
    assert_eq!(report.lines[0], planned.lines[0]);
    let rest = r#"{"type":"custom","id":"b","parentId":"a","timestamp":"2"}"#;
    assert_eq!(fs::read_to_string(&path).expect("read"), [HEADER, &new, rest, ""].join("\n"));
}

/// Regression: a redaction of lines, such as one that completes the work of a killed process, did not remove their
/// texts from backups.
#[test]
fn backups_lose_the_other_lines_of_an_entry_whose_line_is_replaced() {
    let a = r#"{"type":"custom","id":"a","parentId":null,"timestamp":"1","data":"hunter2"}"#;
    let b = r#"{"type":"custom","id":"b","parentId":"a","timestamp":"1","data":"stays"}"#;
    let twin = a.replace("hunter2", "edited");
    let (dir, path) = file(&[a, b, &twin]);
    let old = a.replace(r#""id":"a","parentId":null,"#, "");
    let relinked = a.replace("null", r#""lost""#);
    for (name, line) in [("s.jsonl.v1.bak", &old), ("s.jsonl.bak", &relinked)] {
        fs::write(dir.path().join(name), [HEADER, line, b, ""].join("\n")).expect("written");
    }
    let new = a.replace("hunter2", "[redacted]");
    let report = redact(&path, &lines(&[(a, Some(&new), None)]), false).expect("redacted");
    assert_eq!((report.lines.len(), report.backups.len()), (1, 2));
    assert_eq!(fs::read_to_string(&path).expect("read"), [HEADER, &new, b, &twin, ""].join("\n"));
    for (name, line, left) in [("s.jsonl.v1.bak", &old, "*"), ("s.jsonl.bak", &relinked, "[redacted]")] {
        let expected = [HEADER, &line.replace("hunter2", left), b, ""].join("\n");
        assert_eq!(fs::read_to_string(dir.path().join(name)).expect("read"), expected);
    }
}

/// Regression: when a redaction completed a stopped one, it emptied the kept part of an entry in a backup.
#[test]
fn a_line_that_a_stopped_redaction_has_put_into_a_backup_stays() {
    let a = r#"{"type":"custom","id":"a","parentId":null,"timestamp":"1","data":"keep hunter2"}"#;
    let new = a.replace("hunter2", "[redacted]");
    let (dir, path) = file(&[a]);
    let backup = dir.path().join("s.jsonl.bak");
    fs::write(&backup, [HEADER, &new, ""].join("\n")).expect("written");
    redact(&path, &lines(&[(a, Some(&new), None)]), false).expect("redacted");
    for path in [Path::new(&path), &backup] {
        assert_eq!(fs::read_to_string(path).expect("read"), [HEADER, &new, ""].join("\n"));
    }
}

/// Regression: the replacement was written unchanged, and damaged the lines if it was not the text of a JSON string.
#[test]
fn no_redaction_breaks_a_line() {
    let (_dir, path) = file(&[r#"{"type":"message","id":"a","message":{"role":"user","content":"x"}}"#]);
    let redaction = Redaction::entries(set_of(&["a"]), b"\"\n").expect("memory");
    redact(&path, &redaction, false).expect("redacted");
    let all = fs::read_to_string(&path).expect("read");
    assert_eq!((all.lines().count(), all.lines().all(is_json)), (2, true), "{all}");
    let two = LineRedaction { hash: "00".to_owned(), line: Some(b"a\nb".to_vec()), session: None };
    let error = Redaction::lines([two], b"").expect_err("two lines");
    assert_eq!(error.code(), ErrorCode::InvalidArgument);
}

/// Lines that another program appends while the file is replaced are redacted, too.
#[test]
fn a_line_that_is_appended_meanwhile_is_redacted() {
    use crate::io::fs::faults::before_next;
    use crate::io::fs::FsCall;
    use std::io::Write as _;
    let a = r#"{"type":"custom","id":"a","parentId":null,"timestamp":"1","data":"hunter2"}"#;
    let (_dir, path) = file(&[a]);
    let late = a.replace("\"id\":\"a\"", "\"id\":\"b\"");
    let (to, line) = (path.clone(), format!("{late}\n"));
    before_next(FsCall::Rename, move || {
        let mut file = fs::OpenOptions::new().append(true).open(&to).expect("opened");
        file.write_all(line.as_bytes()).expect("written");
    });
    let report = redact(&path, &text("hunter2"), false).expect("redacted");
    assert_eq!(report.lines.len(), 2);
    let expected = [a, &late].map(|line| line.replace("hunter2", "[redacted]"));
    assert_eq!(fs::read_to_string(&path).expect("read"), [HEADER, &expected[0], &expected[1], ""].join("\n"));
}

/// Regression: the file was changed first. If only that succeeded, its backups were never searched again.
#[test]
fn the_backups_of_a_file_are_redacted_before_the_file() {
    use crate::io::fs::faults::{before_nth, with, InjectedFault};
    use crate::io::fs::FsCall;
    let a = r#"{"type":"custom","id":"a","parentId":null,"timestamp":"1","data":"hunter2"}"#;
    let session = || {
        let (dir, path) = file(&[a]);
        let backup = format!("{path}.v1.bak");
        let old = a.replace("\"id\":\"a\",\"parentId\":null,", "");
        fs::write(&backup, format!("{HEADER}\n{old}\n")).expect("written");
        (dir, path, backup)
    };
    // The number of renames of a redaction depends on the system; the last one replaces the session file.
    let (_other_dir, other, _) = session();
    let (_, made) = with(usize::MAX, InjectedFault::Once(0), || redact(&other, &entries(&["a"]), false));
    let renames = made.calls.iter().filter(|call| **call == FsCall::Rename).count();
    let (_dir, path, backup) = session();
    let (of_file, of_backup) = (path.clone(), backup.clone());
    before_nth(renames as u32, FsCall::Rename, move || {
        let is_redacted = |path| !fs::read_to_string(path).expect("read").contains("\"data\":\"hunter2\"");
        assert_eq!([is_redacted(&of_file), is_redacted(&of_backup)], [false, true]);
    });
    let report = redact(&path, &entries(&["a"]), false).expect("redacted");
    assert_eq!((report.lines.len(), report.backups, report.left), (1, vec![backup], 0));
}

/// Regression: if entries were named, a text in a field that is kept, such as the type of a custom entry, was not
/// counted.
#[test]
fn a_text_that_stays_in_a_named_entry_is_counted() {
    let a =
        r#"{"type":"custom","id":"aaaaaaaa","parentId":null,"timestamp":"1","customType":"hunter2","data":"hunter2"}"#;
    let b =
        r#"{"type":"custom","id":"bbbbbbbb","parentId":"aaaaaaaa","timestamp":"2","customType":"x","data":"hunter2"}"#;
    let (_dir, path) = file(&[a, b, r#"{"id":"aaaaaaaa","data":"hunter2"#]);
    let of_a = |ids: &[&str]| Redaction::text(b"hunter2", Some(set_of(ids)), b"[redacted]").expect("not empty");
    let left = |ids: &[&str]| redact(&path, &of_a(ids), true).expect("planned").left;
    assert_eq!([left(&["aaaaaaaa"]), left(&["bbbbbbbb"]), left(&["cccccccc"])], [2, 0, 0]);
}

/// Regression: lines of version 1 have no id. So if entries were named, a text stayed in the backup of a migration.
#[test]
fn a_text_of_a_named_entry_is_taken_out_of_its_line_from_before_a_migration() {
    let a = r#"{"type":"custom","id":"a","parentId":null,"timestamp":"1","data":"hunter2"}"#;
    let b = r#"{"type":"custom","id":"b","parentId":"a","timestamp":"2","data":"hunter2"}"#;
    let (_dir, path) = file(&[a, b]);
    let [old_a, old_b] = ["1", "2"].map(|time| format!(r#"{{"type":"custom","timestamp":"{time}","data":"hunter2"}}"#));
    let backup = format!("{path}.v1.bak");
    fs::write(&backup, [HEADER, &old_a, &old_b, ""].join("\n")).expect("written");
    let redaction = Redaction::text(b"hunter2", Some(set_of(&["a"])), b"*").expect("not empty");
    let report = redact(&path, &redaction, false).expect("redacted");
    assert_eq!((report.lines.len(), report.backups.len(), report.left), (1, 1, 0));
    let expected = [HEADER, &old_a.replace("hunter2", "*"), &old_b, ""].join("\n");
    assert_eq!(fs::read_to_string(&backup).expect("read"), expected);
    // In a field that is kept it is counted.
    let is_kept = [HEADER, &old_a.replace("custom", "hunter2"), ""].join("\n");
    fs::write(&path, [HEADER, &a.replace("custom", "hunter2"), ""].join("\n")).expect("written");
    fs::write(&backup, is_kept).expect("written");
    assert_eq!(redact(&path, &redaction, true).expect("planned").left, 2);
}

/// Regression: a backup kept the line of an entry to which the repair had assigned another id.
#[test]
fn a_backup_loses_what_an_entry_said_that_a_repair_has_renamed() {
    let entry = |time: &str, data: &str| {
        format!(r#"{{"type":"custom","id":"a","parentId":null,"timestamp":"{time}","data":"{data}"}}"#)
    };
    let (first, second) = (entry("1", "stays"), entry("2", "hunter2"));
    for is_text in [false, true] {
        let (_dir, path) = file(&[&first, &second]);
        let report = crate::rewrite::repair::repair(&path, 0.0).expect("repaired");
        let backup = report.backup.expect("a backup");
        let repaired = fs::read_to_string(&path).expect("read");
        let renamed: serde_json::Value = serde_json::from_str(repaired.lines().last().expect("a line")).expect("JSON");
        let ids = set_of(&[renamed["id"].as_str().expect("an id")]);
        assert!(!ids.contains(&b"a"[..]));
        let redaction = match is_text {
            true => Redaction::text(b"hunter2", Some(ids), b"*"),
            false => Redaction::entries(ids, b"*"),
        };
        let report = redact(&path, &redaction.expect("made"), false).expect("redacted");
        assert_eq!((report.lines.len(), report.backups.len(), report.left), (1, 1, 0));
        let expected = [HEADER, &first, &entry("2", "*"), ""].join("\n");
        assert_eq!(fs::read_to_string(&backup).expect("read"), expected);
    }
}

/// Regression: the numbered backups of a long name were not found, because a longer number cuts the name at another
/// place.
#[test]
fn numbered_backups_of_a_long_name_are_redacted() {
    use crate::io::sidecar_names::beside;
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("s".repeat(244) + ".jsonl");
    let a = r#"{"type":"custom","id":"a","parentId":null,"timestamp":"1","data":"hunter2"}"#;
    let suffixes = ["", ".bak", ".bak.1", ".bak.17", ".v1.bak", ".v1.bak.2"];
    for file in suffixes.map(|suffix| beside(&path, suffix)) {
        fs::write(&file, [HEADER, a, ""].join("\n")).expect("written");
    }
    let report = redact(path.to_str().expect("text"), &entries(&["a"]), false).expect("redacted");
    assert_eq!((report.lines.len(), report.backups.len(), report.left), (1, 5, 0));
}

/// The new lines by their numbers, without the unchanged ones.
fn changed(all: &[&str], redaction: &Redaction) -> Vec<(usize, String, Option<String>)> {
    let bytes: Vec<_> = all.iter().map(|line| line.as_bytes().to_vec()).collect();
    let changed = redact_lines(&bytes, redaction, None).expect("memory");
    let number = |hash: &str| all.iter().position(|line| hash_of(line.as_bytes()) == hash).expect("one of them");
    let told = |one: RedactedLine| (number(&one.hash), String::from_utf8(one.line).expect("text"), one.session);
    changed.into_iter().map(told).collect()
}

fn said(parent: &str, time: &str, data: &str) -> String {
    format!(r#"{{"type":"custom","id":"b","parentId":{parent},"timestamp":"{time}","data":"{data}"}}"#)
}

#[test]
fn a_copy_has_the_id_and_the_timestamp_and_one_below_another_entry_gets_the_new_line_there() {
    let secret = said(r#""a""#, "1", "the word is hunter2");
    let clean = |parent: &str| said(parent, "1", "the word is [redacted]");
    let copies = [
        secret.clone(),
        said(r#""z""#, "1", "the word is hunter2"),
        said("null", "1", "the word is hunter2"),
        said(r#""a""#, "1", "hunter2, edited"),
        said(r#""a""#, "2", "the word is hunter2"),
        clean(r#""z""#),
        secret.replace(r#""id":"b""#, r#""id":"c""#),
    ];
    let all: Vec<_> = copies.iter().map(String::as_str).collect();
    let below = |session: Option<&str>| {
        [r#""a""#, r#""z""#, "null"]
            .into_iter()
            .enumerate()
            .map(|(at, parent)| (at, clean(parent), session.map(str::to_owned)))
            .collect::<Vec<_>>()
    };
    let [own, others] = [None, Some("s")].map(|of| changed(&all, &lines(&[(&secret, Some(&clean(r#""a""#)), of)])));
    assert_eq!(own, below(None));
    // If a copy of another session's entry was changed, all its texts are removed.
    let edited = (3, said(r#""a""#, "1", "*"), Some("s".to_owned()));
    assert_eq!(others, below(Some("s")).into_iter().chain([edited]).collect::<Vec<_>>());
    // Without a new line we do not know the session whose copies must be found.
    assert_eq!(changed(&all, &lines(&[(&secret, None, Some("s"))])).len(), 1);
}

/// Regression: the parent was compared as text, so a copy with a space after the colon lost all its texts.
#[test]
fn a_copy_is_known_however_its_parent_is_written() {
    for [theirs, own] in
        [["\"parentId\": \"a\"", "\"parentId\": \"z\""], ["\"parent\\u0049d\":null", "\"parent\\u0049d\":\"z\""]]
    {
        let line = |parent: &str, data: &str| said("@", "1", data).replace("\"parentId\":@", parent);
        let redaction = lines(&[(&line(theirs, "hunter2"), Some(&line(theirs, "[redacted]")), Some("s"))]);
        let copy = line(own, "hunter2");
        assert_eq!(changed(&[&copy], &redaction), [(0, line(own, "[redacted]"), Some("s".to_owned()))]);
    }
}

/// Each session is treated by itself: a part that one session kept of an entry may be a part that another one removed.
#[test]
fn a_copy_that_one_session_has_redacted_loses_what_it_says_for_another() {
    let line = |data: &str| said("null", "1", data);
    let [one, other] = [("hunter2 and 5", "[redacted] and 5"), ("hunter2, 5", "hunter2, [redacted]")]
        .map(|(old, new)| (line(old), line(new)));
    let redaction = lines(&[(&one.0, Some(&one.1), Some("s")), (&other.0, Some(&other.1), Some("t"))]);
    assert_eq!(changed(&[&one.1], &redaction), [(0, line("*"), Some("t".to_owned()))]);
    // Its own redaction comes first.
    assert_eq!(changed(&[&one.0], &redaction), [(0, one.1.clone(), Some("s".to_owned()))]);
    let same = lines(&[(&one.0, Some(&one.1), Some("s")), (&one.0, Some(&one.1), Some("t"))]);
    assert_eq!(changed(&[&one.1], &same), []);
}

#[test]
fn where_a_file_has_the_entry_of_a_line_its_own_line_takes_the_place() {
    let (edited, with_secret) =
        (said("null", "1", "edited"), said("null", "2", "hunter2, edited").replace("\"b\"", "\"c\""));
    let (_dir, path) = file(&[&edited, &with_secret]);
    let stored = [
        said("null", "1", "hunter2"),
        said("null", "2", "hunter2").replace("\"b\"", "\"c\""),
        said("null", "3", "hunter2"),
    ];
    let bytes: Vec<_> = stored.iter().map(|line| line.as_bytes().to_vec()).collect();
    let changed = redact_lines(&bytes, &text("hunter2"), Some(&path)).expect("redacted");
    let expected = [edited, with_secret.replace("hunter2", "[redacted]"), stored[2].replace("hunter2", "[redacted]")];
    for ((one, old), new) in changed.iter().zip(&stored).zip(&expected) {
        let new = (hash_of(old.as_bytes()), hash_of(new.as_bytes()), new.as_bytes());
        assert_eq!((one.hash.clone(), one.new_hash.clone(), &one.line[..]), new);
    }
    assert_eq!(changed.len(), expected.len());
}

/// Names of temporary files.
const FIRST: &str = ".pi-session-00000000000000000000000000000001.tmp";
const SECOND: &str = ".pi-session-00000000000000000000000000000002.tmp";

/// Regression: if this process had swept a directory before, the files of a killed repair, fork or pull stayed there,
/// and the report mentioned no rest.
#[test]
fn temporary_files_of_dead_processes_are_removed_by_each_redaction() {
    use crate::io::temporary::Temporary;
    let (dir, path) = file(&[r#"{"type":"custom","id":"a","parentId":null,"data":"swordfish"}"#]);
    let at = |name: &str| dir.path().join(name);
    let mut alive = Temporary::beside(Path::new(&path)).expect("made");
    std::io::Write::write_all(&mut alive, b"swordfish").expect("written");
    for name in [FIRST, SECOND] {
        fs::write(at(name), "swordfish").expect("written");
        fs::write(at("other.tmp"), "swordfish").expect("written");
        let removed = vec![at(name).to_str().expect("text").to_owned()];
        let planned = redact(&path, &text("swordfish"), true).expect("planned");
        assert_eq!((planned.left, &planned.temporary_files), (0, &removed));
        assert!(at(name).exists(), "a plan changes nothing");
        let done = redact(&path, &text("swordfish"), false).expect("redacted");
        assert_eq!((done.left, &done.temporary_files), (0, &removed));
        assert!(!at(name).exists() && at("other.tmp").exists());
    }
    drop(alive);
}

/// Regression: the same if they cannot be removed.
#[cfg(unix)]
#[test]
fn what_temporary_files_hold_that_cannot_be_removed_is_left() {
    use crate::io::fs::faults::{on_file_system, FileSystem};
    use crate::io::fs::FsCall;
    let (dir, path) = file(&[r#"{"type":"custom","id":"a","parentId":null,"data":"swordfish"}"#]);
    fs::write(dir.path().join(FIRST), "swordfish\nother\n{\"data\":\"swordfish\"}").expect("written");
    for refused in [&[(FsCall::Lock, libc::ENOTSUP)], &[(FsCall::Remove, libc::EACCES)]] {
        let left = on_file_system(FileSystem { refused, ..FileSystem::PLAIN }, || {
            redact(dir.path(), &text("swordfish"), false).expect("read").left
        });
        assert_eq!(left, 2);
    }
    assert_eq!(redact(&path, &text("swordfish"), false).expect("redacted").left, 0);
}

/// Regression: files in a directory without any session stayed.
#[test]
fn the_temporary_files_of_a_directory_are_removed_without_a_session() {
    let dir = tempfile::tempdir().expect("a directory");
    let at = |name: &str| dir.path().join(name).to_str().expect("text").to_owned();
    for (name, content) in [(FIRST, "{\"data\":\"sword\\u0066ish\"}"), (SECOND, "other")] {
        fs::write(at(name), content).expect("written");
    }
    for (is_dry_run, files) in [(true, 2), (false, 0)] {
        let report = redact(dir.path(), &text("swordfish"), is_dry_run).expect("read");
        let expected = RedactReport { temporary_files: vec![at(FIRST)], ..RedactReport::default() };
        assert_eq!(report, expected);
        assert_eq!(fs::read_dir(dir.path()).expect("read").count(), files);
    }
}

/// Regression: a file without the text was an error, because it was not a session.
#[test]
fn a_file_that_is_no_session_is_an_error_only_if_it_has_the_text() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("s.jsonl").to_str().expect("text").to_owned();
    for note in ["", "\n", "a note\n", "{\"type\":\"user\",\"uuid\":\"a\"}\n"] {
        fs::write(&path, note).expect("written");
        assert_eq!(redact(&path, &text("hunter2"), false).expect("nothing to do"), RedactReport::default());
    }
    for note in ["hunter2", "{\"text\":\"hunter\\u0032\"}\n"] {
        fs::write(&path, note).expect("written");
        for is_dry_run in [true, false] {
            let error = redact(&path, &text("hunter2"), is_dry_run).expect_err("it has it");
            assert_eq!(error.code(), ErrorCode::SessionInvalid);
        }
        assert_eq!(fs::read_to_string(&path).expect("read"), note);
    }
}
