//! Sums of the catalog's pages. The index of words is SQLite's own work, and so is where it stands in the file: a bit that
//! flips there would hide hits, and nothing would tell. So every page of the file ends with the sum of it and of its place,
//! written when the page is and looked at when it is read, by a thin layer over SQLite's way to files (a VFS). The log has
//! sums of its own.

use std::ffi::{c_int, c_void, CStr};
use std::slice;
use std::sync::OnceLock;

use rusqlite::{ffi, Connection};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::Outcome;

/// The name that connections ask for.
pub const VFS: &CStr = c"pi-session-catalog";

/// The size of a page, and how much of its end is the sum.
pub const PAGE: usize = 16 << 10;
const SUM: usize = 8;

/// The system's way to files, and ours to open them.
struct Ways {
    system: *mut ffi::sqlite3_vfs,
}

// SAFETY: SQLite keeps what it points to as long as the process, and does not change it.
unsafe impl Send for Ways {}
// SAFETY: as above.
unsafe impl Sync for Ways {}

static WAYS: OnceLock<Option<Ways>> = OnceLock::new();

/// What a file of ours is worked on with: the system's methods but for two.
#[repr(C)]
struct Methods {
    ours: ffi::sqlite3_io_methods,
    system: *const ffi::sqlite3_io_methods,
}

// SAFETY: never changed, and what it points to is a table of functions that stays.
unsafe impl Send for Methods {}
// SAFETY: as above.
unsafe impl Sync for Methods {}

/// Makes the layer known to SQLite, once. False if that cannot be.
pub fn register() -> bool {
    WAYS.get_or_init(|| {
        // SAFETY: asks for the default one, which is there as long as the process.
        let system = unsafe { ffi::sqlite3_vfs_find(std::ptr::null()) };
        // SAFETY: None if there is none, and else a whole structure.
        let mut ours = unsafe { system.as_ref() }.copied()?;
        ours.zName = VFS.as_ptr();
        ours.pNext = std::ptr::null_mut();
        ours.xOpen = Some(open);
        // SAFETY: the structure and its name stay as long as the process. All but `open` are the system's functions, which
        // find in it what they find in their own.
        let registered = unsafe { ffi::sqlite3_vfs_register(Box::leak(Box::new(ours)), 0) };
        (registered == ffi::SQLITE_OK).then_some(Ways { system })
    })
    .is_some()
}

/// Has the pages of a new file end with room for a sum.
pub fn make_room(db: &Connection) -> Outcome<()> {
    let mut room = SUM as c_int;
    // SAFETY: the connection is open as long as it is borrowed, and SQLite reads and writes one number.
    let done = unsafe {
        let number = (&raw mut room).cast::<c_void>();
        ffi::sqlite3_file_control(db.handle(), c"main".as_ptr(), ffi::SQLITE_FCNTL_RESERVE_BYTES, number)
    };
    match done {
        ffi::SQLITE_OK => Ok(()),
        code => Err(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None)),
    }
}

fn sum(page: &[u8], at: i64) -> [u8; SUM] {
    xxh3_64_with_seed(page, at as u64).to_le_bytes()
}

fn is_page(size: c_int, at: i64) -> bool {
    size == PAGE as c_int && at % PAGE as i64 == 0
}

/// Overwrites what a page of a table or an index has between its list of cells and the cells. `secure_delete` sees to cells
/// that are deleted, but not to copies of them that stay behind when cells move to another page.
fn wipe_gap(page: &mut [u8], at: i64) {
    // The first page begins with the file's header. Pages of other kinds begin with a page's number, which is not so large.
    let header = if at == 0 { 100 } else { 0 };
    let number = |at: usize| Some(usize::from(u16::from_be_bytes(*page.get(header + at..)?.first_chunk()?)));
    let size = match page.get(header) {
        Some(2 | 5) => 12,
        Some(10 | 13) => 8,
        _ => return,
    };
    let (Some(cells), Some(end)) = (number(3), number(5)) else { return };
    if let Some(gap) = page.get_mut(header + size + 2 * cells..end) {
        gap.fill(0);
    }
}

