use super::*;
use crate::format::agent_message::{AssistantMessage, UserMessage};
use crate::format::message_parts::{ContentBlock, StopReason};
use proptest::prelude::*;
use serde_json::json;

/// The entries in the documentation.
fn documented() -> Vec<Value> {
    let text = include_str!("../../../file-format.md");
    let lines =
        text.split("```jsonl\n").skip(1).flat_map(|block| block.split("```").next().unwrap_or_default().lines());
    lines
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .filter(|line: &Value| line["type"] != "session")
        .collect()
}

fn entry(value: Value) -> SessionEntry {
    serde_json::from_value(value).expect("any value is an entry")
}

#[test]
fn documented_entries_are_declared_whole() {
    assert!(documented().len() > 20);
    for value in documented() {
        let entry = entry(value.clone());
        let shown = format!("{entry:?}");
        let is_old = value.get("id").is_none();
        // Fields and roles of older versions are not declared.
        let is_other = shown.contains("hookMessage") || shown.contains("firstKeptEntryIndex");
        assert_eq!(shown.contains("Other("), is_other, "{shown}");
        assert_eq!(shown.matches("extra: {}").count(), shown.matches("extra: ").count(), "{shown}");
        let mut back = serde_json::to_value(&entry).expect("a value");
        if is_old {
            back = entry.fields.to_json().map(|json| serde_json::from_str(&json).expect("JSON")).expect("memory");
            back["type"] = value["type"].clone();
            back["timestamp"] = value["timestamp"].clone();
        }
        assert_eq!(back, value);
    }
}

#[test]
fn messages_keep_what_they_do_not_declare() {
    let value = json!({
        "role": "assistant", "content": [{ "type": "text", "text": "x", "new": 1 }, { "type": "video", "url": "y" }],
        "api": "a", "provider": "p", "model": "m", "usage": {
            "input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0.5, "cacheWrite1h": 3, "searches": 4,
            "cost": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 1e-7, "totalFromProvider": true },
        },
        "stopReason": "refused", "thinkingLevel": "high", "durationMs": 12.5, "timestamp": 1748768401000i64, "newer": [null],
    });
    let message: AgentMessage = serde_json::from_value(value.clone()).expect("a message");
    let AgentMessage::Assistant(answer) = &message else { panic!("{message:?}") };
    assert_eq!(answer.extra["newer"], json!([null]));
    assert_eq!(answer.stop_reason, Some(StopReason::Other("refused".into())));
    assert_eq!(answer.timestamp, Some(1748768401000.0));
    let AssistantMessage { content, usage, .. } = answer;
    assert!(matches!(&content[1], ContentBlock::Other(video) if video["type"] == "video"));
    assert_eq!(
        usage.as_ref().and_then(|usage| usage.cost.as_ref()).and_then(|cost| cost.total_from_provider),
        Some(true)
    );
    assert_eq!(serde_json::to_value(&message).expect("a value"), value);
}

#[test]
fn tool_calls_and_results_of_newer_releases_are_declared() {
    let values = [
        json!({ "role": "assistant", "content": [
            { "type": "toolCall", "id": "c", "name": "read", "arguments": {}, "argumentsError": "not JSON: {" },
        ], "api": "", "provider": "", "model": "" }),
        json!({ "role": "toolResult", "toolCallId": "c", "toolName": "script", "content": [], "isError": false, "durationMs": 3,
            "nestedCalls": { "calls": [
                { "id": "1", "name": "read", "arguments": { "path": "a" }, "status": "ok", "durationMs": 0.25 },
                { "id": "2", "name": "write", "argumentsBytes": 70000, "status": "unfinished", "error": "…" },
            ], "complete": false } }),
    ];
    for value in values {
        let message: AgentMessage = serde_json::from_value(value.clone()).expect("a message");
        let shown = format!("{message:?}");
        assert!(!shown.contains("Other("), "{shown}");
        assert_eq!(shown.matches("extra: {}").count(), shown.matches("extra: ").count(), "{shown}");
        assert_eq!(serde_json::to_value(&message).expect("a value"), value);
    }
}

