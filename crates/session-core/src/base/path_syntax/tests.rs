use super::*;
use crate::base::paths::dir_name;

/// Results of Node's `path.win32` and of pi for paths: the call, its arguments, the result.
/// `__test__/unit/contract/windows-paths.spec.ts` checks them against Node.
const WINDOWS: &str = include_str!("windows.jsonl");

#[test]
fn paths_of_windows_are_read_as_node_and_pi_read_them() {
    let windows = PathSyntax::Windows;
    let mut wrong = Vec::new();
    for line in WINDOWS.lines() {
        let case: Vec<String> = serde_json::from_str(line).expect("a case");
        let case: Vec<&str> = case.iter().map(String::as_str).collect();
        let (found, expected) = match case[..] {
            ["isAbsolute", path, expected] => (windows.is_absolute(path).to_string(), expected),
            ["resolve", cwd, base, path, expected] => (windows.resolve(&[cwd, base, path]), expected),
            ["join", dir, name, expected] => (windows.join(dir, name), expected),
            ["fromShell", path, expected] => (windows.of_shell(path).unwrap_or_else(|| path.into()), expected),
            ["sessionDir", process_cwd, cwd, agent, expected] => {
                let cwd = windows.of_shell(cwd).unwrap_or_else(|| cwd.into());
                let sessions = windows.join(&windows.resolve(&[process_cwd, agent]), "sessions");
                (windows.join(&sessions, &dir_name(&windows.resolve(&[process_cwd, &cwd]))), expected)
            }
            _ => panic!("not a case: {line}"),
        };
        if found != expected {
            wrong.push(format!("{line} gave {found}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_path_that_the_system_gives_becomes_one_that_users_write() {
    for (path, expected) in [
        (r"\\?\C:\a\b.jsonl", Some(r"C:\a\b.jsonl")),
        (r"\\?\UNC\server\share\x", Some(r"\\server\share\x")),
        (r"\\?\Volume{1}\x", None),
        (r"C:\x", None),
        ("/x", None),
    ] {
        assert_eq!(without_verbatim(path).as_deref(), expected, "{path}");
    }
}

/// The same as `path.win32.toNamespacedPath` returns.
#[test]
fn a_complete_path_is_taken_as_it_is() {
    for (path, expected) in [
        (r"C:\a\nul", Some(r"\\?\C:\a\nul")),
        (r"C:/a/./b/../c. ", Some(r"\\?\C:\a\c. ")),
        (r"C:\", Some(r"\\?\C:\")),
        (r"\\server\share\x", Some(r"\\?\UNC\server\share\x")),
        (r"\\?\C:\a", None),
        (r"\\.\nul", None),
        (r"\x", None),
        ("C:x", None),
        ("nul", None),
    ] {
        assert_eq!(with_verbatim(path).as_deref(), expected, "{path}");
    }
}

#[test]
fn names_that_windows_shortens_are_known() {
    for (path, is_kept) in [
        (r"C:\a.b\c d\.e", true),
        (r"\\?\C:\a", true),
        (r"\\server\share\", true),
        (r"C:\a.\b", false),
        (r"C:\a/b /c", false),
        (r"C:\a\b.", false),
        (r"C:\a\b ", false),
    ] {
        assert_eq!(PathSyntax::Windows.is_kept_by_cleaning(path), is_kept, "{path}");
        assert!(PathSyntax::Posix.is_kept_by_cleaning(path));
    }
}

#[test]
fn a_drive_or_share_makes_a_path_complete() {
    for (path, is_complete) in [(r"C:\x", true), (r"\\s\t\x", true), (r"\x", false), ("C:x", false), ("x", false)] {
        assert_eq!(PathSyntax::Windows.is_complete(path), is_complete, "{path}");
    }
    assert!(PathSyntax::Posix.is_complete("/x") && !PathSyntax::Posix.is_complete("C:/x"));
}

#[test]
fn paths_of_unix_are_read_as_node_reads_them() {
    let posix = PathSyntax::Posix;
    for (path, want) in
        [("", "."), ("/", "/"), ("/a//b/./../c/", "/a/c"), ("a/../../b", "../b"), ("/../..", "/"), ("./.", ".")]
    {
        assert_eq!(posix.resolve(&[path]), want, "{path}");
    }
    for (dir, name, want) in [("./a/", "b", "a/b"), ("", "b", "b"), ("a/", "", "a/"), ("/a", "/b", "/a/b")] {
        assert_eq!(posix.join(dir, name), want, "{dir} {name}");
    }
    for (dir, path, want) in [("/a", "b", "/a/b"), ("/a", "/b", "/b"), ("/a/b", "..", "/a"), ("/", "..", "/")] {
        assert_eq!(posix.resolve(&[dir, path]), want, "{dir} {path}");
    }
}
