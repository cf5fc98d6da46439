use std::os::unix::fs::PermissionsExt;

use super::faults::{with, InjectedFault};
use super::*;

/// Regression: where modes cannot be set no file could be replaced.
/// FUSE mounts and drives of other systems refuse it.
#[test]
fn where_modes_cannot_be_set_files_are_replaced() {
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
            // The first call looks at the file.
            let (set, made) = with(1, InjectedFault::Once(code), || set_like(&file, &old));
            assert_eq!((set.is_ok(), made.hit), (*is_allowed, mode != new), "{mode:o} {new:o} {code}");
        }
        let (set, _) = with(1, InjectedFault::Once(libc::EIO), || set_like(&file, &old));
        assert_eq!(set.is_ok(), mode == new, "{mode:o} {new:o}");
    }
}
