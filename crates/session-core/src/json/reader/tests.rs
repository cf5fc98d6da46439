use super::*;
use crate::testing::tests::count;
use proptest::prelude::*;

/// The reference: serde_json's check of a text, without building values.
fn oracle(text: &str) -> bool {
    serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}

/// JSON, and texts similar to it: pieces of JSON in any order, and whole values with one byte changed.
pub fn near_json() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"",
        "\\",
        "\\u",
        "\\ud83d",
        "00",
        "0",
        "-",
        "1.5",
        "e+7",
        "E",
        ".",
        "true",
        "false",
        "null",
        "nul",
        " ",
        "\t",
        "\n",
        "\r",
        "\u{0}",
        "\u{1f}",
        "\u{7f}",
        "é",
        "\u{2028}",
        "\u{FEFF}",
        "\"a\"",
        "\"a\":",
        "\"\\n\"",
        "{\"a\":1}",
        "[1,2]",
        "/",
        "x",
    ]);
    let jumble = prop::collection::vec(pieces, 0..12).prop_map(|pieces| pieces.concat());
    let leaf = prop_oneof![
        Just("null".to_owned()),
        any::<f64>().prop_filter("finite", |n| n.is_finite()).prop_map(|n| format!("{n:e}")),
        any::<i64>().prop_map(|n| n.to_string()),
        ".{0,80}".prop_map(|text| serde_json::Value::from(text).to_string()),
    ];
    let value = leaf.prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(|list| format!("[{}]", list.join(" ,"))),
            prop::collection::vec((".{0,9}", inner), 0..5).prop_map(|members| {
                let member =
                    |(key, value): &(String, String)| format!("{} :{value}", serde_json::Value::from(key.as_str()));
                format!("{{{}}}", members.iter().map(member).collect::<Vec<_>>().join(","))
            }),
        ]
    });
    let changed = (
        value.clone(),
        any::<prop::sample::Index>(),
        prop::sample::select(vec!["", "\"", "\\", "}", ",", "\u{1}", "9"]),
    )
        .prop_map(|(text, at, new)| {
            let cut = at.index(text.len().max(1));
            let from = (0..=cut.min(text.len())).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
            let to = text[from..].chars().next().map_or(from, |c| from + c.len_utf8());
            format!("{}{new}{}", &text[..from], &text[to..])
        });
    prop_oneof![jumble, value, changed]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(count("json_texts")))]

    #[test]
    fn what_is_accepted_is_what_serde_json_accepts(text in near_json()) {
        prop_assert_eq!(is_json(&text), oracle(&text), "{:?}", text);
    }

    #[test]
    fn spans_are_the_texts_that_serde_json_gives(text in near_json()) {
        let is_list = is_json(&text) && text.trim_ascii_start().starts_with('[');
        let ours = is_list.then(|| elements(&text).map(str::to_owned).collect::<Vec<_>>());
        let theirs = serde_json::from_str::<Vec<&serde_json::value::RawValue>>(&text).ok();
        let theirs = theirs.map(|all| all.iter().map(|raw| raw.get().to_owned()).collect());
        prop_assert_eq!(ours, theirs, "{:?}", text);
    }
}

#[test]
fn trailing_commas_and_missing_values_are_refused() {
    for bad in ["[1,]", "{\"a\":1,}", "[,1]", "{,}", "{\"a\"}", "{\"a\":}", "{1:2}", "[1 2]", "{\"a\":1 \"b\":2}"] {
        assert!(!is_json(bad), "{bad}");
        assert!(crate::json::object_text::ObjectText::read(bad).expect("memory").is_none(), "{bad}");
    }
}

proptest! {
    /// Deeper than serde_json accepts. Each container must be closed by its own bracket.
    #[test]
    fn containers_are_closed_by_what_opened_them(
        kinds in prop::collection::vec(any::<bool>(), 1..300),
        wrong in any::<prop::sample::Index>(),
    ) {
        let opened: String = kinds.iter().map(|&object| if object { "{\"k\":" } else { "[0,[],{}," }).collect();
        let closed = |flipped: Option<usize>| -> String {
            let close = |(at, &object): (usize, &bool)| if object != (flipped == Some(at)) { '}' } else { ']' };
            kinds.iter().enumerate().rev().map(close).collect()
        };
        let good = is_json(&[&opened, "1", &closed(None)].concat());
        let flipped = is_json(&[&opened, "1", &closed(Some(wrong.index(kinds.len())))].concat());
        let short = is_json(&[&opened, "1", &closed(None)[1..]].concat());
        prop_assert_eq!([good, flipped, short], [true, false, false]);
    }
}

#[test]
fn json_is_what_json_parse_takes() {
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    for good in ["0", "-0", "1e999", " {\"a\":\"\\udc00\"}\t\r", "\"\u{2028}\u{7f}\"", "[1,{}]", &deep] {
        assert!(is_json(good), "{}", &good[..good.len().min(40)]);
    }
    for bad in [
        "",
        "01",
        "+1",
        "1.",
        ".5",
        "[1,]",
        "{a:1}",
        "'a'",
        "NaN",
        "\"\t\"",
        "\"\\x\"",
        "\u{FEFF}1",
        "\u{A0}1",
        "[1",
        "1 2",
    ] {
        assert!(!is_json(bad), "{bad}");
    }
}
