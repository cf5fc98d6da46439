//! Earlier faults of repairs: files that took minutes, entries that nobody had written, headers that were dropped,
//! lines of others that were lost.

use std::io::Write;

use super::*;
use crate::index::salvage::{pieces, salvaged_entry, SalvagedPiece};
use crate::index::verify::Survey;
use crate::io::fs::faults::before_next;
use crate::io::fs::FsCall;
use crate::rewrite::replace::{write_lines, ReadTo};
use crate::storage::file::FileStorage;
use crate::storage::new_file::NewFile;

fn written(lines: &str) -> (tempfile::TempDir, String) {
    let dir = crate::testing::faults::tests::scratch();
    let path = dir.path().join("2026-01-02T03-04-05-006Z_name-1.jsonl").to_str().expect("text").to_owned();
    fs::write(&path, lines).expect("written");
    (dir, path)
}

fn add(path: &str, text: &str) {
    let mut file = fs::OpenOptions::new().append(true).open(path).expect("opened");
    file.write_all(text.as_bytes()).expect("written");
}

fn custom(id: &str, parent: &str) -> String {
    format!("{{\"type\":\"custom\",\"id\":\"{id}\",\"parentId\":\"{parent}\"}}\n")
}

/// Regression: repairs of 60,000 incomplete or entangled lines took minutes.
/// At 30,000 lines of each kind the first of these took 75 seconds; the time grew with the square.
#[test]
fn incomplete_or_entangled_lines_are_repaired_in_linear_time() {
    let lines = crate::testing::tests::count("repaired_lines") as usize;
    let all = |line: &dyn Fn(usize) -> String| (0..lines).map(line).collect::<String>();
    let torn =
        |n: usize| format!("{{\"type\":\"custom\",\"id\":\"g{n}\",\"parentId\":\"g{}\",\"x\n", n.wrapping_sub(1));
    let junk = all(&|_| "?\n".to_owned());
    for (what, text, entries) in [
        ("orphans before gaps", all(&|n| custom(&format!("a{n}"), &format!("z{n}"))) + &junk, lines),
        ("gaps before orphans", junk.clone() + &all(&|n| custom(&format!("a{n}"), &format!("z{n}"))), lines),
        ("repeated lines before gaps", all(&|_| custom("a", "z")) + &junk, 1),
        ("a chain of gaps", all(&torn) + &all(&|n| custom(&format!("a{n}"), &format!("g{}", lines - 1))), lines),
        (
            "a cycle of gaps",
            all(&|n| torn(n).replace("\"g0\"", "\"g5\"")) + &custom("a", &format!("g{}", lines - 1)),
            1,
        ),
        ("cycles of two", all(&|n| custom(&format!("a{n}"), &format!("a{}", n ^ 1))), lines),
        ("one cycle", all(&|n| custom(&format!("a{n}"), &format!("a{}", (n + 1) % lines))), lines),
        ("one id", all(&|n| custom("a", &format!("b{n}"))), lines),
    ] {
        let (_dir, path) = written(&format!("{HEADER}\n{text}"));
        let report = repair(&path, 0.0).expect(what);
        assert!(report.after.ok, "{what}");
        assert_eq!(report.after.entries, entries as u64, "{what}");
    }
}

/// Regression: one line with many beginnings of entries took minutes. In a megabyte of beginnings each was parsed to
/// the end of the line, ten thousand times.
#[test]
fn one_line_of_many_beginnings_is_repaired_in_linear_time() {
    for line in [
        "{\"type\":\"x\",\"v\":[".repeat(100_000) + &"1,".repeat(500_000),
        "{\"type\":\"".repeat(200_000),
        "{\"{\"{\"".repeat(200_000),
        "{".repeat(1_000_000),
        "{\"a\":[{}],\"b\":\"\\u00".repeat(50_000),
        "[{\"type\":\"x\"},".repeat(100_000),
        format!("{{\"x\":\"{{{}", " ".repeat(1_000_000)),
    ] {
        let (_dir, path) = written(&format!("{HEADER}\n{line}\n{}", custom("a", "z")));
        let report = repair(&path, 0.0).expect("repaired");
        assert_eq!((report.after.ok, report.after.entries), (true, 1));
    }
}

