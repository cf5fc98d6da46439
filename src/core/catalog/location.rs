//! Where the catalog is.

use std::path::PathBuf;

use super::file::FILE_NAME;
use crate::core::base::error::Result;
use crate::core::base::paths::{self, Host};

/// Names the catalog's file, or is `off`.
pub const VARIABLE: &str = "PI_SESSION_CATALOG";

/// Where the catalog is, and whether it may be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    pub path: PathBuf,
    /// Whether a directory that is missing may be made for it. The agent's is not: who has no agent gets no catalog.
    pub makes_dir: bool,
}

/// Where the host's environment wants the catalog; None if it wants none.
pub fn location(host: &dyn Host) -> Result<Option<Location>> {
    match host.env(VARIABLE)?.filter(|value| !value.is_empty()) {
        Some(off) if off.eq_ignore_ascii_case("off") || off == "0" => Ok(None),
        Some(path) => Ok(Some(Location { path: paths::resolve(&path, host)?.into(), makes_dir: true })),
        None => {
            let agent = paths::resolve(&paths::agent_dir(host)?, host)?;
            Ok(Some(Location { path: paths::join(&agent, FILE_NAME).into(), makes_dir: false }))
        }
    }
}
