use super::*;
use std::fs;

fn database(application: i32, version: i32) -> Vec<u8> {
    let mut bytes = vec![0; HEADER_BYTES];
    bytes[..MAGIC.len()].copy_from_slice(MAGIC);
    bytes[FORMAT_VERSION_AT..FORMAT_VERSION_AT + 4].copy_from_slice(&version.to_be_bytes());
    bytes[APPLICATION_ID_AT..APPLICATION_ID_AT + 4].copy_from_slice(&application.to_be_bytes());
    bytes
}

/// Regression: another user's catalog was used.
#[test]
#[cfg(unix)]
fn another_users_catalog_is_not_used() {
    use crate::io::fs::faults::{on_file_system, FileSystem};
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("named.db");
    let another = FileSystem { owner: Some(4711), ..FileSystem::PLAIN };
    for bytes in [Vec::new(), database(APPLICATION_ID, FORMAT_VERSION), database(APPLICATION_ID, 1)] {
        fs::write(&path, &bytes).expect("written");
        on_file_system(another, || {
            assert_eq!(inspect(&path), CatalogFileState::Foreign);
            assert!(create_private(&path).is_err());
            remove_own(&path);
        });
        assert_eq!(fs::read(&path).expect("left alone"), bytes);
    }
}

/// Regression: a setting deleted the file it named.
#[test]
fn a_file_that_the_setting_names_is_not_deleted() {
    let dir = tempfile::tempdir().expect("a directory");
    for (bytes, named, own) in [
        (Vec::new(), CatalogFileState::Missing, CatalogFileState::Missing),
        (b"my notes\n".repeat(99), CatalogFileState::Foreign, CatalogFileState::Unusable),
        (b"{\"type\":\"session\"}\n".to_vec(), CatalogFileState::Foreign, CatalogFileState::Unusable),
        (MAGIC.to_vec(), CatalogFileState::Foreign, CatalogFileState::Unusable),
        (database(0, 0), CatalogFileState::Foreign, CatalogFileState::Unusable),
        (database(7, FORMAT_VERSION), CatalogFileState::Foreign, CatalogFileState::Unusable),
        (database(APPLICATION_ID, FORMAT_VERSION), CatalogFileState::Catalog, CatalogFileState::Catalog),
        (database(APPLICATION_ID, FORMAT_VERSION - 1), CatalogFileState::Unusable, CatalogFileState::Unusable),
        (database(APPLICATION_ID, FORMAT_VERSION + 1), CatalogFileState::Foreign, CatalogFileState::Foreign),
    ] {
        for (name, want) in [("named.db", named), (FILE_NAME, own)] {
            let path = dir.path().join(name);
            fs::write(&path, &bytes).expect("written");
            assert_eq!(inspect(&path), want, "{name} {:?}", bytes.get(..20));
            remove_own(&path);
            let stays = matches!(want, CatalogFileState::Missing | CatalogFileState::Foreign);
            assert_eq!(fs::read(&path).ok(), stays.then(|| bytes.clone()), "{name}");
        }
    }
    assert_eq!(inspect(dir.path()), CatalogFileState::Foreign);
    assert_eq!(inspect(&dir.path().join("missing")), CatalogFileState::Missing);
}