/// Regression: each of ten thousand children got a parent id of a megabyte. A repaired file is not much longer than the
/// damaged one, whatever its ids are.
#[test]
fn a_long_id_of_a_lost_parent_is_not_repeated_for_each_child() {
    let long = "x".repeat(1 << 20);
    let gap = format!("{{\"type\":\"custom\",\"id\":\"gap\",\"parentId\":\"{long}\",\"x\n");
    let children: String = (0..10_000).map(|n| custom(&n.to_string(), "gap")).collect();
    let text = format!("{HEADER}\n{}{gap}{children}", custom(&long, "nothing"));
    let (_dir, path) = written(&text);
    let report = repair(&path, 0.0).expect("repaired");
    assert!(report.after.ok && report.after.entries == 10_001);
    assert!(report.after.bytes <= text.len() as u64 + 10_000);
}

const EVIL: &str =
    "{\"type\":\"message\",\"id\":\"evil\",\"parentId\":null,\"message\":{\"role\":\"user\",\"content\":\"f\"}}";

fn entries(text: &str) -> Vec<&str> {
    let whole =
        |piece: &SalvagedPiece<'_>| piece.whole.is_some_and(|whole| salvaged_entry(whole).expect("memory").is_some());
    pieces(text).filter(whole).filter_map(|piece| piece.whole).collect::<Vec<_>>()
}

/// Whether the next byte after half a line may begin a value.
fn wants_value(half: &str) -> bool {
    let (mut open, mut in_string, mut escaped) = (Vec::new(), false, false);
    let mut last = ' ';
    for c in half.chars() {
        match c {
            _ if escaped => escaped = false,
            '\\' if in_string => escaped = true,
            '"' => in_string = !in_string,
            '{' | '[' if !in_string => open.push(c),
            '}' | ']' if !in_string => drop(open.pop()),
            _ => {}
        }
        last = c;
    }
    !in_string && (last == ':' || last == '[' || last == ',' && open.last() == Some(&'['))
}

/// Regression: a tool's arguments became an entry.
/// An incomplete assistant line whose tool call had an entry-like object among its arguments put that into the session.
#[test]
fn arguments_of_a_tool_call_are_not_entries() {
    let line = format!(
        "{{\"type\":\"message\",\"id\":\"b\",\"parentId\":\"a\",\"message\":{{\"role\":\"assistant\",\"content\":[\
         {{\"type\":\"text\",\"text\":\"a \\\"quoted\\\" {{ brace, caf\\u00e9: [\"}},{{\"type\":\"toolCall\",\"id\":\"c\",\
         \"arguments\":{{\"write\":{EVIL},\"all\":[{EVIL},{EVIL}],\"n\":-1.5e3,\"t\":true}}}}]}}}}"
    );
    assert_eq!(entries(&line), [&line]);
    let next = custom("next", "b");
    let next = next.trim_end();
    for spaced in
        [next.to_owned(), next.replace(':', ": ").replace(',', " ,\t"), next.replace("\"type\":\"custom\",", "")]
    {
        for cut in (1..line.len()).filter(|&at| line.is_char_boundary(at)) {
            let half = &line[..cut];
            assert!(entries(half).is_empty(), "{half}");
            // A line that begins with a complete entry contains this entry, whatever follows.
            let rest = &line[cut..];
            assert_eq!(entries(rest).len(), usize::from(rest.starts_with(EVIL)), "{rest}");
            let fused = format!("{half}{spaced}");
            // If the cut is where a value may begin, the next line is read as that value.
            if wants_value(half) {
                assert!(entries(&fused).is_empty(), "{fused}")
            } else {
                assert_eq!(entries(&fused), [&spaced], "{fused}")
            }
            let zeros = format!("{half}\0\0\0{spaced}{spaced}\0");
            assert_eq!(entries(&zeros), [&spaced, &spaced], "{zeros}");
        }
    }
}

/// Regression: fused lines with a space, or with their id first, were dropped. Only lines that began as pi writes them
/// were found.
#[test]
fn fused_lines_with_a_space_or_their_id_first_are_separated() {
    let one = "{\"type\": \"custom\", \"id\": \"a\", \"parentId\": null}";
    let two = "{\"id\":\"b\",\"parentId\":\"a\",\"type\":\"custom\"}";
    let (report, lines) =
        repaired(&[HEADER, &[one, two].concat(), &format!("\u{feff}{one}").replace("\"a\"", "\"c\""), ""]);
    assert_eq!(parents(&lines), pairs(&[("a", "Null"), ("b", "a"), ("c", "Null")]));
    assert_eq!(lines[1..3], [one, two]);
    assert_eq!(report.repairs.len(), 2);
}

