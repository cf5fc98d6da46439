//! One mutex for each catalog, so that of searches which start together one ingests the sessions and the others find it done.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

static LOCKS: LazyLock<Mutex<HashMap<PathBuf, Arc<Mutex<()>>>>> = LazyLock::new(Mutex::default);

/// The mutex to hold while sessions are ingested into the catalog at `path`.
pub fn ingest_lock(path: &Path) -> Arc<Mutex<()>> {
    let mut locks = LOCKS.lock().unwrap_or_else(PoisonError::into_inner);
    locks.entry(path.to_owned()).or_default().clone()
}
