//! All writes of session files on file systems without some feature. Each write succeeds, or fails with an error that
//! names the file and the cause, and the earlier content is unchanged.

#[cfg(feature = "lists")]
use std::sync::atomic::AtomicBool;

use super::files::{branch, OLD};
use super::*;
#[cfg(feature = "lists")]
use crate::catalog::location::CatalogLocation;
use crate::index::verify::verify;
use crate::io::fs::faults::{on_file_system, FileSystem};
use crate::io::fs::FsCall;
#[cfg(feature = "lists")]
use crate::listing::read_all::read_all;
#[cfg(feature = "lists")]
use crate::listing::scope::ListScope;
use crate::rewrite::merge::merge;
use crate::rewrite::repair::repair;
use crate::session::fork::ForkSource;

/// The kinds of work on a file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Work {
    Create,
    Append,
    Exclusive,
    Migrate,
    Repair,
    Fork,
    Branch,
    Merge,
    /// Appending after the open file was deleted.
    Restore,
    #[cfg(feature = "lists")]
    Catalog,
}

const ALL: &[Work] = &[
    Work::Create,
    Work::Append,
    Work::Exclusive,
    Work::Migrate,
    Work::Repair,
    Work::Fork,
    Work::Branch,
    Work::Merge,
    Work::Restore,
    #[cfg(feature = "lists")]
    Work::Catalog,
];

/// A kind of file system, and the work that is impossible there.
struct OddFileSystem {
    name: &'static str,
    file_system: FileSystem,
    fails: &'static [Work],
}

const fn refusing(refused: &'static [(FsCall, i32)]) -> FileSystem {
    FileSystem { refused, ..FileSystem::PLAIN }
}

/// All work except the catalog's. Without a catalog a list reads the files.
const WRITES: &[Work] = &[
    Work::Create,
    Work::Append,
    Work::Exclusive,
    Work::Migrate,
    Work::Repair,
    Work::Fork,
    Work::Branch,
    Work::Merge,
    Work::Restore,
];

const KINDS: &[OddFileSystem] = &[
    OddFileSystem { name: "a usual one", file_system: FileSystem::PLAIN, fails: &[] },
    OddFileSystem { name: "no modes", file_system: refusing(&[(FsCall::Attributes, libc::EPERM)]), fails: &[] },
    OddFileSystem { name: "no hard links", file_system: refusing(&[(FsCall::Link, libc::EPERM)]), fails: &[] },
    OddFileSystem {
        name: "hard links not supported",
        file_system: refusing(&[(FsCall::Link, libc::ENOTSUP)]),
        fails: &[],
    },
    // A repair or a merge must not run beside another writer.
    OddFileSystem {
        name: "no locks",
        file_system: refusing(&[(FsCall::Lock, libc::ENOLCK)]),
        fails: &[Work::Exclusive, Work::Repair, Work::Merge],
    },
    OddFileSystem {
        name: "no sync of directories",
        file_system: FileSystem { sync_dir: Some(libc::EINVAL), ..FileSystem::PLAIN },
        fails: &[],
    },
    OddFileSystem {
        name: "no flush of the drive's cache, as on network drives of macOS",
        file_system: FileSystem { full_sync: Some(libc::ENOTSUP), ..FileSystem::PLAIN },
        fails: &[],
    },
    OddFileSystem {
        name: "no extended attributes",
        file_system: refusing(&[(FsCall::Xattrs, libc::ENOTSUP)]),
        fails: &[],
    },
    OddFileSystem {
        name: "link counts of 0",
        file_system: FileSystem { counts_no_links: true, ..FileSystem::PLAIN },
        fails: &[],
    },
    OddFileSystem {
        name: "times in steps of 2 s",
        file_system: FileSystem { has_coarse_times: true, ..FileSystem::PLAIN },
        fails: &[],
    },
    OddFileSystem {
        name: "names without case",
        file_system: FileSystem { folds_case: true, ..FileSystem::PLAIN },
        fails: &[],
    },
    OddFileSystem {
        name: "a memory stick: no modes, links, attributes or case, coarse times",
        file_system: FileSystem {
            refused: &[(FsCall::Attributes, libc::EPERM), (FsCall::Link, libc::EPERM), (FsCall::Xattrs, libc::ENOTSUP)],
            sync_dir: Some(libc::EINVAL),
            has_coarse_times: true,
            folds_case: true,
            ..FileSystem::PLAIN
        },
        fails: &[],
    },
    OddFileSystem {
        name: "read-only",
        file_system: FileSystem {
            refused: &[
                (FsCall::Link, libc::EROFS),
                (FsCall::Rename, libc::EROFS),
                (FsCall::Remove, libc::EROFS),
                (FsCall::Mkdir, libc::EROFS),
                (FsCall::Attributes, libc::EROFS),
                (FsCall::Truncate, libc::EROFS),
            ],
            create: Some(libc::EROFS),
            open_for_writing: Some(libc::EROFS),
            ..FileSystem::PLAIN
        },
        fails: WRITES,
    },
    OddFileSystem {
        name: "full",
        file_system: refusing(&[(FsCall::Write, libc::ENOSPC), (FsCall::Mkdir, libc::ENOSPC)]),
        fails: WRITES,
    },
    OddFileSystem {
        name: "full, of files as well",
        file_system: FileSystem {
            create: Some(libc::ENOSPC),
            ..refusing(&[(FsCall::Write, libc::ENOSPC), (FsCall::Link, libc::ENOSPC)])
        },
        fails: WRITES,
    },
    OddFileSystem {
        name: "over quota",
        file_system: FileSystem { create: Some(libc::EDQUOT), ..refusing(&[(FsCall::Write, libc::EDQUOT)]) },
        fails: WRITES,
    },
];

