#[cfg(unix)]
use super::faults::{with, InjectedFault};
use super::*;

/// Regression: on Windows the creation time was used as a file's id. A file that soon replaces another one gets the
/// other's creation time.
#[test]
fn a_file_has_one_id_by_path_and_handle_which_changes_stay_and_its_replacement_has_another() {
    let dir = tempfile::tempdir().expect("a directory");
    let [path, next] = ["a", "b"].map(|name| dir.path().join(name));
    let by_path = |path: &Path| stat_path(path).expect("asked").expect("it is there");
    fs::write(&path, "1").expect("written");
    let before = by_path(&path);
    assert_eq!(stat(&File::open(&path).expect("opened")).expect("asked").fingerprint(), before.fingerprint());
    fs::OpenOptions::new().append(true).open(&path).expect("opened").write_all(b"2").expect("written");
    assert_eq!((by_path(&path).file_id, by_path(&path).size), (before.file_id, 2));
    fs::write(&next, "12").expect("written");
    assert_ne!(by_path(&next).file_id, before.file_id);
    fs::rename(&next, &path).expect("renamed");
    assert_ne!(by_path(&path).file_id, before.file_id);
    assert!(by_path(dir.path()).is_dir && by_path(&path).is_file);
    assert!(stat_path(&next).expect("asked").is_none());
}

#[test]
fn an_open_file_shows_that_it_was_deleted() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("a");
    fs::write(&path, "1").expect("written");
    let file = File::open(&path).expect("opened");
    assert_eq!(quick_stat(&file).expect("asked"), (1, false));
    remove(&path).expect("removed");
    assert_eq!(quick_stat(&file).expect("asked"), (1, true));
}

/// Regression: if a file system refuses to set modes, as FUSE mounts and drives of other systems do, no file could be
/// replaced.
#[cfg(unix)]
#[test]
fn where_modes_cannot_be_set_files_are_replaced() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().expect("a directory");
    let file_with = |name: &str, mode: u32| {
        let file = File::create_new(dir.path().join(name)).expect("created");
        file.set_permissions(fs::Permissions::from_mode(mode)).expect("set");
        file
    };
    for (n, (mode, new, is_allowed)) in
        [(0o600, 0o600, true), (0o644, 0o600, true), (0o600, 0o640, false), (0o400, 0o600, false)].iter().enumerate()
    {
        let old = metadata_of(&file_with(&format!("old {n}"), *mode)).expect("there");
        let file = file_with(&format!("new {n}"), *new);
        for code in [libc::EPERM, libc::ENOTSUP, libc::ENOSYS] {
            // The first call reads the file's status.
            let (set, made) = with(1, InjectedFault::Once(code), || set_like(&file, &old));
            assert_eq!((set.is_ok(), made.hit), (*is_allowed, mode != new), "{mode:o} {new:o} {code}");
        }
        let (set, _) = with(1, InjectedFault::Once(libc::EIO), || set_like(&file, &old));
        assert_eq!(set.is_ok(), mode == new, "{mode:o} {new:o}");
    }
}
