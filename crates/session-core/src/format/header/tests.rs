use super::*;

fn read(line: &str) -> Option<Header> {
    Header::read(line).expect("memory")
}

#[test]
fn headers_differ_from_other_lines() {
    let header = read(r#"{"type":"session","id":"a","branchedFrom":"/x","cwd":7}"#).expect("a header");
    assert_eq!(header.parent, Some(ParentSession::Path(b"/x".to_vec())));
    assert_eq!((header.cwd, header.version), (None, Version::V1));
    for other in
        ["null", "[]", r#"{"type":"session"}"#, r#"{"type":"session","id":1}"#, r#"{"type":"message","id":"a"}"#]
    {
        assert!(read(other).is_none(), "{other}");
    }
}

/// Regression: an id with separators led to another directory.
#[test]
fn an_id_that_is_not_a_file_name_has_none() {
    let name = |id| NewHeader { id, cwd: "/", parent: None, time: 0.0 }.file_name();
    assert_eq!(name("x").expect("a name"), "1970-01-01T00-00-00-000Z_x.jsonl");
    assert!(name("../../x").is_err() && name("").is_err());
}

#[test]
fn versions_compare_as_in_javascript() {
    let version = |json: &str| {
        let line = format!(r#"{{"type":"session","id":"a","version":{json}}}"#);
        read(&line).map(|header| header.version)
    };
    for (json, want) in [
        ("1", Version::V1),
        ("null", Version::V1),
        ("true", Version::V1),
        ("\"\"", Version::V1),
        ("1.5", Version::V1),
        ("2", Version::V2),
        ("\"2\"", Version::V2),
        ("2.5", Version::V2),
        ("3", Version::Current),
        ("4", Version::Current),
        ("\"x\"", Version::Current),
        ("{}", Version::Current),
    ] {
        assert_eq!(version(json), Some(want), "{json}");
    }
}
