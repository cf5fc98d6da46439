//! The location of the catalog.

use std::path::PathBuf;

use super::file::FILE_NAME;
use crate::base::error::Result;
use crate::base::path_syntax::PathSyntax;
use crate::base::paths::{self, Process};

/// The environment variable with the path of the catalog's file, or `off`.
pub(crate) const VARIABLE: &str = "PI_SESSION_NATIVE_CATALOG";

/// The catalog's path, and whether its directory may be created.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CatalogLocation {
    /// The path of the catalog's file.
    pub path: PathBuf,
    /// Whether a missing directory is created. The agent's directory is not created, because without an agent there is
    /// no catalog.
    pub makes_dir: bool,
}

/// The location in the process's environment. None if the catalog is off, or cannot be there.
pub fn location(process: &dyn Process) -> Result<Option<CatalogLocation>> {
    let (path, makes_dir) = match process.env(VARIABLE)?.filter(|value| !value.is_empty()) {
        Some(off) if off.eq_ignore_ascii_case("off") || off == "0" => return Ok(None),
        Some(path) => (paths::resolve(&path, process)?, true),
        None => (paths::join(&paths::resolve(&paths::agent_dir(process)?, process)?, FILE_NAME), false),
    };
    // SQLite would clean this path, and so open another file.
    let is_opened = PathSyntax::HERE.is_kept_by_cleaning(&path);
    Ok(is_opened.then(|| CatalogLocation { path: path.into(), makes_dir }))
}
