//! The catalog's file on disk: whose it is, and how it is made and taken away. A setting may name any file, so nothing is
//! touched that does not show that it is ours.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use super::schema::{APPLICATION, FORM};

/// The catalog's file in the agent's directory. The number is that of its form: each form has a file of its own, so that
/// two releases never fight over one.
pub const FILE_NAME: &str = "session-catalog-2.sqlite";

/// What an SQLite file begins with, and where its header says what was set.
const MAGIC: &[u8] = b"SQLite format 3\0";
const FORM_AT: usize = 60;
const APPLICATION_AT: usize = 68;
const HEADER_BYTES: usize = 100;

/// How many links are followed to the catalog's file.
const LINKS: usize = 40;

/// What is found where the catalog should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// Nothing, or an empty file: a catalog may be made there.
    Nothing,
    /// A catalog of this form.
    Catalog,
    /// Ours, and good for nothing: a catalog of an older form, or what is broken and has our own name.
    Spoiled,
    /// Somebody else's file, a catalog of a newer form, no file, or what cannot be looked at. It is left as it is.
    Foreign,
}

/// Looks at what is at a path, without changing anything.
pub fn look(path: &Path) -> Found {
    match beginning(path) {
        Ok(bytes) if bytes.is_empty() => Found::Nothing,
        Ok(bytes) => match marks(&bytes) {
            Some((APPLICATION, form)) if form == FORM => Found::Catalog,
            Some((APPLICATION, form)) if form > FORM => Found::Foreign,
            Some((APPLICATION, _)) => Found::Spoiled,
            _ if path.file_name().is_some_and(|name| name == FILE_NAME) => Found::Spoiled,
            _ => Found::Foreign,
        },
        Err(error) if error.kind() == ErrorKind::NotFound => Found::Nothing,
        Err(_) => Found::Foreign,
    }
}

fn beginning(path: &Path) -> io::Result<Vec<u8>> {
    // A pipe would keep whoever opens it waiting.
    if !fs::metadata(path)?.is_file() {
        return Err(ErrorKind::InvalidInput.into());
    }
    let mut bytes = Vec::with_capacity(HEADER_BYTES);
    File::open(path)?.take(HEADER_BYTES as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Whose database it says it is, and of which form; None for what is no database.
fn marks(bytes: &[u8]) -> Option<(i32, i32)> {
    let number = |at: usize| Some(i32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let is_database = bytes.starts_with(MAGIC) && bytes.len() == HEADER_BYTES;
    is_database.then(|| Some((number(APPLICATION_AT)?, number(FORM_AT)?))).flatten()
}

/// The file that a path leads to, through links, whether it is there or not.
pub fn behind_links(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    for _ in 0..LINKS {
        let Ok(target) = fs::read_link(&path) else { break };
        path = path.parent().map_or_else(|| target.clone(), |dir| dir.join(&target));
    }
    path
}

/// Makes an empty file that only its owner may read; one that is there becomes that.
pub fn create_private(path: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => make_private(path),
        made => made.map(|_| ()),
    }
}

#[cfg(unix)]
fn make_private(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    // Somebody else's empty file is of no use: what is said in sessions would be theirs to read.
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))
}

#[cfg(not(unix))]
fn make_private(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Takes the catalog's files away, if they are ours. Who has them open goes on with what has no name any more. What cannot
/// be removed is met again by whoever opens it next.
pub fn remove_ours(path: &Path) {
    if !matches!(look(path), Found::Catalog | Found::Spoiled) {
        return;
    }
    for ending in ["-wal", "-shm", "-journal", ""] {
        let mut name = path.as_os_str().to_owned();
        name.push(ending);
        let _ = fs::remove_file(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn database(application: i32, form: i32) -> Vec<u8> {
        let mut bytes = vec![0; HEADER_BYTES];
        bytes[..MAGIC.len()].copy_from_slice(MAGIC);
        bytes[FORM_AT..FORM_AT + 4].copy_from_slice(&form.to_be_bytes());
        bytes[APPLICATION_AT..APPLICATION_AT + 4].copy_from_slice(&application.to_be_bytes());
        bytes
    }

    #[test]
    fn a_setting_deleted_the_file_it_named() {
        let dir = tempfile::tempdir().expect("a directory");
        for (bytes, named, own) in [
            (Vec::new(), Found::Nothing, Found::Nothing),
            (b"my notes\n".repeat(99), Found::Foreign, Found::Spoiled),
            (b"{\"type\":\"session\"}\n".to_vec(), Found::Foreign, Found::Spoiled),
            (MAGIC.to_vec(), Found::Foreign, Found::Spoiled),
            (database(0, 0), Found::Foreign, Found::Spoiled),
            (database(7, FORM), Found::Foreign, Found::Spoiled),
            (database(APPLICATION, FORM), Found::Catalog, Found::Catalog),
            (database(APPLICATION, FORM - 1), Found::Spoiled, Found::Spoiled),
            (database(APPLICATION, FORM + 1), Found::Foreign, Found::Foreign),
        ] {
            for (name, want) in [("named.db", named), (FILE_NAME, own)] {
                let path = dir.path().join(name);
                fs::write(&path, &bytes).expect("written");
                assert_eq!(look(&path), want, "{name} {:?}", bytes.get(..20));
                remove_ours(&path);
                let stays = matches!(want, Found::Nothing | Found::Foreign);
                assert_eq!(fs::read(&path).ok(), stays.then(|| bytes.clone()), "{name}");
            }
        }
        assert_eq!(look(dir.path()), Found::Foreign);
        assert_eq!(look(&dir.path().join("missing")), Found::Nothing);
    }

    #[cfg(unix)]
    #[test]
    fn links_lead_to_what_they_name() {
        use std::os::unix::fs::symlink;
        let dir = tempfile::tempdir().expect("a directory");
        let at = |name: &str| dir.path().join(name);
        symlink("middle", at("link")).expect("linked");
        symlink(at("target"), at("middle")).expect("linked");
        symlink("round", at("round")).expect("linked");
        assert_eq!(behind_links(&at("link")), at("target"));
        assert_eq!(behind_links(&at("plain")), at("plain"));
        assert_eq!(look(&behind_links(&at("round"))), Found::Foreign);
    }
}
