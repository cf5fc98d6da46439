use super::*;

fn texts<'a>(line: &'a str, scopes: &[TextScope]) -> Option<(&'static str, Vec<(&'static str, &'a str)>)> {
    let entry = entry_texts(line, Version::Current, scopes).expect("memory")?;
    let mut strings = Vec::new();
    for (scope, json) in entry.texts {
        let each = |string| {
            strings.push((scope.name(), string));
            Ok::<_, memory::OutOfMemory>(())
        };
        strings_in(json, each).expect("no error");
    }
    Some((entry.role, strings))
}

#[test]
fn each_text_has_its_scope() {
    let all = TextScope::NAMED.map(|(scope, _)| scope);
    for (line, want) in [
        (
            r#"{"type":"message","id":"a","message":{"role":"assistant","content":[{"type":"toolCall","name":"c","arguments":{},"argumentsError":"not JSON"}]}}"#,
            Some(("assistant", vec![("tool", "\"c\""), ("tool", "\"not JSON\"")])),
        ),
        (
            r#"{"type":"message","id":"a","message":{"role":"toolResult","content":[],"nestedCalls":{"complete":true,"calls":[{"id":"1","name":"read","arguments":{"path":"pear"},"status":"ok"},7,{"name":"run","status":"error","error":"gone"}]}}}"#,
            Some((
                "toolResult",
                vec![("tool", "\"read\""), ("tool", "\"pear\""), ("tool", "\"run\""), ("tool", "\"gone\"")],
            )),
        ),
        (
            r#"{"type":"message","id":"a","message":{"role":"toolResult","content":[],"nestedCalls":[1]}}"#,
            Some(("toolResult", vec![])),
        ),
        (
            r#"{"type":"message","id":"a","message":{"content":[{"type":"text","text":"a"},{"thinking":"b","type":"thinking"},{"type":"toolCall","name":"c","arguments":{"k":["d",{"l" : "e"}]}},{"type":"image","data":"x"}],"role":"assistant"}}"#,
            Some((
                "assistant",
                vec![
                    ("assistant", "\"a\""),
                    ("thinking", "\"b\""),
                    ("tool", "\"c\""),
                    ("tool", "\"d\""),
                    ("tool", "\"e\""),
                ],
            )),
        ),
        (
            r#"{"type":"message","id":"a","message":{"role":"bashExecution","command":"a","output":"b"}}"#,
            Some(("bashExecution", vec![("tool", "\"a\""), ("tool", "\"b\"")])),
        ),
        (r#"{"type":"custom","id":"a","data":{"x":"y"}}"#, Some(("custom", vec![("custom", "\"y\"")]))),
        (
            r#"{"type":"message","id":"a","message":{"role":"hookMessage","content":"a"}}"#,
            Some(("custom", vec![("custom", "\"a\"")])),
        ),
        (
            r#"{"type":"message","id":"a","message":{"role":"assistant","content":[],"errorMessage":"a"}}"#,
            Some(("assistant", vec![("assistant", "\"a\"")])),
        ),
        (
            r#"{"type":"message","id":"a","message":{"role":"user","content":[],"errorMessage":"a"}}"#,
            Some(("user", Vec::new())),
        ),
        (
            r#"{"type":"context_edit","id":"a","replacement":{"content":[{"type":"text","text":"a"}]}}"#,
            Some(("context_edit", vec![("custom", "\"a\"")])),
        ),
        (r#"{"type":"context_edit","id":"a","replacement":null}"#, Some(("context_edit", Vec::new()))),
        (r#"{"type":"label","id":"a","label":"a"}"#, Some(("label", vec![("name", "\"a\"")]))),
        (r#"{"type":"message","message":{"role":"user","content":"no id"}}"#, None),
        (r#"{"type":"message","id":"a","message":{"role":"system","content":"a"}}"#, None),
        (r#"{"type":"session","id":"a","name":"a"}"#, None),
    ] {
        assert_eq!(texts(line, &all), want, "{line}");
    }
}
