//! `allMessagesText` of a listed session, read when it is asked for.

use std::cell::RefCell;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use napi::Result;

use crate::js::engine::{JsEnv, JsVal};
use crate::js::factory::{self, FactoryFn};
use pi_session_core::base::paths;
use pi_session_core::base::wtf8::to_string_lossy;
use pi_session_core::catalog::connection::{Catalog, SHORT_BUSY_TIMEOUT};
use pi_session_core::catalog::location::CatalogLocation;
use pi_session_core::catalog::session_text::{text, ListedState};
use pi_session_core::io::file_fingerprint::FileFingerprint;
use pi_session_core::io::fs;

/// How many bytes are kept for the next text: fresh memory costs most here.
const KEPT_BYTES: usize = 8 << 20;

/// How long texts are read from their files after the catalog could not be read: waiting for it at each text would be slow.
const AVOIDED: Duration = Duration::from_secs(5);

/// The state of a catalog when it was last used.
enum CachedCatalog {
    /// Open, with the fingerprint of its file, which may be replaced.
    Open(FileFingerprint, Catalog),
    /// Locked or unreadable since then.
    Avoided(Instant),
}

thread_local! {
    static FETCHED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    /// The catalog that was used last.
    static CATALOG: RefCell<Option<(PathBuf, CachedCatalog)>> = const { RefCell::new(None) };
}

/// Gives the factory the function that fetches texts.
pub fn install(js: JsEnv<'_>) -> Result<()> {
    let function = js.function("listedText", |js, args| {
        let none = js.undefined()?;
        let args = std::array::from_fn(|at| args.get(at).copied().unwrap_or(none));
        // Reading a property must not throw.
        match catch_unwind(AssertUnwindSafe(|| fetch(js, args))) {
            Ok(Ok(text)) => Ok(text),
            _ => js.take_exception().and_then(|_| js.string(b"")),
        }
    })?;
    factory::call(js, FactoryFn::UseText, &[function]).map(|_| ())
}

/// Closes the catalog of this thread.
pub fn close() {
    CATALOG.with(|seen| seen.borrow_mut().take());
}

/// The text of a listed session: from the catalog or from its file.
fn fetch<'env>(js: JsEnv<'env>, [file, source, catalog]: [JsVal<'env>; 3]) -> Result<JsVal<'env>> {
    let argument = |value: JsVal| Ok::<_, napi::Error>(js.text(value)?.map(|text| to_string_lossy(&text).into_owned()));
    let source = argument(source)?.and_then(|text| ListedState::from_text(&text));
    let Some((file, source)) = argument(file)?.zip(source) else { return js.string(b"") };
    let (dir, name) = (paths::parent(&file), paths::file_name(&file));
    FETCHED.with(|fetched| {
        let mut fetched = fetched.borrow_mut();
        match argument(catalog)? {
            Some(path) => with_catalog(path.into(), |catalog| text(catalog, &dir, name, &source, &mut fetched)),
            None => drop(text(None, &dir, name, &source, &mut fetched)),
        }
        string_of(js, &mut fetched)
    })
}

fn string_of<'env>(js: JsEnv<'env>, text: &mut Vec<u8>) -> Result<JsVal<'env>> {
    let string = js.string(text);
    if text.capacity() > KEPT_BYTES {
        *text = Vec::new();
    }
    string
}

/// Calls `work` with the catalog, if there is one that can be used. `work` returns whether it could be read.
fn with_catalog(path: PathBuf, work: impl FnOnce(Option<&Catalog>) -> bool) {
    CATALOG.with(|seen| {
        let mut seen = seen.borrow_mut();
        let before = seen.take().filter(|(known, _)| *known == path).map(|(_, before)| before);
        let found = open_or_keep(&path, before);
        let asked = match &found {
            Some(CachedCatalog::Open(_, catalog)) => work(Some(catalog)),
            Some(CachedCatalog::Avoided(_)) | None => work(None),
        };
        let found = if asked { found } else { Some(CachedCatalog::Avoided(Instant::now())) };
        *seen = found.map(|found| (path, found));
    });
}

/// The catalog at a path: the one that is open, if its file is the same, or a new connection. None if there is none.
fn open_or_keep(path: &Path, before: Option<CachedCatalog>) -> Option<CachedCatalog> {
    if matches!(&before, Some(CachedCatalog::Avoided(since)) if since.elapsed() < AVOIDED) {
        return before;
    }
    let now = FileFingerprint::of(&fs::metadata(path).ok()?);
    if matches!(&before, Some(CachedCatalog::Open(fingerprint, _)) if fingerprint.is_same_file(&now)) {
        return before;
    }
    let location = CatalogLocation { path: path.to_owned(), makes_dir: false };
    Some(match Catalog::open_within(&location, SHORT_BUSY_TIMEOUT) {
        Some(catalog) => CachedCatalog::Open(now, catalog),
        None => CachedCatalog::Avoided(Instant::now()),
    })
}
