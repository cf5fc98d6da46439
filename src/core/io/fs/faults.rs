//! Injected faults: a plan per thread says which call fails, and how.

use std::cell::{Cell, RefCell};
use std::fs::File;
use std::io;

use super::{Call, Identity, Stat};

/// How a call fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InjectedFault {
    /// It fails with this error number, and every later one too.
    Always(i32),
    /// It alone fails with this error number.
    Once(i32),
    /// A read or write moves half of its bytes. Other calls are not touched.
    Short,
    /// A write moves half of its bytes; every write after it fails with this error number.
    ShortThen(i32),
}

#[derive(Default)]
struct State {
    plan: Option<(usize, InjectedFault)>,
    made: Vec<Call>,
    /// The files of the calls that have one, by the call's number.
    files: Vec<(usize, Identity)>,
    /// Whether the write or read that is being made is to be cut short.
    cut: bool,
    hit: bool,
}

thread_local! {
    static STATE: RefCell<State> = RefCell::default();
}

type Meddling = Option<(Call, Box<dyn FnOnce()>)>;

thread_local! {
    static MEDDLING: RefCell<Meddling> = const { RefCell::new(None) };
}

/// Runs `meddle` right before the next call of this kind: what another process does in the moment between two calls.
pub fn before_next(call: Call, meddle: impl FnOnce() + 'static) {
    MEDDLING.with(|meddling| *meddling.borrow_mut() = Some((call, Box::new(meddle))));
}

/// What happened under a plan.
#[derive(Debug)]
pub struct Made {
    /// The calls that were made.
    pub calls: Vec<Call>,
    files: Vec<(usize, Identity)>,
    /// Whether the fault came.
    pub hit: bool,
}

impl Made {
    /// The numbers of the writes to a file, and of the calls that wait for it.
    pub fn of(&self, call: Call, file: Identity) -> Vec<usize> {
        let is_it = |(at, of): &(usize, Identity)| (self.calls.get(*at) == Some(&call) && *of == file).then_some(*at);
        self.files.iter().filter_map(is_it).collect()
    }
}

/// Notes which file the call is about that was just asked for.
pub(crate) fn about(file: &File) {
    STATE.with(|state| {
        let mut state = state.borrow_mut();
        if let (Some(_), Ok(found)) = (state.plan, file.metadata().map(|meta| Stat::of(&meta))) {
            let last = state.made.len().saturating_sub(1);
            state.files.push((last, found.identity));
        }
    });
}

/// Runs work in which call number `at` (from 0) goes wrong.
pub fn with<T>(at: usize, fault: InjectedFault, work: impl FnOnce() -> T) -> (T, Made) {
    STATE.with(|state| *state.borrow_mut() = State { plan: Some((at, fault)), ..State::default() });
    let result = work();
    let state = STATE.with(|state| state.take());
    // What was to happen before a call that never came happens no more.
    MEDDLING.with(|meddling| meddling.take());
    (result, Made { calls: state.made, files: state.files, hit: state.hit })
}

thread_local! {
    static NO_LINK_COUNTS: Cell<bool> = const { Cell::new(false) };
}

/// Whether every file is said to have no link.
pub(crate) fn counts_no_links() -> bool {
    NO_LINK_COUNTS.get()
}

/// Runs work on a file system that says of every file that no link leads to it, as some network and overlay file systems
/// do.
pub fn without_link_counts<T>(work: impl FnOnce() -> T) -> T {
    NO_LINK_COUNTS.set(true);
    let result = work();
    NO_LINK_COUNTS.set(false);
    result
}

/// Runs work without the plan that is under way.
pub fn without_faults<T>(work: impl FnOnce() -> T) -> T {
    let state = STATE.with(|state| state.take());
    let result = work();
    STATE.with(|now| *now.borrow_mut() = state);
    result
}

pub(crate) fn inject(call: Call) -> io::Result<()> {
    let meddle = MEDDLING.with(|meddling| meddling.borrow_mut().take_if(|(awaited, _)| *awaited == call));
    if let Some((_, meddle)) = meddle {
        meddle();
    }
    STATE.with(|state| {
        let mut state = state.borrow_mut();
        let Some((at, fault)) = state.plan else {
            return Ok(());
        };
        let number = state.made.len();
        state.made.push(call);
        let moves = matches!(call, Call::Read | Call::Write);
        let error = match fault {
            InjectedFault::Always(code) if number >= at => Some(code),
            InjectedFault::Once(code) if number == at => Some(code),
            InjectedFault::Short if number == at && moves => {
                (state.cut, state.hit) = (true, true);
                None
            }
            InjectedFault::ShortThen(_) if number == at && call == Call::Write => {
                (state.cut, state.hit) = (true, true);
                None
            }
            InjectedFault::ShortThen(code) if number > at && call == Call::Write && state.hit => Some(code),
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
    STATE.with(|state| match std::mem::take(&mut state.borrow_mut().cut) {
        true => len.div_ceil(2).min(len.saturating_sub(1)).max(1),
        false => len,
    })
}
