//! `allMessagesText` of a listed session: fetched when it is asked for.

use std::cell::RefCell;
use std::ffi::c_void;
use std::path::PathBuf;
use std::ptr::null_mut;

use napi::{sys, Result};

use super::host::{make, F};
use super::raw::{Js, Val};
use crate::core::catalog::listed::{text, Source};
use crate::core::catalog::{Catalog, Location};
use crate::core::paths;
use crate::core::stamp::Stamp;
use crate::core::text::shown;

/// How many bytes of memory are kept for the next text: fresh memory is what costs most here.
const KEPT_BYTES: usize = 8 << 20;

thread_local! {
    static FETCHED: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    /// The catalog that was read last, and which file it is: another one may take its place.
    static OPEN: RefCell<Option<(PathBuf, Stamp, Catalog)>> = const { RefCell::new(None) };
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
    OPEN.with(|open| open.borrow_mut().take());
}

fn fetch(js: Js, [file, source, catalog]: [Val; 3]) -> Result<Val> {
    let argument = |value: Val| Ok::<_, napi::Error>(js.text(value)?.map(|text| shown(&text).into_owned()));
    let (Some(file), Some(source)) = (argument(file)?, argument(source)?) else {
        return js.string(b"");
    };
    let Some(source) = Source::from_text(&source) else {
        return js.string(b"");
    };
    let (dir, name) = (paths::parent(&file), paths::file_name(&file));
    let catalog = argument(catalog)?;
    FETCHED.with(|fetched| {
        let mut fetched = fetched.borrow_mut();
        match catalog {
            Some(path) => {
                with_catalog(PathBuf::from(path), |catalog| text(catalog, &dir, name, &source, &mut fetched));
            }
            None => text(None, &dir, name, &source, &mut fetched),
        }
        let string = js.string(&fetched);
        if fetched.capacity() > KEPT_BYTES {
            *fetched = Vec::new();
        }
        string
    })
}

fn with_catalog<T>(path: PathBuf, work: impl FnOnce(Option<&Catalog>) -> T) -> T {
    OPEN.with(|open| {
        let mut open = open.borrow_mut();
        let now = std::fs::metadata(&path).ok().map(|meta| Stamp::of(&meta));
        let is_same =
            matches!((&*open, &now), (Some((kept, stamp, _)), Some(now)) if *kept == path && stamp.is_same_file(now));
        if !is_same {
            let location = Location { path: path.clone(), makes_dir: false };
            *open = now.zip(Catalog::open(&location)).map(|(stamp, catalog)| (path, stamp, catalog));
        }
        work(open.as_ref().map(|(_, _, catalog)| catalog))
    })
}
