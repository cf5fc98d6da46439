use super::*;

/// Regression: if the name of a session was long, the name of its lock was too long for a file.
#[test]
fn a_session_with_a_long_name_has_a_lock_file_with_a_name_that_fits() {
    let dir = Path::new("/sessions");
    for suffix in [".lock", ".bak", ".v1.bak", ".v1.bak.17"] {
        for letter in ["a", "é", "漢", "😀"] {
            for length in 1..=MAX_FILE_NAME_BYTES / letter.len() {
                let session = dir.join(letter.repeat(length));
                let name = beside(&session, suffix);
                let text = name.file_name().and_then(|name| name.to_str()).expect("a name");
                assert_eq!(name.parent(), Some(dir));
                assert!(text.len() <= MAX_FILE_NAME_BYTES && text.ends_with(suffix), "{text}");
                let fits = letter.len() * length + suffix.len() <= MAX_FILE_NAME_BYTES;
                assert_eq!(text == letter.repeat(length) + suffix, fits, "{text}");
                assert_eq!(name, beside(&session, suffix));
            }
        }
    }
    let long = |last: &str| beside(&dir.join("a".repeat(240) + last + ENDING), ".lock");
    assert_ne!(long("1"), long("2"));
    assert!(long("1").to_str().expect("text").ends_with(".jsonl.lock"), "a sweep finds it");
}
