//! Verifying and repairing. The input is the file. Verifying changes nothing and counts every line. Repairing writes a
//! file that verifies and contains every entry that could be read, and keeps the original.

use std::borrow::Cow;
use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::hash::{Hash, Hasher};

use super::Subject;
use crate::format::entry::{is_blank, read_line, Damage, Line};
use crate::format::header::Version;
use crate::index::verify::{verify, VerifyReport};
use crate::json::ObjectText;
use crate::rewrite::repair::repair;
use crate::testing::faults::tests::scratch;

/// The part of an entry that neither a repair nor a migration may change. A repair may change references to other
/// entries; a migration renames roles and indexes.
fn essence(line: &str, migrates: bool) -> Option<Vec<u8>> {
    let mut object = ObjectText::read(line).expect("memory")?;
    for key in ["id", "parentId", "targetId", "firstKeptEntryId"] {
        object.remove(key);
    }
    if migrates {
        object.remove("message");
        object.remove("firstKeptEntryIndex");
    }
    Some(object.text().expect("memory"))
}

/// The entries of a file, by their essence. In version 1 every line that is an object is an entry.
fn entries(bytes: &[u8], first_version: bool, migrates: bool) -> BTreeMap<Vec<u8>, usize> {
    let mut found = BTreeMap::new();
    for line in bytes.split(|byte| *byte == b'\n').map(String::from_utf8_lossy) {
        let is_entry = read_line(&line, |read| match read {
            Line::Entry(_) => true,
            Line::Damaged(crate::format::entry::Damage::NoId) => first_version,
            _ => false,
        });
        if let Some(essence) = essence(&line, migrates).filter(|_| is_entry.is_ok_and(|is| is)) {
            *found.entry(essence).or_default() += 1;
        }
    }
    found
}

/// A report lists every line once, and nothing else.
fn check_report(report: &VerifyReport, bytes: &[u8]) {
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    assert_eq!((report.bytes, report.lines), (bytes.len() as u64, lines.len() as u64));
    assert_eq!(report.ends_with_newline, bytes.last().is_none_or(|byte| *byte == b'\n'));
    let blank = lines.iter().filter(|line| is_blank(&String::from_utf8_lossy(line))).count() as u64;
    let header = u64::from(report.session_id.is_some());
    // A header in a later line is reported as damaged, but it is the header.
    let late = report.faults.damaged.iter().filter(|line| line.damage == Damage::LateHeader).count() as u64;
    let told = report.entries + report.faults.damaged.len() as u64 + blank;
    assert!(told + header == report.lines || late > 0 && told == report.lines, "{report:?}");
    for damaged in &report.faults.damaged {
        let line = lines[damaged.line as usize - 1];
        let at: usize = lines[..damaged.line as usize - 1].iter().map(|line| line.len()).sum();
        let len = line.strip_suffix(b"\n").unwrap_or(line).len();
        assert_eq!((damaged.start, damaged.end), (at as u64, (at + len) as u64), "{damaged:?}");
    }
}

pub fn target(input: &[u8], subject: Subject) -> u64 {
    let dir = scratch();
    let path = dir.path().join("2025_name.jsonl").to_str().expect("text").to_owned();
    fs::write(&path, input).expect("written");
    let before = verify(&path).expect("it can be read");
    assert_eq!(fs::read(&path).expect("read"), input, "verifying changed the file");
    check_report(&before, input);
    let report = match repair(&path, 0.0) {
        Ok(report) => report,
        Err(error) => {
            // A repair refuses a file without any part of a session, and does not change entries of an unknown version.
            let error = error.to_string();
            match error.contains("not a valid") {
                true => assert!(before.other_format.is_some() || (before.entries, &before.session_id) == (0, &None)),
                false => assert!(error.contains("its header is damaged"), "{error}"),
            }
            assert_eq!(fs::read(&path).expect("read"), input);
            assert_eq!(fs::read_dir(dir.path()).expect("read").count(), 1);
            return 1;
        }
    };
    assert_eq!(*report.before, before);
    let mut repaired = fs::read(&path).expect("read");
    // The planted bug: a whole last line without its newline is lost.
    if subject == Subject::Planted && !input.ends_with(b"\n") && before.entries > 0 {
        repaired.truncate(repaired.trim_ascii_end().rsplitn(2, |byte| *byte == b'\n').nth(1).map_or(0, <[u8]>::len));
    }
    let after = verify(&path).expect("it can be read");
    assert!(after.ok, "{after:?}");
    assert_eq!(after, *report.after);
    check_report(&after, &fs::read(&path).expect("read"));

    let header = |line: Cow<'_, str>| crate::format::header::Header::read(&line).expect("memory");
    let version = input.split(|byte| *byte == b'\n').map(String::from_utf8_lossy).find_map(header);
    // If a damaged line before it contains a header, that header decides the version.
    let is_migrated = report.repairs.iter().any(|one| one.what.starts_with("migrated"));
    let version = version.filter(|_| is_migrated || report.backup.is_none());
    let version = version.map_or(Version::Current, |header| header.version);
    let migrates = version != Version::Current;
    let old = entries(input, version == Version::V1, migrates);
    // An undamaged file of any version is not changed.
    let new = entries(&repaired, version == Version::V1 && report.backup.is_none(), migrates);
    for essence in old.keys() {
        assert!(new.contains_key(essence), "lost: {} in {}", essence.escape_ascii(), repaired.escape_ascii());
    }
    let twice = report.repairs.iter().filter(|one| one.what.ends_with("an exact duplicate")).count();
    assert!(new.values().sum::<usize>() + twice >= old.values().sum::<usize>(), "{report:?}");

    let names: BTreeSet<String> = fs::read_dir(dir.path())
        .expect("read")
        .map(|entry| entry.expect("read").file_name().into_string().expect("text"))
        .collect();
    match &report.backup {
        Some(backup) => assert_eq!(fs::read(backup).expect("kept"), input),
        None => assert!(repaired == input && names.len() == 1, "{names:?}"),
    }
    assert!(names.iter().all(|name| name.starts_with("2025_name.jsonl") && !name.ends_with(".lock")), "{names:?}");
    let again = repair(&path, 0.0).expect("it can be repaired");
    assert!(again.backup.is_none() && again.repairs.is_empty(), "{again:?}");

    let mut hasher = DefaultHasher::new();
    let reasons: BTreeSet<_> = before.faults.damaged.iter().map(|line| line.damage.reason()).collect();
    let kinds: BTreeSet<_> = report.repairs.iter().map(|one| one.what.rsplit(' ').next().map(str::to_owned)).collect();
    let kinds = kinds.into_iter().flatten().filter(|word| word.len() > 3 && word.chars().all(char::is_alphabetic));
    (reasons, kinds.collect::<Vec<_>>(), report.repairs.len().min(6), migrates).hash(&mut hasher);
    (before.faults.orphans.len().min(3), before.faults.duplicate_ids.len().min(3), before.faults.cycles.len().min(3))
        .hash(&mut hasher);
    hasher.finish()
}
