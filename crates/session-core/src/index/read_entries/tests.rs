use super::*;
use crate::index::load::load;
use crate::storage::memory::MemoryStorage;

#[test]
fn lines_come_with_and_without_their_bodies() {
    let long = "x".repeat(40_000);
    let entries = [
        format!("{{\"type\":\"message\",\"id\":\"a\",\"message\":{{\"content\":\"{long}\",\"role\":\"user\",\"details\":[\"{long}\"]}}}}"),
        "{\"type\":\"custom\",\"id\":\"b\",\"data\":\"short\"}".to_owned(),
        format!("{{\"data\":\"{long}\",\"id\":\"c\"}}"),
    ];
    let text = format!("{{\"type\":\"session\",\"version\":3,\"id\":\"s\"}}\n{}\n", entries.join("\n"));
    let storage = MemoryStorage::new("test".into(), text.into_bytes());
    let index = load(&storage).expect("readable").expect("a session").index;
    let mut cut = Vec::new();
    let mut take = |row, line: &str, omitted| {
        cut.push((row, line.to_owned(), omitted));
        Ok(())
    };
    index.lines_without_bodies(&storage, &[0, 1, 2, 0], &mut take).expect("read");
    let first = "{\"type\":\"message\",\"id\":\"a\",\"message\":{\"content\":0,\"role\":\"user\",\"details\":0}}";
    let expected = [(0, first, 3), (1, entries[1].as_str(), 0), (2, "{\"data\":0,\"id\":\"c\"}", 16), (0, first, 3)];
    let cut: Vec<_> = cut.iter().map(|(row, line, omitted)| (*row, line.as_str(), *omitted)).collect();
    assert_eq!(cut, expected);
    for (row, entry) in entries.iter().enumerate() {
        assert_eq!(index.line(&storage, row as RowNo).expect("read").as_ref(), Some(entry));
    }
    assert_eq!(index.length_without_bodies(2), "{\"data\":,\"id\":\"c\"}".len());
}
