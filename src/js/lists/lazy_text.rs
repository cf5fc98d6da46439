//! `allMessagesText` of a listed session: fetched when it is asked for.

use std::cell::RefCell;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use napi::Result;

use crate::core::base::paths;
use crate::core::base::wtf8::to_string_lossy;
use crate::core::catalog::ahead::{Ahead, Asked};
use crate::core::catalog::session_text::{text, Source};
use crate::core::catalog::{Catalog, Location, SHORT_PATIENCE};
use crate::core::io::file_version::FileFingerprint;
use crate::js::engine::{JsEnv, JsVal};
use crate::js::factory::{self, FactoryFn};

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
    /// Who makes the next text of a list, and which one that is: the one behind the last that was asked for.
    static AHEAD: RefCell<Option<Ahead>> = const { RefCell::new(None) };
    static NEXT: RefCell<Option<Asked>> = const { RefCell::new(None) };
}

/// Gives the factory the function that fetches texts.
pub fn install(js: JsEnv<'_>) -> Result<()> {
    let function = js.function("listedText", |js, args| {
        let none = js.undefined()?;
        let args = std::array::from_fn(|at| args.get(at).copied().unwrap_or(none));
        // Whatever is wrong, there is a text: reading a property must not throw.
        match catch_unwind(AssertUnwindSafe(|| fetch(js, args))) {
            Ok(Ok(text)) => Ok(text),
            _ => js.take_exception().and_then(|_| js.string(b"")),
        }
    })?;
    factory::call(js, FactoryFn::UseText, &[function]).map(|_| ())
}

/// Closes what is kept open for a thread whose environment ends.
pub fn close() {
    AHEAD.with(|ahead| ahead.borrow_mut().take());
    NEXT.with(|next| next.borrow_mut().take());
    SEEN.with(|seen| seen.borrow_mut().take());
}

/// The text of a listed session, which may have been made already; the session behind it in the list is made ready then,
/// if the last one that was asked for is the one before it.
fn fetch<'env>(
    js: JsEnv<'env>,
    [file, source, catalog, next_file, next_source]: [JsVal<'env>; 5],
) -> Result<JsVal<'env>> {
    let argument = |value: JsVal| Ok::<_, napi::Error>(js.text(value)?.map(|text| to_string_lossy(&text).into_owned()));
    let listed = |file: JsVal, source: JsVal| {
        let source = argument(source)?.and_then(|text| Source::from_text(&text));
        Ok::<_, napi::Error>(argument(file)?.zip(source))
    };
    let Some((file, source)) = listed(file, source)? else {
        return js.string(b"");
    };
    let Some(catalog) = argument(catalog)?.map(PathBuf::from) else {
        return FETCHED.with(|fetched| {
            let mut fetched = fetched.borrow_mut();
            text(None, &paths::parent(&file), paths::file_name(&file), &source, &mut fetched);
            string_of(js, &mut fetched)
        });
    };
    let asked = Asked { catalog: catalog.clone(), file, source };
    let next = listed(next_file, next_source)?.map(|(file, source)| Asked { catalog, file, source });
    let is_in_order = NEXT.with(|before| before.replace(next.clone())).is_some_and(|before| before == asked);
    AHEAD.with(|ahead| {
        let mut ahead = ahead.borrow_mut();
        let made = ahead.as_ref().filter(|_| is_in_order).and_then(|ahead| ahead.take(&asked));
        let Some(letters) = made else {
            let Asked { catalog, file, source } = asked;
            let (dir, name) = (paths::parent(&file), paths::file_name(&file));
            return FETCHED.with(|fetched| {
                let mut fetched = fetched.borrow_mut();
                let is_open = with_catalog(catalog, |catalog| text(catalog, &dir, name, &source, &mut fetched));
                // A catalog that is locked or not there is no help ahead either.
                if let Some(next) = next.filter(|_| is_open && is_in_order) {
                    ahead.get_or_insert_default().want(next);
                }
                string_of(js, &mut fetched)
            });
        };
        let ahead = ahead.get_or_insert_default();
        // While this one is copied.
        next.into_iter().for_each(|next| ahead.want(next));
        let string = js.buffered_string(&letters);
        ahead.give_back(letters);
        string
    })
}

fn string_of<'env>(js: JsEnv<'env>, text: &mut Vec<u8>) -> Result<JsVal<'env>> {
    let string = js.string(text);
    if text.capacity() > KEPT_BYTES {
        *text = Vec::new();
    }
    string
}

/// Does work with a catalog, if there is one that can be asked. `work` says whether it could, and so does this.
fn with_catalog(path: PathBuf, work: impl FnOnce(Option<&Catalog>) -> bool) -> bool {
    SEEN.with(|seen| {
        let mut seen = seen.borrow_mut();
        let before = seen.take().filter(|(known, _)| *known == path).map(|(_, before)| before);
        let found = look(&path, before);
        let asked = match &found {
            Some(Seen::Open(_, catalog)) => work(Some(catalog)),
            Some(Seen::Avoided(_)) | None => work(None),
        };
        let found = if asked { found } else { Some(Seen::Avoided(Instant::now())) };
        let is_open = matches!(found, Some(Seen::Open(..)));
        *seen = found.map(|found| (path, found));
        is_open
    })
}

/// The catalog at a path, which may be the one seen before. None if there is none.
fn look(path: &Path, before: Option<Seen>) -> Option<Seen> {
    if matches!(&before, Some(Seen::Avoided(since)) if since.elapsed() < AVOIDED) {
        return before;
    }
    let now = FileFingerprint::of(&std::fs::metadata(path).ok()?);
    if matches!(&before, Some(Seen::Open(stamp, _)) if stamp.is_same_file(&now)) {
        return before;
    }
    let location = Location { path: path.to_owned(), makes_dir: false };
    Some(match Catalog::open_within(&location, SHORT_PATIENCE) {
        Some(catalog) => Seen::Open(now, catalog),
        None => Seen::Avoided(Instant::now()),
    })
}
