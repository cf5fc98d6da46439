//! Names of files beside a session file: the session file's name and a suffix.

use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::xxh3_64;

use super::session_files::ENDING;

/// The longest name of a file in file systems, in bytes.
const MAX_FILE_NAME_BYTES: usize = 255;

/// The path of `path` with `suffix`. If the name becomes too long, a hash of the whole name replaces its end, so that
/// no two sessions get the same name.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let Some(name) = path.file_name().filter(|name| name.len() + suffix.len() > MAX_FILE_NAME_BYTES) else {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        return PathBuf::from(name);
    };
    let text = name.to_string_lossy();
    let stem = text.strip_suffix(ENDING).unwrap_or(&text);
    let end = format!("-{:016x}{ENDING}{suffix}", xxh3_64(name.as_encoded_bytes()));
    let mut left = MAX_FILE_NAME_BYTES.saturating_sub(end.len()).min(stem.len());
    while !stem.is_char_boundary(left) {
        left -= 1;
    }
    path.with_file_name(stem.get(..left).unwrap_or_default().to_owned() + &end)
}

#[cfg(test)]
mod tests;
