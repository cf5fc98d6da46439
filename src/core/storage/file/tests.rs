use super::*;
use crate::io::fd_pool;
use crate::storage::new_file::NewFile;

#[test]
fn more_managers_than_open_files_read_and_write() {
    let dir = tempfile::tempdir().expect("a directory");
    let mut all: Vec<_> = (0..fd_pool::MAX_OPEN + 100)
        .map(|n| {
            let path = dir.path().join(n.to_string());
            let mut file = NewFile::create(path.to_str().expect("text")).expect("created");
            file.line(n.to_string().as_bytes()).expect("written");
            file.finish(Durability::Os).expect("kept")
        })
        .collect();
    for (n, storage) in all.iter_mut().enumerate() {
        let span = storage.append(&mut b"more".to_vec()).expect("appended");
        assert_eq!(span.offset, n.to_string().len() as u64 + 1);
        let mut line = vec![0; span.len as usize];
        storage.read_at(span.offset, &mut line).expect("read");
        assert_eq!(line, b"more");
    }
    assert!(fd_pool::open_count() <= fd_pool::MAX_OPEN);
}

/// Opens the file of each storage, reads its line and gives how many of them could be read.
#[cfg(unix)]
fn readable(all: &[FileStorage]) -> usize {
    let reads = |(n, storage): (usize, &FileStorage)| {
        let mut line = vec![0; n.to_string().len()];
        storage.read_at(0, &mut line).is_ok() && line == n.to_string().as_bytes()
    };
    all.iter().enumerate().filter(|one| reads(*one)).count()
}

#[cfg(unix)]
fn many(dir: &Path) -> Vec<FileStorage> {
    let one = |n: usize| {
        let path = dir.join(n.to_string());
        std::fs::write(&path, format!("{n}\n")).expect("written");
        FileStorage::open(path.to_str().expect("text")).expect("opened")
    };
    (0..fd_pool::MAX_OPEN + 40).map(one).collect()
}

/// Regression: without link counts no file was ever closed.
#[test]
#[cfg(unix)]
fn without_link_counts_files_are_closed_for_others() {
    let dir = tempfile::tempdir().expect("a directory");
    let (first, made) = crate::io::fs::faults::without_link_counts(|| {
        let all = many(dir.path());
        (all.iter().filter(|storage| storage.is_open()).count(), all)
    });
    assert!(first <= fd_pool::MAX_OPEN, "{first} are open");
    assert_eq!(readable(&made), made.len());
}

/// Regression: the only handle of a deleted file was closed for others.
#[test]
#[cfg(unix)]
fn the_only_handle_of_a_deleted_file_is_not_closed_for_others() {
    let dir = tempfile::tempdir().expect("a directory");
    let all = many(dir.path());
    std::fs::remove_dir_all(dir.path()).expect("removed");
    // Other tests use the pool, too, and may have closed some before that.
    let deleted: Vec<_> = all.into_iter().filter(FileStorage::is_open).collect();
    assert!(!deleted.is_empty());
    let others = tempfile::tempdir().expect("a directory");
    let others = many(others.path());
    assert!(deleted.iter().all(FileStorage::is_open));
    drop(others);
}

#[test]
fn an_unended_line_is_ended_first() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("x").to_str().expect("text").to_owned();
    std::fs::write(&path, "half").expect("written");
    let mut storage = FileStorage::open(&path).expect("opened");
    storage.set_lacks_final_newline(true);
    assert_eq!(storage.append(&mut b"one".to_vec()).expect("appended"), LineSpan { offset: 5, len: 3 });
    assert_eq!(storage.append(&mut b"two".to_vec()).expect("appended"), LineSpan { offset: 9, len: 3 });
    assert_eq!(std::fs::read_to_string(&path).expect("read"), "half\none\ntwo\n");
}

#[test]
fn a_line_that_is_rolled_back_leaves_what_others_wrote() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("x").to_str().expect("text").to_owned();
    std::fs::write(&path, "one\n").expect("written");
    let mut storage = FileStorage::open(&path).expect("opened");
    let span = storage.append(&mut b"two".to_vec()).expect("appended");
    storage.rollback_append(span, b"two").expect("taken back");
    assert_eq!(std::fs::read_to_string(&path).expect("read"), "one\n");
    let span = storage.append(&mut b"two".to_vec()).expect("appended");
    std::io::Write::write_all(&mut std::fs::OpenOptions::new().append(true).open(&path).expect("opened"), b"x\n")
        .expect("written");
    storage.rollback_append(span, b"two").expect("taken back");
    assert_eq!(std::fs::read_to_string(&path).expect("read"), "one\n   \nx\n");
}

#[test]
#[cfg(unix)]
fn a_file_without_an_end_is_not_a_session_file() {
    for path in ["/dev/zero", "/dev/tty", "/dev/null"] {
        assert!(FileStorage::open(path).is_err(), "{path}");
    }
}

/// Regression: deleted files filled the pool and every other file was closed at once.
#[test]
#[cfg(unix)]
fn deleted_files_leave_room_in_the_pool_for_others() {
    // In a process of its own: the pool is one for all tests, and those that run out of descriptors close half of it.
    const ALONE: &str = "PSN_TEST_ALONE";
    if std::env::var_os(ALONE).is_none() {
        let name = std::thread::current().name().expect("the test's name").to_owned();
        let mut alone = std::process::Command::new(std::env::current_exe().expect("this program"));
        let ran = alone.args(["--exact", &name, "--nocapture"]).env(ALONE, "1").output().expect("started");
        let said = String::from_utf8_lossy(&ran.stdout);
        assert!(ran.status.success() && said.contains("1 passed"), "{said}{}", String::from_utf8_lossy(&ran.stderr));
        return;
    }
    let dir = tempfile::tempdir().expect("a directory");
    let deleted = many(dir.path());
    std::fs::remove_dir_all(dir.path()).expect("removed");
    let others = tempfile::tempdir().expect("a directory");
    let one = |n: usize| {
        let path = others.path().join(n.to_string());
        std::fs::write(&path, format!("{n}\n")).expect("written");
        FileStorage::open(path.to_str().expect("text")).expect("opened")
    };
    // Once the deleted ones have left the pool, files that are opened one after the other stay open.
    let made: Vec<_> = (0..fd_pool::MAX_OPEN + 20).map(one).collect();
    let newest = &made[made.len() - 20..];
    assert!(newest.iter().filter(|storage| storage.is_open()).count() > 10);
    drop(deleted);
}
