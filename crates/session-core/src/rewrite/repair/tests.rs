use std::fs;

use proptest::prelude::*;

use super::*;
use crate::index::surveyed_line::entry_in;
use crate::index::verify::verify;
use crate::locks::lock_file::SessionLockGuard;

mod regressions;

const HEADER: &str = "{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"timestamp\":\"t\",\"cwd\":\"/c\"}";

fn entry(id: &str, parent: &str) -> String {
    let parent = if parent == "null" { parent.to_owned() } else { format!("\"{parent}\"") };
    format!("{{\"type\":\"custom\",\"id\":\"{id}\",\"parentId\":{parent},\"timestamp\":\"t\",\"n\":1.50}}")
}

/// Repairs these lines, of which the last is unterminated. Returns the report and the new lines.
fn repaired(lines: &[&str]) -> (RepairReport, Vec<String>) {
    let dir = crate::testing::faults::tests::scratch();
    let path = dir.path().join("2025_name-1.jsonl").to_str().expect("text").to_owned();
    let text = lines.join("\n");
    fs::write(&path, &text).expect("written");
    let report = repair(&path, 0.0).expect("repaired");
    assert!(report.after.ok, "{report:?}");
    assert_eq!(*report.after, verify(&path).expect("read"));
    match &report.backup {
        Some(backup) => assert_eq!(fs::read_to_string(backup).expect("kept"), text),
        None => assert_eq!(fs::read_to_string(&path).expect("read"), text),
    }
    let new = fs::read_to_string(&path).expect("read");
    (report, new.lines().map(str::to_owned).collect())
}

fn parents(lines: &[String]) -> Vec<(String, String)> {
    let heads = lines.iter().filter_map(|line| entry_in(line).expect("memory"));
    heads
        .map(|head| {
            let parent = match head.parent {
                crate::format::entry::Parent::Id(id) => String::from_utf8_lossy(&id).into_owned(),
                other => format!("{other:?}"),
            };
            (String::from_utf8_lossy(&head.id).into_owned(), parent)
        })
        .collect()
}

fn pairs(of: &[(&str, &str)]) -> Vec<(String, String)> {
    of.iter().map(|(id, parent)| ((*id).to_owned(), (*parent).to_owned())).collect()
}

#[test]
fn a_good_file_is_left_alone() {
    let (report, _) = repaired(&[HEADER, &entry("a", "null"), &entry("b", "a"), ""]);
    assert_eq!((report.backup, report.repairs.len(), report.before.ok), (None, 0, true));
    assert_eq!((report.before.lines, report.before.entries, report.before.version), (3, 2, Some(3.0)));
}

#[test]
fn children_of_a_damaged_line_become_children_of_its_parent() {
    let torn = &entry("c", "a")[..50];
    let (report, lines) =
        repaired(&[HEADER, &entry("a", "null"), &entry("b", "a"), torn, &entry("d", "c"), &entry("e", "d"), ""]);
    assert_eq!(parents(&lines), pairs(&[("a", "Null"), ("b", "a"), ("d", "a"), ("e", "d")]));
    let told: Vec<_> = report.repairs.iter().map(|one| (one.line, one.what.as_str())).collect();
    assert_eq!(told, [(4, "removed: not valid JSON"), (5, "entry d reattached to a: its parent cannot be read")]);
    assert_eq!(lines[1], entry("a", "null"), "what is good stays byte by byte");
}

#[test]
fn children_of_a_line_of_which_nothing_is_left_become_children_of_the_entry_before_it() {
    let (_, lines) = repaired(&[HEADER, &entry("a", "null"), "\0\0\0", "?!", &entry("d", "c"), ""]);
    assert_eq!(parents(&lines), pairs(&[("a", "Null"), ("d", "a")]));
    let (_, lines) = repaired(&[HEADER, &entry("a", "null"), &entry("d", "gone"), ""]);
    assert_eq!(parents(&lines), pairs(&[("a", "Null"), ("d", "Null")]), "no line is damaged: it was a root");
    let (first, second) = (&entry("b", "a")[..48], &entry("c", "b")[..48]);
    let (_, lines) = repaired(&[HEADER, &entry("a", "null"), first, second, &entry("d", "c"), ""]);
    assert_eq!(parents(&lines), pairs(&[("a", "Null"), ("d", "a")]), "through two damaged lines");
}

