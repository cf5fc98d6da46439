//! Finding sessions by the beginning of their ids, in many directories. Of each file only the header is read.

use std::path::Path;
use std::sync::Mutex;

use super::list::ListScope;
use crate::base::error::Result;
use crate::base::paths::Process;
use crate::base::threads::{into_inner, locked, on_threads};
use crate::io::open::{self, Access};
use crate::summary::header_scan::header_among_others;

/// How many headers a thread reads at once.
const HEADERS_PER_TASK: usize = 16;

/// A session that was found by its id.
#[derive(Debug, PartialEq, Eq)]
pub struct FoundSession {
    pub path: String,
    /// WTF-8.
    pub id: Vec<u8>,
    /// Empty if the header does not say.
    pub cwd: Vec<u8>,
}

/// The sessions of a scope whose header has exactly this id or, if none has, those whose id begins with it; in the order of
/// their paths. `cwd` is what a relative path starts from.
pub fn by_id_prefix(scope: &ListScope, prefix: &[u8], cwd: &str, process: &dyn Process) -> Result<Vec<FoundSession>> {
    let files = scope.find(cwd)?;
    let found = Mutex::new(Vec::new());
    on_threads(files.len().div_ceil(HEADERS_PER_TASK), |_: &mut (), share| {
        for file in files.iter().skip(share * HEADERS_PER_TASK).take(HEADERS_PER_TASK) {
            let open = open::regular(&Path::new(&file.dir).join(&file.name), Access::Read);
            let header = open.ok().and_then(|file| header_among_others(file).ok().flatten());
            if let Some(header) = header.filter(|header| header.id.starts_with(prefix)) {
                let (path, cwd) = (file.path.clone(), header.cwd.unwrap_or_default());
                locked(&found).push(FoundSession { path, id: header.id, cwd });
            }
        }
    });
    let mut found: Vec<FoundSession> = into_inner(found);
    found.retain(|session| scope.includes(&session.cwd, process));
    if found.iter().any(|session| session.id == prefix) {
        found.retain(|session| session.id == prefix);
    }
    found.sort_by(|left, right| left.path.cmp(&right.path));
    Ok(found)
}
