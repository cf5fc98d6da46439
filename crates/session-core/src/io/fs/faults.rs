//! Injected faults: each thread has a plan of which call fails, and how.

use std::cell::{Cell, RefCell};
use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use super::{FileId, FsCall};

/// How a call fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InjectedFault {
    /// This call and all later ones fail with this error number.
    Always(i32),
    /// Only this call fails, with this error number.
    Once(i32),
    /// A read or write moves half of its bytes. Other calls work.
    Short,
    /// A write moves half of its bytes; every write after it fails with this error number.
    ShortThen(i32),
}

#[derive(Default)]
struct State {
    plan: Option<(usize, InjectedFault)>,
    /// If set, the plan begins at the next call of this kind.
    awaited: Option<FsCall>,
    made: Vec<FsCall>,
    /// The number of each call that is about a file, and the file.
    files: Vec<(usize, FileId)>,
    /// Whether the current write or read is to be cut short.
    cut: bool,
    hit: bool,
}

thread_local! {
    static STATE: RefCell<State> = RefCell::default();
}

/// Code that runs before the next call of a kind, or of any kind.
type Meddling = Option<(Option<FsCall>, Box<dyn FnOnce()>)>;

thread_local! {
    static MEDDLING: RefCell<Meddling> = const { RefCell::new(None) };
}

/// Runs `meddle` right before the next call of this kind, to simulate another process between two calls.
pub fn before_next(call: FsCall, meddle: impl FnOnce() + 'static) {
    MEDDLING.with(|meddling| *meddling.borrow_mut() = Some((Some(call), Box::new(meddle))));
}

/// Runs `meddle` right before the `number`th call of any kind from now on.
pub fn before_call(number: usize, meddle: impl FnOnce() + 'static) {
    let work: Box<dyn FnOnce()> = match number {
        0 | 1 => Box::new(meddle),
        _ => Box::new(move || before_call(number - 1, meddle)),
    };
    MEDDLING.with(|meddling| *meddling.borrow_mut() = Some((None, work)));
}

/// Runs `meddle` right before the `number`th call of this kind from now on.
pub fn before_nth(number: u32, call: FsCall, meddle: impl FnOnce() + 'static) {
    before_next(call, move || match number {
        0 | 1 => meddle(),
        _ => before_nth(number - 1, call, meddle),
    });
}

/// The calls that were made under a plan.
#[derive(Debug)]
pub struct Made {
    pub calls: Vec<FsCall>,
    files: Vec<(usize, FileId)>,
    /// Whether the fault was injected.
    pub hit: bool,
}

impl Made {
    /// The numbers of the calls of this kind on a file.
    pub fn of(&self, call: FsCall, file: FileId) -> Vec<usize> {
        let is_it = |(at, of): &(usize, FileId)| (self.calls.get(*at) == Some(&call) && *of == file).then_some(*at);
        self.files.iter().filter_map(is_it).collect()
    }
}

/// Records which file the current call is about.
pub(crate) fn about(file: &File) {
    STATE.with(|state| {
        let mut state = state.borrow_mut();
        if let (Some(_), Ok(found)) = (state.plan, super::stat_of(file)) {
            let last = state.made.len().saturating_sub(1);
            state.files.push((last, found.file_id));
        }
    });
}

/// Runs work in which call number `at` (from 0) fails.
pub fn with<T>(at: usize, fault: InjectedFault, work: impl FnOnce() -> T) -> (T, Made) {
    under(State { plan: Some((at, fault)), ..State::default() }, work)
}

/// Runs work in which the first call of a kind fails. We do not count calls here, because their number may depend on
/// the time: a path check is due every few milliseconds.
pub fn with_first<T>(call: FsCall, fault: InjectedFault, work: impl FnOnce() -> T) -> (T, Made) {
    under(State { plan: Some((usize::MAX, fault)), awaited: Some(call), ..State::default() }, work)
}

fn under<T>(plan: State, work: impl FnOnce() -> T) -> (T, Made) {
    STATE.with(|state| *state.borrow_mut() = plan);
    let result = work();
    let state = STATE.with(|state| state.take());
    // Drops code that waits for a call that was never made.
    MEDDLING.with(|meddling| meddling.take());
    (result, Made { calls: state.made, files: state.files, hit: state.hit })
}

/// The peculiarities of a file system.
#[derive(Debug, Clone, Copy)]
pub struct FileSystem {
    /// The calls that the file system refuses, and the error numbers.
    pub refused: &'static [(FsCall, i32)],
    /// The error number of creating a file. The next one is for opening a file for writing.
    pub create: Option<i32>,
    pub open_for_writing: Option<i32>,
    /// The error number of flushing the drive's cache, which macOS returns if the drive has none.
    pub full_sync: Option<i32>,
    /// The error number of syncing a directory.
    pub sync_dir: Option<i32>,
    /// It reports a link count of 0 for every file, as some network and overlay file systems do.
    pub counts_no_links: bool,
    /// Its times are in steps of 2 s.
    pub has_coarse_times: bool,
    /// A name in other letters' case, or with accents written in another way, is the same name.
    pub folds_case: bool,
    /// The user who owns every file.
    pub owner: Option<u32>,
}