/// Opens a file as the system does; the catalog itself gets our methods.
///
/// # Safety
/// For SQLite alone to call, as its `xOpen`.
// SAFETY: who calls it keeps to SQLite's rules for `xOpen`: room for the system's file, a name that lasts, a place for the flags or none.
unsafe extern "C" fn open(
    _: *mut ffi::sqlite3_vfs,
    name: ffi::sqlite3_filename,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out: *mut c_int,
) -> c_int {
    let Some(system) = WAYS.get().and_then(Option::as_ref).map(|ways| ways.system) else {
        return ffi::SQLITE_CANTOPEN;
    };
    // SAFETY: `system` stays; SQLite gave the rest for this very call, with as much room for the file as it takes.
    let opened = unsafe {
        let Some(open) = (*system).xOpen else { return ffi::SQLITE_CANTOPEN };
        open(system, name, file, flags, out)
    };
    if opened == ffi::SQLITE_OK && flags & ffi::SQLITE_OPEN_MAIN_DB != 0 {
        // SAFETY: an open file begins with its methods, and they are looked up there at every call.
        unsafe { (*file).pMethods = &raw const methods_over((*file).pMethods).ours };
    }
    opened
}

/// Our methods over the system's: it has a table or two of them, for each a process needs one.
fn methods_over(system: *const ffi::sqlite3_io_methods) -> &'static Methods {
    static KNOWN: std::sync::Mutex<Vec<&'static Methods>> = std::sync::Mutex::new(Vec::new());
    let mut known = KNOWN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some(methods) = known.iter().find(|methods| methods.system == system) {
        return methods;
    }
    // SAFETY: an open file's methods are a whole structure, and are there as long as the process.
    let mut ours = unsafe { *system };
    // Pages that are mapped would pass by us.
    ours.iVersion = ours.iVersion.min(2);
    ours.xRead = Some(read);
    ours.xWrite = Some(write);
    let methods: &Methods = Box::leak(Box::new(Methods { ours, system }));
    known.push(methods);
    methods
}

/// The system's methods of a file that has ours.
///
/// # Safety
/// The file must be one that [`open`] gave our methods.
// SAFETY: who calls it has such a file, so its methods are a `Methods`.
unsafe fn system_of<'a>(file: *mut ffi::sqlite3_file) -> &'a ffi::sqlite3_io_methods {
    // SAFETY: ours are the beginning of `Methods`, which stays; so does the system's table.
    unsafe { &*(*(*file).pMethods.cast::<Methods>()).system }
}

/// Reads as the system does, and looks whether a page is the one that was written.
///
/// # Safety
/// For SQLite alone to call, as `xRead` of a file that [`open`] gave our methods.
// SAFETY: who calls it keeps to SQLite's rules for `xRead`: an open file, and room for `size` bytes.
unsafe extern "C" fn read(file: *mut ffi::sqlite3_file, into: *mut c_void, size: c_int, at: i64) -> c_int {
    // SAFETY: SQLite reads files that are open, into room for so many bytes, and one that has our methods comes here.
    let done = unsafe {
        let Some(read) = system_of(file).xRead else { return ffi::SQLITE_IOERR_READ };
        read(file, into, size, at)
    };
    // Where the file ends early, or its size is looked for, it is no page.
    if done != ffi::SQLITE_OK || !is_page(size, at) {
        return done;
    }
    // SAFETY: so many bytes were just read into it.
    let page = unsafe { slice::from_raw_parts(into.cast::<u8>(), PAGE) };
    match page.split_last_chunk::<SUM>() {
        Some((page, noted)) if sum(page, at) == *noted => done,
        _ => ffi::SQLITE_IOERR_DATA,
    }
}

/// Writes as the system does, a page with its sum.
///
/// # Safety
/// For SQLite alone to call, as `xWrite` of a file that [`open`] gave our methods.
// SAFETY: who calls it keeps to SQLite's rules for `xWrite`: an open file, and `size` bytes to be read.
unsafe extern "C" fn write(file: *mut ffi::sqlite3_file, from: *const c_void, size: c_int, at: i64) -> c_int {
    // SAFETY: as in `read`.
    let Some(write) = (unsafe { system_of(file).xWrite }) else { return ffi::SQLITE_IOERR_WRITE };
    if !is_page(size, at) {
        // SAFETY: handed on as it came.
        return unsafe { write(file, from, size, at) };
    }
    let mut page = [0; PAGE];
    // SAFETY: SQLite gave so many bytes to write.
    page.copy_from_slice(unsafe { slice::from_raw_parts(from.cast::<u8>(), PAGE) });
    if let Some((page, noted)) = page.split_last_chunk_mut::<SUM>() {
        wipe_gap(page, at);
        *noted = sum(page, at);
    }
    // SAFETY: as many bytes as it says.
    unsafe { write(file, page.as_ptr().cast(), size, at) }
}
