use super::*;
use crate::catalog::error::{corrupt, foreign};
use std::fs;
#[cfg(target_os = "linux")]
use std::os::unix::fs::MetadataExt;

/// Regression: a corrupt catalog stayed on Windows, where a file that SQLite has open cannot be deleted.
#[test]
fn a_corrupt_catalog_is_closed_and_deleted() {
    let dir = tempfile::tempdir().expect("a directory");
    let location = CatalogLocation { path: dir.path().join("catalog"), makes_dir: false };
    let catalog = Catalog::create(&location).expect("created");
    catalog.discard_if_corrupt(&foreign("its tables"));
    assert!(location.path.exists(), "another error says nothing about the file");
    Catalog::open(&location).expect("opened").discard_if_corrupt(&corrupt("its pages"));
    assert_eq!(fs::read_dir(dir.path()).expect("read").count(), 0);
}

#[cfg(unix)]
fn rows_in(catalog: &Catalog) -> i64 {
    catalog.db().query_row("SELECT count(*) FROM session", [], |row| row.get(0)).expect("read")
}

#[cfg(target_os = "linux")]
/// The number of POSIX locks that this process has on a file.
fn locks_on(path: &Path) -> usize {
    let inode = format!(":{} ", fs::metadata(path).expect("there").ino());
    let process = format!(" {} ", std::process::id());
    let locks = fs::read_to_string("/proc/locks").expect("read");
    let is_ours = |line: &&str| line.contains("POSIX") && line.contains(&inode) && line.contains(&process);
    locks.lines().filter(is_ours).count()
}

/// Regression: a connection to a catalog that was replaced deleted the new one.
#[test]
#[cfg(unix)]
fn a_connection_to_a_catalog_that_was_replaced_leaves_the_new_one() {
    let dir = tempfile::tempdir().expect("a directory");
    let location = CatalogLocation { path: dir.path().join("catalog"), makes_dir: false };
    let names = || {
        let mut names: Vec<_> = fs::read_dir(dir.path()).expect("read").flatten().map(|one| one.file_name()).collect();
        names.sort();
        names
    };
    let replaced = Catalog::create(&location).expect("created");
    for name in names() {
        fs::remove_file(dir.path().join(name)).expect("removed");
    }
    let mut new = Catalog::create(&location).expect("created");
    new.write(|transaction| transaction.execute("INSERT INTO session (dir, name, file) VALUES ('a', 'b', x'')", []))
        .expect("written");
    drop(replaced);
    assert_eq!(names().len(), 3);
    let other = Catalog::open(&location).expect("opened");
    assert_eq!(rows_in(&other), 1);
    new.discard_if_corrupt(&corrupt("its pages"));
    assert_eq!(names().len(), 0);
}

/// Regression: reading the file dropped the locks of open connections.
#[test]
#[cfg(target_os = "linux")]
fn inspecting_the_file_keeps_the_locks_of_open_connections() {
    let dir = tempfile::tempdir().expect("a directory");
    let location = CatalogLocation { path: dir.path().join("catalog"), makes_dir: false };
    let catalog = Catalog::create(&location).expect("created");
    assert_eq!(rows_in(&catalog), 0);
    let before = locks_on(&location.path);
    assert!(before > 0);
    let other = Catalog::open(&location).expect("opened");
    assert_eq!(rows_in(&other), 0);
    assert!(locks_on(&location.path) >= before);
    drop(other);
    assert!(locks_on(&location.path) >= before);
}