/// Regression: a child before its lost parent became a child of its own descendant.
#[test]
fn a_child_before_its_lost_parent_is_no_child_of_its_own_descendant() {
    let nothing_left = "{\"type\":\"custom\",\"id\":\"c\"";
    let lines = [HEADER, &entry("a", "null"), &entry("d", "c"), &entry("e", "d"), nothing_left, &entry("f", "c"), ""];
    let (_, lines) = repaired(&lines);
    assert_eq!(parents(&lines), pairs(&[("a", "Null"), ("d", "a"), ("e", "d"), ("f", "e")]));
    let torn = &entry("c", "a")[..50];
    let (_, lines) = repaired(&[HEADER, &entry("a", "null"), &entry("b", "a"), &entry("d", "c"), torn, ""]);
    assert_eq!(parents(&lines), pairs(&[("a", "Null"), ("b", "a"), ("d", "a")]), "its parent can be read");
}

#[test]
fn fused_lines_are_separated() {
    let block = "{\"type\":\"message\",\"id\":\"m\",\"parentId\":\"a\",\"message\":{\"role\":\"assistant\",\"content\":[{\"type\":\"toolCall\",\"id\":\"call\",\"name\":\"x\"}]}}";
    let fused = [&entry("a", "null")[..], block, &entry("b", "m")].concat();
    let half = format!("{}{}", &entry("c", "b")[..30], entry("d", "b"));
    let zeros = format!("\0\0\0\0{}", entry("e", "d"));
    let (report, lines) = repaired(&[HEADER, &fused, &half, &zeros]);
    assert_eq!(parents(&lines), pairs(&[("a", "Null"), ("m", "a"), ("b", "m"), ("d", "b"), ("e", "d")]));
    assert_eq!(lines[2], block);
    assert_eq!(report.repairs.len(), 4);
    assert!(report.repairs[0].what.contains("3 entries"), "{:?}", report.repairs);
}

#[test]
fn an_id_means_one_entry_again() {
    let twice = entry("a", "null");
    let other = entry("b", "b2").replace("1.50", "2");
    let label = "{\"type\":\"label\",\"id\":\"l\",\"parentId\":\"b\",\"targetId\":\"b\",\"label\":\"x\"}";
    let (report, lines) =
        repaired(&[HEADER, &twice, &twice, &entry("b", "a"), &entry("b2", "b"), &other, &entry("c", "b"), label, ""]);
    let found = parents(&lines);
    let renamed = found[3].0.clone();
    assert_eq!(renamed.len(), 8);
    assert_eq!(
        found,
        pairs(&[("a", "Null"), ("b", "a"), ("b2", "b"), (&renamed, "b2"), ("c", &renamed), ("l", &renamed)])
    );
    assert!(lines[6].contains(&format!("\"targetId\":\"{renamed}\"")), "{}", lines[6]);
    assert_eq!(report.repairs.len(), 2);
}

/// Regression: a branch summary still named the first of two entries, and a compaction that keeps nothing named the
/// other one.
#[test]
fn whatever_refers_to_a_renamed_entry_follows() {
    let summary = r#"{"type":"branch_summary","id":"s","parentId":"c","fromId":"b","summary":"x"}"#;
    let edit = r#"{"type":"context_edit","id":"e","parentId":"s","targetId":"b","replacement":null}"#;
    let compaction = r#"{"type":"compaction","id":"b","parentId":"c","firstKeptEntryId":"b","summary":"x"}"#;
    let (_, lines) = repaired(&[HEADER, &entry("b", "null"), &entry("c", "b"), compaction, summary, edit, ""]);
    let renamed = parents(&lines)[2].0.clone();
    let expected = [compaction, summary, edit].map(|line| line.replace("\"b\"", &format!("\"{renamed}\"")));
    assert_eq!(lines[3..], expected);
}

#[test]
fn cycles_are_cut_and_entries_that_are_their_own_parent_become_roots() {
    let (_, lines) = repaired(&[HEADER, &entry("a", "c"), &entry("b", "a"), &entry("c", "b"), &entry("d", "d"), ""]);
    assert_eq!(parents(&lines), pairs(&[("a", "Null"), ("b", "a"), ("c", "b"), ("d", "Null")]));
}

