use super::*;
use crate::index::verify::verify;

fn found(entries: &[(&str, &str)]) -> Vec<(u64, String, Unpaired)> {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("s.jsonl");
    let mut text = "{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"timestamp\":\"t\",\"cwd\":\"/\"}\n".to_owned();
    for (at, (kind, fields)) in entries.iter().enumerate() {
        let parent = if at == 0 { "null".into() } else { format!("\"{}\"", at - 1) };
        text +=
            &format!("{{\"type\":\"{kind}\",\"id\":\"{at}\",\"parentId\":{parent},\"timestamp\":\"t\",{fields}}}\n");
    }
    std::fs::write(&path, text).expect("written");
    let report = verify(&path).expect("read");
    assert!(report.ok, "it is no damage");
    report.unpaired_calls.into_iter().map(|one| (one.line, one.tool_call_id, one.reason)).collect()
}

fn call(ids: &[&str]) -> (&'static str, String) {
    let blocks: Vec<_> = ids
        .iter()
        .map(|id| format!("{{\"type\":\"toolCall\",\"id\":\"{id}\",\"name\":\"x\",\"arguments\":{{}}}}"))
        .collect();
    (
        "message",
        format!("\"message\":{{\"role\":\"assistant\",\"content\":[{}],\"stopReason\":\"toolUse\"}}", blocks.join(",")),
    )
}

fn result(id: &str) -> (&'static str, String) {
    ("message", format!("\"message\":{{\"role\":\"toolResult\",\"toolCallId\":\"{id}\",\"content\":[]}}"))
}

fn all(entries: &[(&'static str, String)]) -> Vec<(u64, String, Unpaired)> {
    found(&entries.iter().map(|(kind, fields)| (*kind, fields.as_str())).collect::<Vec<_>>())
}

#[test]
fn calls_and_results_that_lack_each_other_are_found() {
    let said = |role: &str| ("message", format!("\"message\":{{\"role\":\"{role}\",\"content\":\"x\"}}"));
    let label = ("label", "\"targetId\":\"0\",\"label\":\"x\"".to_owned());
    assert_eq!(
        all(&[said("user"), call(&["a", "b"]), result("b"), label.clone(), said("system"), result("a"), said("user")]),
        []
    );
    let (call_of, result_of) = (Unpaired::Call, Unpaired::Result);
    assert_eq!(all(&[call(&["a", "b"]), result("b")]), [(2, "a".into(), call_of)]);
    assert_eq!(all(&[call(&["a"]), said("user"), result("a")]), [(2, "a".into(), call_of), (4, "a".into(), result_of)]);
    assert_eq!(all(&[said("user"), result("a")]), [(3, "a".into(), result_of)]);
    assert_eq!(all(&[call(&["a"]), result("a"), result("a")]), [(4, "a".into(), result_of)]);
    let (kind, aborted) = call(&["a"]);
    assert_eq!(all(&[(kind, aborted.replace("toolUse", "aborted")), said("user")]), [], "pi leaves it out");
}

#[test]
fn only_the_context_counts() {
    let edit = |target: &str, replacement: &str| {
        ("context_edit", format!("\"targetId\":\"{target}\",\"replacement\":{replacement}"))
    };
    assert_eq!(all(&[call(&["a"]), edit("0", "null")]), []);
    assert_eq!(all(&[call(&["a"]), edit("0", "{\"content\":[]}")]), []);
    assert_eq!(all(&[call(&["a"]), result("a"), edit("1", "null")]), [(2, "a".into(), Unpaired::Call)]);
    let compaction = ("compaction", "\"summary\":\"x\",\"firstKeptEntryId\":\"1\",\"tokensBefore\":1".to_owned());
    assert_eq!(
        all(&[call(&["a"]), result("a"), compaction]),
        [(3, "a".into(), Unpaired::Result)],
        "its call is compacted"
    );
}
