use super::*;
use crate::base::wtf8::from_utf16;
use proptest::prelude::*;

fn unescaped(string: &str) -> Option<Vec<u8>> {
    unescape(string.as_bytes()).expect("memory")
}

/// Letters, characters that are escaped, and any others.
fn unit() -> impl Strategy<Value = u16> {
    let escaped = prop::sample::select("\\\"\n\r\t\u{8}\u{c}\u{1}".encode_utf16().collect::<Vec<_>>());
    prop_oneof![8 => 0x20u16..0x7f, 4 => escaped, 1 => Just(u16::from(b'u')), 1 => 0u16..0x100, 1 => 0xd7f0u16..0xe010, 1 => any::<u16>()]
}

proptest! {
    #[test]
    fn what_was_escaped_comes_back(units in prop::collection::vec(unit(), 0..64), plain in 0usize..40) {
        let text = ["x".repeat(plain).into_bytes(), from_utf16(&units).expect("memory")].concat();
        let json = quoted(&text).expect("memory");
        let read = string_bytes(&json).expect("memory");
        prop_assert_eq!(read.as_deref(), Some(&text[..]));
    }
}

#[test]
fn escapes_may_begin_at_any_byte_of_a_block() {
    let escapes =
        [r#"\""#, r"\\", r"\/", r"\b", r"\f", r"\n", r"\r", r"\t", r"\u0041", r"\\n", r"\\\n", r"\\\\u", r"\\\u65e5"];
    for (escape, before) in escapes.iter().flat_map(|escape| (0..70).map(move |before| (escape, before))) {
        let json = format!("{}{escape}u{escape}nrt{}", "x".repeat(before), "bfnrtu".repeat(12));
        let text: String = serde_json::from_str(&format!("\"{json}\"")).expect("JSON");
        assert_eq!(unescaped(&json), Some(text.into_bytes()), "{json}");
    }
}

#[test]
fn each_escape_is_one_character() {
    assert_eq!(unescaped(r#"\"\\\/\b\f\n\r\t\u0041\u65E5"#).as_deref(), Some("\"\\/\x08\x0c\n\r\tA日".as_bytes()));
    // Two halves form a character, even if only one of them is escaped.
    assert_eq!(unescaped(r"\ud83d\ude00").as_deref(), Some("😀".as_bytes()));
    assert_eq!(unescaped(r"\ud83dx\ude00"), Some(from_utf16(&[0xd83d, 0x78, 0xde00]).expect("memory")));
    for bad in [r"\", r"\x", r"\u12", r"\u12g4", r"a\u"] {
        assert_eq!(unescaped(bad), None, "{bad}");
    }
}

#[test]
fn lone_surrogates_are_replaced_and_nothing_else() {
    let json = r#"{"a":"\\ud83d \ud83d\ude00 \ud83d","b":"\ude00\ud83d\n\u0061"}"#;
    let expected = r#"{"a":"\\ud83d \ud83d\ude00 \ufffd","b":"\ufffd\ufffd\n\u0061"}"#;
    assert_eq!(String::from_utf8(without_lone_surrogates(json.into())).as_deref(), Ok(expected));
}