#[test]
fn a_compaction_keeps_from_after_a_damaged_line_on() {
    let compaction =
        "{\"type\":\"compaction\",\"id\":\"c\",\"parentId\":\"b\",\"timestamp\":\"t\",\"firstKeptEntryId\":\"lost\"}";
    let torn = &entry("lost", "a")[..60];
    let (_, lines) = repaired(&[HEADER, &entry("a", "null"), torn, &entry("b", "lost"), compaction, ""]);
    assert!(lines[3].contains("\"firstKeptEntryId\":\"b\""), "{lines:?}");
}

#[test]
fn a_header_is_moved_or_written() {
    let (report, lines) = repaired(&[&entry("a", "null"), HEADER, &entry("b", "a"), HEADER]);
    assert_eq!(lines, [HEADER, &entry("a", "null"), &entry("b", "a")]);
    assert_eq!(report.before.faults.damaged.len(), 2);
    let (report, lines) = repaired(&[&entry("a", "null"), &entry("b", "a")]);
    assert!(
        lines[0].starts_with(
            "{\"type\":\"session\",\"version\":3,\"id\":\"name-1\",\"timestamp\":\"1970-01-01T00:00:00.000Z\""
        ),
        "{lines:?}"
    );
    assert_eq!((report.before.session_id.clone(), report.after.session_id.clone()), (None, Some("name-1".into())));
}

#[test]
fn an_old_file_is_migrated_first() {
    let old = [
        "{\"type\":\"session\",\"id\":\"s\"}",
        "{\"type\":\"message\",\"message\":{}}",
        "torn {",
        "{\"type\":\"custom\"}",
    ];
    let (report, lines) = repaired(&old);
    let found = parents(&lines);
    assert_eq!(found.len(), 2);
    assert_eq!(found[1].1, found[0].0);
    assert!(report.backup.is_some_and(|path| path.ends_with(".v1.bak")));
    assert_eq!((report.before.version, report.after.version), (Some(1.0), Some(3.0)));
    assert_eq!(report.before.entries, 2);
}

#[test]
fn a_locked_file_is_not_repaired() {
    let dir = crate::testing::faults::tests::scratch();
    let path = dir.path().join("s.jsonl").to_str().expect("text").to_owned();
    fs::write(&path, "torn").expect("written");
    let lock = SessionLockGuard::take(&path).expect("taken");
    let error = repair(&path, 0.0).expect_err("it is locked");
    assert!(error.to_string().contains("locked by process"), "{error}");
    drop(lock);
    assert_eq!(fs::read_dir(dir.path()).expect("read").count(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(crate::testing::tests::count("repaired_files")))]
    /// For any content of a file, a repair ends, makes the file valid, and keeps every entry that could be read.
    #[test]
    fn any_file_becomes_a_good_one(
        lines in proptest::collection::vec((0u8..8, 0u8..10, 0u8..9, 0usize..90), 0..14),
        ended in any::<bool>(),
    ) {
        let lines: Vec<String> = lines
            .into_iter()
            .map(|(id, parent, kind, cut)| {
                let line = entry(&id.to_string(), &if parent == 9 { "null".to_owned() } else { parent.to_string() });
                match kind {
                    0 => line[..cut.min(line.len())].to_owned(),
                    1 => format!("{}{line}", &line[..cut.min(line.len())]),
                    2 => HEADER.to_owned(),
                    3 => ["", "null", "{\"id\":5}", "[]", "\0\0"][cut % 5].to_owned(),
                    _ => line,
                }
            })
            .collect();
        let mut with_header: Vec<&str> = vec![HEADER];
        with_header.extend(lines.iter().map(String::as_str));
        if ended {
            with_header.push("");
        }
        let (report, new) = repaired(&with_header);
        let twice = report.repairs.iter().filter(|one| one.what.ends_with("an exact duplicate")).count() as u64;
        prop_assert!(report.after.entries + twice >= report.before.entries);
        let says = new.iter().filter(|line| !line.is_empty()).count() as u64;
        prop_assert_eq!(says, report.after.entries + 1);
    }
}
