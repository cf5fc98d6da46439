//! `allMessagesText` of a listed session: fetched when it is asked for.

use std::cell::RefCell;
use std::ffi::c_void;
use std::path::{Path, PathBuf};
use std::ptr::null_mut;
use std::time::{Duration, Instant};

use napi::{sys, Result};

use crate::core::base::paths;
use crate::core::base::wtf8::to_string_lossy;
use crate::core::catalog::connection::{Catalog, SHORT_BUSY_TIMEOUT};
use crate::core::catalog::location::Location;
use crate::core::catalog::session_text::{text, ListedState};
use crate::core::io::file_version::FileFingerprint;
use crate::js::engine::raw::{Js, Val};
use crate::js::factory::host::{make, F};

/// How many bytes of memory are kept for the next text: fresh memory is what costs most here.
const KEPT_BYTES: usize = 8 << 20;

/// How long a catalog that could not be asked is done without: texts are read from their files meanwhile. Waiting for it
/// again at every text would keep the user waiting.
const AVOIDED: Duration = Duration::from_secs(5);

/// A catalog, as far as it was last seen.
enum Seen {
    /// Open, and which file it is: another one may take its place.
    Open(FileFingerprint, Catalog),
    /// Locked by another process, or not to be read, at that time.
    Avoided(Instant),
}

thread_local! {
    static FETCHED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    /// The catalog that was wanted last.
    static SEEN: RefCell<Option<(PathBuf, Seen)>> = const { RefCell::new(None) };
}

/// Gives the factory the function that fetches texts.
pub fn install(js: Js) -> Result<()> {
    // SAFETY: called by the engine alone, as the function made below.
    unsafe extern "C" fn on_text(env: sys::napi_env, info: sys::napi_callback_info) -> sys::napi_value {
        let mut args = [null_mut(); 3];
        let mut count = args.len();
        // SAFETY: `args` has room for `count` handles.
        unsafe {
            sys::napi_get_cb_info(env, info, &mut count, args.as_mut_ptr(), null_mut(), null_mut::<*mut c_void>())
        };
        let js = Js::from_raw(env);
        // Whatever is wrong, there is a text: reading a property must not throw.
        let found = std::panic::catch_unwind(|| fetch(js, args));
        let text = found.ok().and_then(Result::ok).or_else(|| js.string(b"").ok());
        text.unwrap_or(null_mut())
    }
    let function = js.function(c"listedText", on_text, Box::new(()))?;
    make(js, F::UseText, &[function]).map(|_| ())
}

/// Closes what is kept open for a thread whose environment ends.
pub fn close() {
    SEEN.with(|seen| seen.borrow_mut().take());
}

/// The text of a listed session: from the catalog or from its file.
fn fetch(js: Js, [file, source, catalog]: [Val; 3]) -> Result<Val> {
    let argument = |value: Val| Ok::<_, napi::Error>(js.text(value)?.map(|text| to_string_lossy(&text).into_owned()));
    let source = argument(source)?.and_then(|text| ListedState::from_text(&text));
    let Some((file, source)) = argument(file)?.zip(source) else { return js.string(b"") };
    let (dir, name) = (paths::parent(&file), paths::file_name(&file));
    FETCHED.with(|fetched| {
        let mut fetched = fetched.borrow_mut();
        match argument(catalog)? {
            Some(path) => with_catalog(path.into(), |catalog| text(catalog, &dir, &name, &source, &mut fetched)),
            None => drop(text(None, &dir, &name, &source, &mut fetched)),
        }
        string_of(js, &mut fetched)
    })
}

fn string_of(js: Js, text: &mut Vec<u8>) -> Result<Val> {
    let string = js.string(text);
    if text.capacity() > KEPT_BYTES {
        *text = Vec::new();
    }
    string
}

/// Does work with a catalog, if there is one that can be asked. `work` says whether it could.
fn with_catalog(path: PathBuf, work: impl FnOnce(Option<&Catalog>) -> bool) {
    SEEN.with(|seen| {
        let mut seen = seen.borrow_mut();
        let before = seen.take().filter(|(known, _)| *known == path).map(|(_, before)| before);
        let found = look(&path, before);
        let asked = match &found {
            Some(Seen::Open(_, catalog)) => work(Some(catalog)),
            Some(Seen::Avoided(_)) | None => work(None),
        };
        let found = if asked { found } else { Some(Seen::Avoided(Instant::now())) };
        *seen = found.map(|found| (path, found));
    });
}

/// The catalog at a path, which may be the one seen before. None if there is none.
fn look(path: &Path, before: Option<Seen>) -> Option<Seen> {
    if matches!(&before, Some(Seen::Avoided(since)) if since.elapsed() < AVOIDED) {
        return before;
    }
    let now = FileFingerprint::of(&std::fs::metadata(path).ok()?);
    if matches!(&before, Some(Seen::Open(fingerprint, _)) if fingerprint.is_same_file(&now)) {
        return before;
    }
    let location = Location { path: path.to_owned(), makes_dir: false };
    Some(match Catalog::open_within(&location, SHORT_BUSY_TIMEOUT) {
        Some(catalog) => Seen::Open(now, catalog),
        None => Seen::Avoided(Instant::now()),
    })
}