const WHOLE_HEADER: &str =
    "{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"timestamp\":\"2025-01-01T00:00:00.000Z\",\
                            \"cwd\":\"/my/project\",\"parentSession\":\"/p\"}";

/// Regression: a readable header was replaced by an empty one. If a byte order mark, zeros, half a line or an entry was
/// on its line, a session lost its header and its working directory.
#[test]
fn a_header_that_can_be_read_is_kept() {
    let half = &entry("x", "null")[..30];
    let alone = [format!("\u{feff}{WHOLE_HEADER}"), format!("\0\0\0\0{WHOLE_HEADER}"), format!("{half}{WHOLE_HEADER}")];
    for (line, entries) in alone.iter().map(|line| (line.clone(), 1)).chain([
        (format!("{WHOLE_HEADER}{}", entry("b", "null")), 2),
        (format!("\u{feff}{WHOLE_HEADER}{}", entry("b", "null")), 2),
        (format!("{}{WHOLE_HEADER}", entry("b", "null")), 2),
    ]) {
        let (report, lines) = repaired(&[&line, &entry("a", "null"), HEADER, ""]);
        assert_eq!(lines[0], WHOLE_HEADER, "{line}");
        assert_eq!(report.after.entries, entries, "{line}");
        assert!(report.repairs.iter().any(|one| one.line == 1 && one.what.contains("the header")), "{report:?}");
    }
}

#[test]
fn an_incomplete_header_keeps_what_can_be_read_of_it() {
    for cut in 1..WHOLE_HEADER.len() {
        let half = &WHOLE_HEADER[..cut];
        for (line, text) in [(half.to_owned(), "name-1"), (format!("{half}{}", entry("b", "null")), "name-1")] {
            let (_dir, path) = written(&format!("{line}\n{}\n", entry("a", "null")));
            let report = repair(&path, 0.0).expect("repaired");
            assert!(report.after.ok, "{line}");
            let file = fs::read_to_string(&path).expect("read");
            let header = crate::format::header::Header::read(file.lines().next().expect("a line"));
            let header = header.expect("memory").expect("a header");
            let has = |field: &str| half.contains(field);
            let kept =
                |field: &str, value: &str, other: &str| if has(field) { value.to_owned() } else { other.to_owned() };
            // Without its type, half a line is not recognised as a header.
            if !has("\"session\"") {
                assert_eq!(header.id, text.as_bytes());
                continue;
            }
            assert_eq!(header.id, kept("\"id\":\"s\"", "s", "name-1").as_bytes(), "{line}");
            let time = kept("2025-01-01T00:00:00.000Z\"", "2025-01-01T00:00:00.000Z", "2026-01-02T03:04:05.006Z");
            assert_eq!(header.timestamp_json, Some(format!("\"{time}\"")), "{line}");
            assert_eq!(header.cwd, Some(kept("\"/my/project\"", "/my/project", "").into_bytes()), "{line}");
            let parent = has("\"/p\"").then(|| crate::format::header::ParentSession::Path(b"/p".to_vec()));
            assert_eq!(header.parent, parent, "{line}");
        }
    }
}

/// Regression: an old file with a damaged header lost all its entries. A header of version 3 was written before entries
/// without ids, so none of them was kept.
#[test]
fn an_old_file_with_a_damaged_header_stays_as_it_is() {
    let first = "{\"type\":\"session\",\"id\":\"s\",\"timestamp\":\"t\",\"cwd\":\"/c\"}";
    let second = first.replace("\"id\"", "\"version\":2,\"id\"");
    let said = "{\"type\":\"message\",\"timestamp\":\"t\",\"message\":{\"role\":\"user\",\"content\":\"x\"}}";
    for header in [
        format!("\u{feff}{first}"),
        format!("{first}{said}"),
        format!("\u{feff}{second}"),
        second[..40].to_owned(),
        first[..50].to_owned(),
        first[..3].to_owned(),
        String::new(),
    ] {
        let text = format!("{header}\n{said}\n{said}\n");
        let (dir, path) = written(&text);
        let error = repair(&path, 0.0).expect_err("refused").to_string();
        let is_session = verify(&path).expect("read").other_format.is_none();
        assert_eq!(error.contains("its header is damaged"), is_session, "{error}");
        assert_eq!(fs::read_to_string(&path).expect("read"), text);
        assert_eq!(fs::read_dir(dir.path()).expect("read").count(), 1);
    }
}

