use super::*;

#[test]
fn errors_of_the_system_have_the_names_that_node_gives_them() {
    let name = |error: io::Error| code_of(&error).map(|(name, _)| name);
    assert_eq!(name(io::ErrorKind::IsADirectory.into()), Some("EISDIR"));
    assert_eq!(name(io::ErrorKind::NotADirectory.into()), Some("ENOTDIR"));
    #[cfg(unix)]
    let codes = [(libc::ENOTSUP, "ENOTSUP"), (libc::ESTALE, "ESTALE"), (libc::ENXIO, "ENXIO")];
    #[cfg(windows)]
    let codes =
        [(1, "EISDIR"), (2, "ENOENT"), (3, "ENOENT"), (5, "EPERM"), (32, "EBUSY"), (80, "EEXIST"), (183, "EEXIST")];
    for (code, expected) in codes {
        assert_eq!(name(io::Error::from_raw_os_error(code)), Some(expected), "{code}");
    }
}

#[test]
fn on_windows_a_name_that_no_file_can_have_leads_to_nothing() {
    // Invalid name (`a?b`), bad path name, and a file in place of a directory.
    assert_eq!([123, 161, 267].map(is_name_of_nothing), [true; 3]);
    // Access denied, sharing violation, a directory that is not empty.
    assert_eq!([5, 32, 145].map(is_name_of_nothing), [false; 3]);
}

#[test]
fn a_part_that_is_not_there_is_an_internal_error_that_names_it() {
    assert_eq!(part(b"abc", 1..3, "a text").expect("it is there"), b"bc");
    for range in [0..4, 2..9, 4..4] {
        let error = part(b"abc", range.clone(), "a text").expect_err("it is not there");
        assert_eq!(error.code(), ErrorCode::Internal);
        let text = format!("bytes {} to {} of a text, which has 3", range.start, range.end);
        assert!(error.to_string().ends_with(&text), "{error}");
    }
}
