use super::*;

fn migrate(version: Version, lines: &[&str]) -> Vec<String> {
    let mut migrator = Migrator::new(version);
    let line = |line: &&str| {
        migrator.line(line).expect("memory").map_or(line.to_string(), |new| String::from_utf8_lossy(&new).into_owned())
    };
    let mut all: Vec<String> = lines.iter().map(line).collect();
    for (n, id) in migrator.given.iter().flatten().enumerate() {
        all = all.into_iter().map(|line| line.replace(id.as_str(), &format!("#{n}"))).collect();
    }
    all
}

/// Regression: when values were counted, only zeros written `0` and `-0` were skipped, so an index after `0.0` named
/// another entry.
#[test]
fn falsy_values_do_not_count_however_they_are_written() {
    for value in ["0", "-0", "0.0", "-0e5", "null", "false", "\"\"", " 0.00 \r", "torn {"] {
        let compaction = r#"{"type":"compaction","firstKeptEntryIndex":2}"#;
        let lines = [r#"{"type":"session"}"#, value, r#"{"type":"x"}"#, r#"{"type":"y"}"#, compaction];
        let migrated = migrate(Version::V1, &lines);
        assert!(migrated[4].ends_with(r##""firstKeptEntryId":"#1"}"##), "{value}: {migrated:?}");
    }
}

#[test]
fn version_2_renames_only_hook_messages() {
    let lines = [
        r#"{"type":"session","version":2,"id":"s"}"#,
        r#"{"type":"message","id":"a","parentId":null,"message":{"role":"hookMessage"}}"#,
        r#"{"type":"custom","id":"b",  "message":{"role":"hookMessage"}}"#,
    ];
    assert_eq!(
        migrate(Version::V2, &lines),
        [
            r#"{"type":"session","version":3,"id":"s"}"#,
            r#"{"type":"message","id":"a","parentId":null,"message":{"role":"custom"}}"#,
            lines[2],
        ]
    );
}