/// Regression: lines that pi wrote during a repair were in no file: lines that pi appends between the copy and the
/// rename, and to the old file after it.
#[test]
fn lines_that_pi_writes_during_a_repair_are_in_the_new_file() {
    for moment in [FsCall::Write, FsCall::Sync, FsCall::Rename] {
        let (_dir, path) = written(&format!("{HEADER}\n{}\ntorn\n", entry("a", "null")));
        let other = path.clone();
        before_next(moment, move || add(&other, &custom("pi1", "a")));
        let report = repair(&path, 0.0).expect("repaired");
        assert!(report.after.ok, "{moment:?}: {report:?}");
        let kept = fs::read_to_string(report.backup.expect("kept")).expect("read");
        assert!(kept.ends_with("torn\n") || kept.ends_with(&custom("pi1", "a")), "{moment:?}: {kept}");
        let lines = fs::read_to_string(&path).expect("read");
        assert_eq!(parents(&lines.lines().map(str::to_owned).collect::<Vec<_>>()).len(), 2, "{moment:?}: {lines}");
    }
    // A process that has the file open still writes to it when another file has its name.
    let (_dir, path) = written(&format!("{HEADER}\n{}\ntorn\n", entry("a", "null")));
    let mut old = fs::OpenOptions::new().append(true).open(&path).expect("opened");
    before_next(FsCall::Rename, move || {
        before_next(FsCall::Stat, move || {
            old.write_all([custom("pi1", "a"), custom("pi2", "a"), "hal".into()].concat().as_bytes()).expect("written");
        });
    });
    let report = repair(&path, 0.0).expect("repaired");
    assert_eq!((report.after.entries, report.after.faults.damaged.len()), (3, 1), "half a line stays to be seen");
}

/// Regression: half a line that was continued during a repair was cut in two.
#[test]
fn half_a_line_that_goes_on_during_a_repair_stays_one_line() {
    for moment in [FsCall::Sync, FsCall::Rename] {
        let late = custom("pi1", "a");
        let (_dir, path) = written(&format!("{HEADER}\n{}\ntorn\n{}", entry("a", "null"), &late[..20]));
        let (other, rest) = (path.clone(), late[20..].to_owned());
        before_next(moment, move || add(&other, &rest));
        let report = repair(&path, 0.0).expect("repaired");
        assert_eq!((report.after.entries, report.after.ok), (2, true), "{moment:?}");
    }
}

/// Regression: a damaged line before blanks came back with the lines that were added during the repair.
#[test]
fn a_damaged_line_before_blanks_stays_away_when_lines_are_added_during_the_repair() {
    for moment in [FsCall::Sync, FsCall::Rename] {
        let (_dir, path) = written(&format!("{HEADER}\n{}\ntorn\n   ", entry("a", "null")));
        let other = path.clone();
        before_next(moment, move || add(&other, &custom("pi1", "a")));
        let report = repair(&path, 0.0).expect("repaired");
        assert_eq!((report.after.entries, report.after.ok), (2, true), "{moment:?}");
    }
}

/// Regression: a file that was repaired during the wait for the lock was overwritten, because the survey was made
/// before the lock was taken.
#[test]
fn a_file_that_is_repaired_while_the_lock_is_waited_for_is_not_overwritten() {
    let (dir, path) = written(&format!("{HEADER}\ntorn\n"));
    let other = path.clone();
    before_next(FsCall::Lock, move || {
        fs::write(&other, format!("{HEADER}\n{}\n", entry("new", "null"))).expect("written")
    });
    let report = repair(&path, 0.0).expect("looked at");
    assert!(report.before.ok && report.backup.is_none() && report.after.entries == 1, "{report:?}");
    assert_eq!(fs::read_dir(dir.path()).expect("read").count(), 1);
}

