//! Opening a file. The first two bytes of the input are the size of the file when it is opened; the rest of it is
//! appended later.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use super::Subject;
use crate::context::projection::project;
use crate::format::entry::{read_line, Line};
use crate::format::header::Header;
use crate::index::load::load;
use crate::index::Index;
use crate::json::reader::is_json;
use crate::storage::memory::MemoryStorage;
use crate::tree::tree_integrity::check_integrity;
use crate::tree::{ChildrenOf, RowNo, Tree};

/// The ids of the entries by a simple reader; None if the text is not a session.
fn plainly(bytes: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut lines = bytes.split(|byte| *byte == b'\n').map(String::from_utf8_lossy);
    let header = lines.find(|line| is_json(line))?;
    Header::read(&header).expect("memory")?;
    let ids = lines.filter_map(|line| {
        read_line(&line, |line| match line {
            Line::Entry(head) => Some(head.id.to_vec()),
            _ => None,
        })
        .expect("memory")
    });
    Some(ids.collect())
}

fn ids(index: &Index) -> Vec<Vec<u8>> {
    (0..index.tree.len() as RowNo).map(|row| index.tree.id_of(row).to_vec()).collect()
}

pub fn target(input: &[u8], subject: Subject) -> u64 {
    let [high, low, bytes @ ..] = input else { return 0 };
    let storage = MemoryStorage::new("fuzz".into(), bytes.to_vec());
    let loaded = load(&storage).expect("memory has no errors");
    let expected = plainly(bytes);
    assert_eq!(loaded.as_ref().map(|loaded| ids(&loaded.index)), expected);
    let Some(loaded) = loaded else { return 1 };
    let index = loaded.index;
    let rows: Vec<RowNo> = (0..index.tree.len() as RowNo).collect();
    // Every line is at its indexed position, and every walk ends.
    let mut read = 0;
    let read_all = index.lines(&storage, &rows, &mut |_, _, _| {
        read += 1;
        Ok(())
    });
    read_all.expect("the lines are there");
    assert_eq!(read, rows.len());
    for &row in &rows {
        let path = index.tree.path(row).expect("memory");
        let mut once = path.clone();
        once.sort_unstable();
        once.dedup();
        assert_eq!((once.len(), path.last()), (path.len(), Some(&row)));
        assert!(index.tree.children(ChildrenOf::Id(index.tree.id_of(row))).expect("memory").len() <= rows.len());
        assert!(project(&index.tree, &path).expect("memory").steps.len() <= path.len());
    }
    let parents = index.tree.parents().expect("memory");
    for &row in &rows {
        let steps = std::iter::successors(Some(row), |&row| parents[row as usize]).take(rows.len() + 1).count();
        assert!(steps <= rows.len());
    }
    let found = check_integrity(&index.tree).expect("memory");

    // The same file, but at first only its start existed. An unterminated line that was whole may have been continued
    // since. Then there is nothing to compare.
    let cut = (usize::from(*high) << 8 | usize::from(*low)) % (bytes.len() + 1);
    let torn = bytes[..cut].rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    let continued = bytes[cut..].split(|byte| *byte == b'\n').next().unwrap_or_default();
    let early = load(&MemoryStorage::new("fuzz".into(), bytes[..cut].to_vec())).expect("memory has no errors");
    if let Some(mut early) =
        early.filter(|_| continued.iter().all(u8::is_ascii_whitespace) || !is_json(&String::from_utf8_lossy(torn)))
    {
        // The leaf is still the same entry: the last one with its id.
        let leaf_of =
            |tree: &Tree| tree.leaf().filter(|_| subject == Subject::Core).map(|row| tree.id_of(row).to_vec());
        let (leaf, before) = (leaf_of(&early.index.tree), early.index.tree.len());
        early.index.read_more(&storage, u64::MAX).expect("memory has no errors");
        // The planted bug: a line that was torn when the file was opened is indexed twice.
        if subject == Subject::Planted && !torn.is_empty() && early.index.tree.len() > before {
            let last = ids(&early.index).pop().unwrap_or_default();
            let line = format!("{{\"id\":{}}}", crate::json::quoted(&last).expect("memory"));
            read_line(&line, |line| {
                if let Line::Entry(head) = line {
                    early.index.push(&head, None).expect("memory");
                }
            })
            .expect("memory");
        }
        assert_eq!(ids(&early.index), ids(&index), "cut at {cut}");
        assert_eq!(leaf_of(&early.index.tree), leaf);
        assert_eq!(early.index.damaged(), index.damaged(), "cut at {cut}");
    }

    let mut hasher = DefaultHasher::new();
    (rows.len().min(12), index.damaged().len().min(4), found.orphans.len().min(3)).hash(&mut hasher);
    (
        found.cycles.len().min(3),
        found.duplicates.len().min(3),
        index.tree.labels().in_order().expect("memory").len().min(3),
    )
        .hash(&mut hasher);
    hasher.finish()
}