const BROKEN: &str = "{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"timestamp\":\"t\",\"cwd\":\"/c\"}\n{\"type\":\"custom\",\"id\":\"a\n{\"type\":\"custom\",\"id\":\"b\",\"parentId\":null}\n";

impl Work {
    /// The content of the session file before the work.
    fn before(self) -> String {
        match self {
            Self::Migrate => OLD.to_owned(),
            Self::Repair => BROKEN.to_owned(),
            _ => three(),
        }
    }

    fn run(self, dir: &Path) -> Result<()> {
        // If names have no case, the file is opened by a name in another case.
        let path = at(dir, "s.jsonl");
        let open = |options| Session::open(&path, Persistence::File, options);
        match self {
            Self::Create => {
                let mut session = Session::new(b"s".to_vec(), Persistence::File, Some(at(dir, "n.jsonl")));
                session = session.with_options(FSYNC)?;
                make_file(&mut session)?;
                append(&mut session)
            }
            Self::Append => {
                let mut session = open(FSYNC)?;
                append(&mut session)?;
                append(&mut session)
            }
            Self::Exclusive => {
                let mut session = open(SessionFileOptions { lock: Lock::Exclusive, ..FSYNC })?;
                append(&mut session)?;
                session.check_and_close()
            }
            Self::Migrate => open(FSYNC).map(drop),
            Self::Repair => repair(&path, 0.0).map(drop),
            Self::Fork => {
                let source = ForkSource::open(&path)?;
                source.write_to(at(dir, "f.jsonl"), &FORK_HEADER, FSYNC).map(drop)
            }
            Self::Branch => append(&mut branch(dir, FSYNC)?),
            Self::Merge => {
                let new = b"{\"type\":\"custom\",\"id\":\"new\",\"parentId\":null}\n";
                merge(&path, "s", new, None).map(drop)
            }
            Self::Restore => {
                let mut session = open(FSYNC)?;
                fs::remove_file(&path).expect("removed");
                append(&mut session)
            }
            #[cfg(feature = "lists")]
            Self::Catalog => {
                let location = CatalogLocation { path: dir.join("catalog"), makes_dir: false };
                for _ in 0..2 {
                    let files = ListScope::dir(dir.to_str().expect("text").to_owned(), None).find("/").expect("listed");
                    let count = std::sync::Mutex::new(0);
                    read_all(&files, Some(&location), None, &AtomicBool::new(false), &|_, found| {
                        *count.lock().expect("whole") += usize::from(found.is_some());
                    })?;
                    assert_eq!(count.into_inner().expect("whole"), 1);
                }
                Ok(())
            }
        }
    }