/// Regression: if another process replaced a file during a repair, its work was lost.
#[test]
fn a_file_that_another_replaces_during_a_repair_keeps_the_others_work() {
    for moment in [FsCall::Write, FsCall::Sync] {
        let (dir, path) = written(&format!("{HEADER}\ntorn\n"));
        let other = path.clone();
        before_next(moment, move || {
            let mut file = NewFile::create(&format!("{other}.new")).expect("created");
            for line in [HEADER, &entry("theirs", "null"), "torn again"] {
                file.line(line.as_bytes()).expect("written");
            }
            file.finish(crate::base::options::Durability::Os).expect("kept");
            fs::rename(format!("{other}.new"), &other).expect("renamed");
        });
        let report = repair(&path, 0.0).expect("repaired");
        assert_eq!((report.after.entries, report.after.ok), (1, true), "{moment:?}");
        let kept = fs::read_to_string(report.backup.expect("kept")).expect("read");
        assert!(kept.ends_with("torn again\n"), "{moment:?}: {kept}");
        assert_eq!(fs::read_dir(dir.path()).expect("read").count(), 2, "one backup");
    }
}

/// Every line that can be read is passed on by each reader, even between damaged lines.
#[test]
fn a_survey_and_a_repair_read_a_file_to_the_same_byte() {
    let (_dir, path) = written(&format!("{HEADER}\n{}\nhalf", entry("a", "null")));
    let storage = FileStorage::open(&path).expect("opened");
    let survey = Survey::of(&storage).expect("read");
    let read = write_lines(&storage, &mut std::io::sink(), true, |_| Ok(Some(Vec::new()))).expect("written");
    assert_eq!(read, ReadTo::all(survey.bytes, Some(survey.bytes - 4)));
}

/// Regression: from a text that is not a session an empty session was created.
#[test]
fn a_text_that_is_not_a_session_is_refused_by_a_repair() {
    for text in ["shopping:\nmilk\n", "#!/bin/sh\n", "{\"key\":\"secret\"}\n", "[1]", "\u{0}\u{0}\u{0}"] {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("notes.txt");
        fs::write(&path, text).expect("written");
        let error = repair(path.to_str().expect("text"), 0.0).expect_err("no session");
        assert!(error.to_string().starts_with("Session file is not a valid pi session"), "{error}");
        assert_eq!(fs::read_to_string(&path).expect("read"), text);
        assert_eq!(fs::read_dir(dir.path()).expect("read").count(), 1);
    }
}