#[test]
fn fields_that_do_not_fit_their_role_are_kept_as_json() {
    for value in [
        json!({ "role": "user", "content": 5 }),
        json!({ "role": "assistant", "usage": "much" }),
        json!({ "role": "toolResult", "isError": 0 }),
        json!({ "role": "robot", "content": [] }),
        json!({ "role": 0, "content": "the first role" }),
        json!(["a", "list"]),
        json!(null),
    ] {
        let message = AgentMessage::from(value.clone());
        assert_eq!(message, AgentMessage::Other(value.clone()));
        assert_eq!(serde_json::to_value(&message).expect("a value"), value);
    }
    let odd = json!({ "type": "label", "id": "a", "parentId": 7, "timestamp": 5, "targetId": null });
    let entry = entry(odd.clone());
    assert_eq!((entry.id.as_str(), &entry.parent_id, &entry.timestamp), ("a", &None, &None));
    assert_eq!(entry.fields.kind(), EntryKind::Label);
    let OwnFields::Other(fields) = &entry.fields else { panic!("{entry:?}") };
    assert_eq!(fields, &json!({ "type": "label", "parentId": 7, "timestamp": 5, "targetId": null }));
}

#[test]
fn missing_content_is_empty() {
    for value in [json!({ "role": "user" }), json!({ "role": "user", "content": null })] {
        assert_eq!(AgentMessage::from(value), AgentMessage::User(UserMessage::default()));
    }
}

/// JSON with many keys and values of entries.
fn value() -> impl Strategy<Value = Value> {
    let word = prop::sample::select(vec![
        "user",
        "assistant",
        "toolResult",
        "system",
        "bashExecution",
        "custom",
        "message",
        "text",
        "toolCall",
        "compaction",
        "label",
        "usage",
        "branch_summary",
        "custom_message",
        "context_edit",
        "",
    ]);
    let leaf = prop_oneof![
        word.prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        (-2i64..2).prop_map(|number| json!(number * 1_700_000_000_000)),
        any::<f64>().prop_filter("finite", |number| number.is_finite()).prop_map(Value::from),
        Just(json!({})),
    ];
    let key = prop::sample::select(vec![
        "role",
        "type",
        "content",
        "text",
        "message",
        "timestamp",
        "usage",
        "cost",
        "input",
        "id",
        "name",
        "arguments",
        "data",
        "customType",
        "display",
        "summary",
        "targetId",
        "label",
        "replacement",
        "isError",
        "toolCallId",
        "other",
    ]);
    leaf.prop_recursive(5, 40, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(key.clone(), inner, 0..8)
                .prop_map(|map| map.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()),
        ]
    })
}

/// Whether a value contains everything of another. Numbers may be written differently.
fn has_all(of: &Value, value: &Value) -> bool {
    match (of, value) {
        (Value::Object(of), Value::Object(fields)) => {
            fields.iter().all(|(key, value)| of.get(key).is_some_and(|of| has_all(of, value)))
        }
        (Value::Array(of), Value::Array(list)) => {
            of.len() == list.len() && of.iter().zip(list).all(|(of, value)| has_all(of, value))
        }
        (Value::Number(of), Value::Number(number)) => of.as_f64() == number.as_f64(),
        _ => of == value,
    }
}

proptest! {
    #[test]
    fn any_message_and_entry_is_read_and_loses_nothing(value in value()) {
        let back = serde_json::to_value(AgentMessage::from(value.clone())).expect("a value");
        prop_assert!(has_all(&back, &value), "{back}");
        if value.is_object() {
            let back = serde_json::to_value(entry(value.clone())).expect("a value");
            prop_assert!(has_all(&back, &value), "{back}");
        }
    }
}
