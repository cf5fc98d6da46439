//! The files that a list or a search reads.

use std::io;
use std::path::Path;

use crate::base::paths::{join, resolve_from};
use crate::io::file_fingerprint::FileFingerprint;
use crate::io::fs;
use crate::io::session_files::session_files;

/// A file that may be a session.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// The path as a list shows it.
    pub path: String,
    /// Its directory as an absolute path, and its name.
    pub(crate) dir: String,
    pub(crate) name: String,
    /// None before [`read_fingerprints`], or if the path does not exist or is not a file.
    pub(crate) fingerprint: Option<FileFingerprint>,
}

/// The directories in `root`, and links that may lead to directories, sorted by name.
pub(crate) fn dirs_in(root: &str) -> io::Result<Vec<String>> {
    let mut dirs = Vec::new();
    for entry in fs::list(Path::new(root))? {
        let kind = entry.file_type()?;
        if let (true, Ok(name)) = (kind.is_dir() || kind.is_symlink(), entry.file_name().into_string()) {
            dirs.push(join(root, &name));
        }
    }
    dirs.sort_unstable();
    Ok(dirs)
}

/// The session files of one directory, sorted by name, without their fingerprints. A relative `dir` starts from `cwd`.
pub(crate) fn names_in(dir: &str, cwd: &str) -> io::Result<Vec<Candidate>> {
    let absolute = resolve_from(cwd, dir);
    let candidate = |name: String| Candidate { path: join(dir, &name), dir: absolute.clone(), name, fingerprint: None };
    Ok(session_files(dir)?.into_iter().map(candidate).collect())
}

/// Reads the fingerprints of the files.
pub(crate) fn read_fingerprints(files: &mut [Candidate]) {
    for file in files {
        let stat = fs::stat_path(Path::new(&file.path)).ok().flatten();
        file.fingerprint = stat.filter(|stat| stat.is_file).map(|stat| stat.fingerprint());
    }
}
