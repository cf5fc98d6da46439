//! Shared code of the tests of several rooms.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::Write;
use std::time::Duration;

use serde_json::Value;

#[cfg(feature = "lists")]
use crate::catalog::location::CatalogLocation;
#[cfg(feature = "lists")]
use crate::listing::candidates::Candidate;
#[cfg(feature = "lists")]
use crate::listing::scope::ListScope;

/// The number of cases of a random test: the number in `PSN_<NAME>` if that is set, otherwise the number in the row
/// `name` of `__test__/counts.json`, in the column that `PSN_COUNTS` names, or in `taste`.
pub fn count(name: &str) -> u32 {
    if let Ok(own) = std::env::var(format!("PSN_{}", name.to_uppercase())) {
        return own.parse().unwrap_or_else(|_| panic!("PSN_{}: {own} is not a number", name.to_uppercase()));
    }
    let table: Value = serde_json::from_str(include_str!("../../../../__test__/counts.json")).expect("JSON");
    let column = std::env::var("PSN_COUNTS").unwrap_or_else(|_| "taste".to_owned());
    let number = table[name][&column].as_u64();
    number.and_then(|number| number.try_into().ok()).unwrap_or_else(|| panic!("counts.json has no {name} of {column}"))
}

/// Waits until the file system's clock has advanced so far that a later change gets a later time, and earlier changes
/// are old enough for the catalog.
#[cfg_attr(not(feature = "lists"), allow(dead_code))]
pub fn wait_for_next_file_time() {
    let mut file = tempfile::tempfile().expect("made");
    let mut time = || {
        file.write_all(b"x").expect("written");
        file.metadata().and_then(|meta| meta.modified()).expect("asked")
    };
    let begin = time();
    while time() < begin + Duration::from_millis(40) {
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A directory for sessions, with a catalog beside them.
#[cfg(feature = "lists")]
pub struct SessionsDir {
    pub dir: tempfile::TempDir,
    pub location: CatalogLocation,
}

#[cfg(feature = "lists")]
impl SessionsDir {
    /// An empty directory, which is deleted with this value.
    pub fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let location = CatalogLocation { path: dir.path().join("catalog"), makes_dir: false };
        Self { dir, location }
    }

    /// Its session files, as a list reads them.
    pub fn files(&self) -> Vec<Candidate> {
        self.scope().find("/").expect("found")
    }

    pub fn scope(&self) -> ListScope {
        ListScope::dir(self.dir.path().to_str().expect("text").to_owned(), None)
    }
}

thread_local! {
    /// The allocations of this thread that are refused.
    static REFUSED: Cell<Option<Refusal>> = const { Cell::new(None) };
}

/// The refused allocations: all of at least this many bytes, except for this many that come first.
#[derive(Clone, Copy)]
pub struct Refusal {
    pub size: usize,
    pub after: usize,
}

/// Runs `work`, and refuses it memory.
pub fn refused<T>(refusal: Refusal, work: impl FnOnce() -> T) -> T {
    REFUSED.set(Some(refusal));
    let result = work();
    REFUSED.set(None);
    result
}

struct Refusing;

#[global_allocator]
static ALLOCATOR: Refusing = Refusing;

impl Refusing {
    fn refuses(size: usize) -> bool {
        let Some(refusal) = REFUSED.get().filter(|refusal| size >= refusal.size) else { return false };
        REFUSED.set(Some(Refusal { after: refusal.after.saturating_sub(1), ..refusal }));
        refusal.after == 0
    }
}

// SAFETY: each call is the system allocator's, or returns no memory, which a caller expects.
unsafe impl GlobalAlloc for Refusing {
    // SAFETY: as the trait asks.
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if Self::refuses(layout.size()) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    // SAFETY: as the trait asks.
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise; all memory is the system allocator's.
        unsafe { System.dealloc(memory, layout) }
    }

    // SAFETY: as the trait asks.
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if Self::refuses(size) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's promise; all memory is the system allocator's.
        unsafe { System.realloc(memory, layout, size) }
    }
}