    /// The file that is written, and how many entries it has afterwards.
    fn result(self) -> (&'static str, u64) {
        match self {
            Self::Create => ("n.jsonl", 2),
            Self::Append => ("s.jsonl", 5),
            Self::Exclusive | Self::Merge | Self::Restore => ("s.jsonl", 4),
            Self::Migrate | Self::Repair => ("s.jsonl", 1),
            Self::Fork => ("f.jsonl", 3),
            Self::Branch => ("b.jsonl", 4),
            #[cfg(feature = "lists")]
            Self::Catalog => ("s.jsonl", 3),
        }
    }
}

fn check(OddFileSystem { name, file_system, fails }: &OddFileSystem, work: Work) {
    let what = format!("{name}: {work:?}");
    let dir = scratch();
    let path = at(dir.path(), "s.jsonl");
    fs::write(&path, work.before()).expect("written");
    let result = on_file_system(*file_system, || work.run(dir.path()));
    assert_eq!(result.is_err(), fails.contains(&work), "{what}: {result:?}");
    nothing_left_behind(dir.path(), &what);
    let (file, entries) = work.result();
    match result {
        Ok(()) => {
            let report = verify(at(dir.path(), file)).expect("readable");
            // A migration keeps a damaged line at its place.
            assert!(report.ok || work == Work::Migrate, "{what}: {report:?}");
            assert_eq!(report.entries, entries, "{what}");
        }
        Err(error) => {
            let text = error.to_string();
            assert!(text.contains(at(dir.path(), "").as_str()) && error.as_io().is_some(), "{what}: {text}");
            // The test itself deleted the file, and only the session had a handle of it.
            if work != Work::Restore {
                assert_eq!(fs::read_to_string(&path).expect("read"), work.before(), "{what}");
            }
            // If the first entry of a new session fails, its header may exist already.
            let left = fs::read_to_string(at(dir.path(), file)).unwrap_or_default();
            assert!(file == "s.jsonl" || left.lines().count() <= 1, "{what}: {left}");
        }
    }
}

#[test]
fn every_write_works_on_every_file_system_or_says_why_not() {
    let cases = KINDS.iter().flat_map(|kind| ALL.iter().map(move |&work| (kind, work)));
    let failed = cases.filter(|(kind, work)| std::panic::catch_unwind(|| check(kind, *work)).is_err());
    assert_eq!(failed.count(), 0, "each is printed above");
}

/// As on APFS, for any form of the name.
#[test]
fn a_session_whose_name_has_an_accent_has_one_lock_however_the_accent_is_written() {
    let dir = scratch();
    let [composed, decomposed] = ["caf\u{e9}.jsonl", "cafe\u{301}.jsonl"].map(|name| at(dir.path(), name));
    fs::write(&composed, three()).expect("written");
    on_file_system(FileSystem { folds_case: true, ..FileSystem::PLAIN }, || {
        let exclusive = SessionFileOptions { lock: Lock::Exclusive, ..OS };
        let mut first = opened(&decomposed, exclusive);
        append(&mut first).expect("appended");
        let holder = crate::locks::lock_file::held(&composed).expect("asked");
        assert_eq!(holder, Some(Some(std::process::id())));
        let mut second = opened(&composed, OS);
        append(&mut first).expect("appended");
        second.refresh().expect("read");
        assert_eq!(second.tree().len(), 5);
    });
    nothing_left_behind(dir.path(), "two names of one file");
}

#[test]
fn where_names_have_no_case_a_session_has_one_lock() {
    let dir = scratch();
    fs::write(at(dir.path(), "s.jsonl"), three()).expect("written");
    on_file_system(FileSystem { folds_case: true, ..FileSystem::PLAIN }, || {
        let exclusive = SessionFileOptions { lock: Lock::Exclusive, ..OS };
        let mut first = opened(&at(dir.path(), "S.jsonl"), exclusive);
        append(&mut first).expect("appended");
        let holder = crate::locks::lock_file::held(&at(dir.path(), "s.JSONL")).expect("asked");
        assert_eq!(holder, Some(Some(std::process::id())));
        let mut second = opened(&at(dir.path(), "s.jsonl"), OS);
        append(&mut first).expect("appended");
        second.refresh().expect("read");
        assert_eq!(second.tree().len(), 5);
    });
    nothing_left_behind(dir.path(), "names without case");
}