/// Regression: files of other programs became sessions, and lost their texts.
#[test]
fn files_of_other_programs_are_told_from_damaged_sessions() {
    let id = "{\"id\":\"x\"}\n";
    let format_4 = "{\"v\":4,\"kind\":\"header\",\"id\":\"i\",\"cwd\":\"/c\"}\n[{\"type\":\"message\",\"id\":\"a\",\"parentId\":null}]\n";
    let message = entry("a", "null");
    let title = format!("{{\"type\":\"title\",\"v\":1,\"title\":\"t\",\"pad\":\"  \"}}\n{HEADER}\n{message}\n");
    let claude = r#"{"type":"summary","summary":"s","leafUuid":"u"}
{"parentUuid":null,"isSidechain":false,"type":"user","uuid":"u","message":{"role":"user","content":"x"}}
"#;
    let subagent = r#"{"isSidechain":true,"agentId":"a","type":"user","message":{"role":"user","content":"x"}}"#;
    let events = format!("{HEADER}\n{{\"type\":\"agent_start\"}}\n{{\"type\":\"agent_end\",\"messages\":[]}}\n");
    let cut_title = format!("{}\n{HEADER}\n{message}\n", &title[..30]);
    let fused_title = format!("{}{HEADER}\n{message}\n", &title[..30]);
    let cut_format_4 = format!("{}\n[{message}]\n[{message}", &format_4[..40]);
    let late_events = format!("{HEADER}\n{{\"type\":\"agent_st\n{{\"type\":\"turn_start\"}}\n");
    let item = r#"{"type":"message","id":"msg_1","role":"assistant","content":[]}"#;
    for (text, words) in [
        ("", "an empty file"),
        ("\n \n", "an empty file"),
        (format_4, "a session of pi-agent-core in format 4"),
        (&title, "a session of oh-my-pi"),
        (&cut_title, "a session of oh-my-pi"),
        (&fused_title, "a session of oh-my-pi"),
        (&cut_format_4, "a session of pi-agent-core in format 4"),
        (&late_events, "the events that pi --mode json prints"),
        (claude, "a transcript in Claude Code's format"),
        (subagent, "a transcript in Claude Code's format"),
        (&events, "the events that pi --mode json prints"),
        (id, "a file without a pi header or pi entries"),
        (item, "a file without a pi header or pi entries"),
        (r#"{"type":"label","id":"1","text":"dog"}"#, "a file without a pi header or pi entries"),
        (r#"{"type":"custom","id":"1","data":1}"#, "a file without a pi header or pi entries"),
    ] {
        let (dir, path) = written(text);
        let error = repair(&path, 0.0).expect_err("no session").to_string();
        assert_eq!(error, format!("Session file is not a valid pi session but {words}: {path}"));
        let found = verify(&path).expect("read").other_format.expect("not a session");
        assert_eq!(found.words(), words);
        assert_eq!(fs::read_to_string(&path).expect("read"), text);
        assert_eq!(fs::read_dir(dir.path()).expect("read").count(), 1);
    }
}

/// Regression: if the header of a session of version 1 was cut, `verify` reported a damaged session, but `repair` no
/// session.
#[test]
fn verify_and_repair_agree_on_a_session_of_version_1_whose_header_is_cut() {
    let header = r#"{"type":"session","id":"i","timestamp":"2025-11-21T09:00:00.000Z","cwd":"/c"}"#;
    let line = r#"{"type":"message","timestamp":"2025-11-21T09:00:01.000Z","message":{"role":"user","content":"x"}}"#;
    for cut in [20, 40, header.len() - 1] {
        let text = format!("{}\n{line}\n{line}\n", &header[..cut]);
        let (dir, path) = written(&text);
        let report = verify(&path).expect("read");
        assert_eq!((report.ok, report.other_format, report.version), (false, None, None));
        let error = repair(&path, 0.0).expect_err("no ids").to_string();
        let why = "its header is damaged, and no line after it is an entry of version 3";
        assert_eq!(error, format!("Session cannot be repaired: {why}: {path}"));
        assert_eq!(fs::read_to_string(&path).expect("read"), text);
        assert_eq!(fs::read_dir(dir.path()).expect("read").count(), 1);
    }
}

/// One of these is enough: a complete or torn header, a header in a damaged line, or an entry of pi.
#[test]
fn what_is_left_of_a_session_makes_a_file_one() {
    let fused = format!("{}{}", &entry("b", "a")[..30], entry("a", "null"));
    for text in [
        HEADER,
        &HEADER[..40],
        &format!("\0\0{HEADER}"),
        &entry("a", "null"),
        &format!("{{\"id\":\"x\"}}\n{}", entry("a", "x")),
        r#"{"type":"message","id":"a","message":{"role":"user","content":"x"}}"#,
        r#"{"type":"custom","id":"a","parentId":null,"customType":"x"}"#,
        &format!("\0{fused}"),
        &format!("{HEADER}\n{{\"isSidechain\":true}}"),
    ] {
        let (_dir, path) = written(text);
        assert_eq!(verify(&path).expect("read").other_format, None, "{text}");
        assert!(repair(&path, 0.0).expect("repaired").after.ok, "{text}");
    }
}

#[test]
fn an_entry_after_a_run_of_zeros_is_kept_however_long_that_is() {
    let zeros = "\0".repeat(17 << 20);
    let fused = format!("{zeros}{}{zeros}", entry("b", "a"));
    let (report, lines) = repaired(&[HEADER, &entry("a", "null"), &fused, &zeros, &entry("c", "b"), ""]);
    assert_eq!(parents(&lines), pairs(&[("a", "Null"), ("b", "a"), ("c", "b")]));
    let told: Vec<_> = report.repairs.iter().map(|repair| (repair.line, repair.what.as_str())).collect();
    let found = [(3, "removed, but for 1 entry inside it"), (4, "removed: not valid JSON")];
    assert_eq!(told, found);
}