impl FileSystem {
    /// A file system without peculiarities.
    pub const PLAIN: Self = Self {
        refused: &[],
        create: None,
        open_for_writing: None,
        full_sync: None,
        sync_dir: None,
        counts_no_links: false,
        has_coarse_times: false,
        folds_case: false,
        owner: None,
    };
}

thread_local! {
    static FILE_SYSTEM: Cell<FileSystem> = const { Cell::new(FileSystem::PLAIN) };
}

/// Runs work on such a file system.
pub fn on_file_system<T>(file_system: FileSystem, work: impl FnOnce() -> T) -> T {
    let before = FILE_SYSTEM.replace(file_system);
    let result = work();
    FILE_SYSTEM.set(before);
    result
}

/// Runs work on a file system that reports a link count of 0 for every file.
pub fn without_link_counts<T>(work: impl FnOnce() -> T) -> T {
    on_file_system(FileSystem { counts_no_links: true, ..FileSystem::PLAIN }, work)
}

pub(crate) fn counts_no_links() -> bool {
    FILE_SYSTEM.get().counts_no_links
}

/// The user who owns every file, if one is set.
pub(crate) fn owner() -> Option<u32> {
    FILE_SYSTEM.get().owner
}

/// The time in ns that the file system records.
pub(crate) fn kept_time(time: i64) -> i64 {
    if FILE_SYSTEM.get().has_coarse_times {
        time - time.rem_euclid(2_000_000_000)
    } else {
        time
    }
}

/// The path as the file system compares it.
pub(crate) fn folded(path: &Path) -> PathBuf {
    match path.file_name().and_then(|name| name.to_str()).filter(|_| FILE_SYSTEM.get().folds_case && !path.is_dir()) {
        Some(name) => path.with_file_name(name.to_lowercase().replace("e\u{301}", "é")),
        None => path.to_owned(),
    }
}

fn refuse(code: Option<i32>) -> io::Result<()> {
    code.map_or(Ok(()), |code| Err(io::Error::from_raw_os_error(code)))
}

/// Refuses to open a file for writing, or to create one.
pub(crate) fn open(options: &OpenOptions) -> io::Result<()> {
    // `OpenOptions` has no getters, so we parse its debug text.
    let options = format!("{options:?}");
    let has = |option: &str| options.contains(&format!("{option}: true"));
    let FileSystem { create, open_for_writing, .. } = FILE_SYSTEM.get();
    refuse(create.filter(|_| has("create") || has("create_new")))?;
    refuse(open_for_writing.filter(|_| has("write") || has("append")))
}

/// Refuses to flush the drive's cache, or to sync a directory.
pub(crate) fn full_sync(file: &File) -> io::Result<()> {
    refuse(FILE_SYSTEM.get().full_sync)?;
    sync(file)
}

/// Refuses to sync a directory.
pub(crate) fn sync(file: &File) -> io::Result<()> {
    refuse(FILE_SYSTEM.get().sync_dir.filter(|_| file.metadata().is_ok_and(|meta| meta.is_dir())))
}

/// Runs work without the current plan.
pub fn without_faults<T>(work: impl FnOnce() -> T) -> T {
    let state = STATE.with(|state| state.take());
    let result = work();
    STATE.with(|now| *now.borrow_mut() = state);
    result
}

pub(crate) fn inject(call: FsCall) -> io::Result<()> {
    let meddle = MEDDLING
        .with(|meddling| meddling.borrow_mut().take_if(|(awaited, _)| awaited.is_none_or(|awaited| awaited == call)));
    if let Some((_, meddle)) = meddle {
        meddle();
    }
    let refused = FILE_SYSTEM.get().refused.iter().find(|(refused, _)| *refused == call);
    refuse(refused.map(|(_, code)| *code))?;
    STATE.with(|state| {
        let mut state = state.borrow_mut();
        let Some((planned, fault)) = state.plan else {
            return Ok(());
        };
        let number = state.made.len();
        let at = if state.awaited.take_if(|awaited| *awaited == call).is_some() { number } else { planned };
        state.plan = Some((at, fault));
        state.made.push(call);
        let moves = matches!(call, FsCall::Read | FsCall::Write);
        let error = match fault {
            InjectedFault::Always(code) if number >= at => Some(code),
            InjectedFault::Once(code) if number == at => Some(code),
            InjectedFault::Short if number == at && moves => {
                (state.cut, state.hit) = (true, true);
                None
            }
            InjectedFault::ShortThen(_) if number == at && call == FsCall::Write => {
                (state.cut, state.hit) = (true, true);
                None
            }
            InjectedFault::ShortThen(code) if number > at && call == FsCall::Write && state.hit => Some(code),
            _ => None,
        };
        match error {
            Some(code) => {
                state.hit = true;
                Err(io::Error::from_raw_os_error(code))
            }
            None => Ok(()),
        }
    })
}

/// How many of `len` bytes the current call may move.
pub(crate) fn shortened(len: usize) -> usize {
    STATE.with(|state| {
        if std::mem::take(&mut state.borrow_mut().cut) {
            len.div_ceil(2).min(len.saturating_sub(1)).max(1)
        } else {
            len
        }
    })
}
