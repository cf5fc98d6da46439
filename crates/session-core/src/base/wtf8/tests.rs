use super::*;
use proptest::prelude::*;

#[test]
fn trim_takes_what_javascript_takes() {
    assert_eq!(trim("\u{FEFF}\u{2003} a\u{200B} \n".as_bytes()), "a\u{200B}".as_bytes());
    assert_eq!(trim(b" \t\r\n"), b"");
    let lone = [0xED, 0xA0, 0xBD];
    assert_eq!(trim(&[b" ", &lone[..], b" "].concat()), lone);
}

#[test]
fn an_id_in_a_message_is_cut_between_characters() {
    assert_eq!(shown("é".repeat(128).as_bytes()), "é".repeat(128));
    assert_eq!(shown(format!("a{}", "é".repeat(128)).as_bytes()), format!("a{}…", "é".repeat(127)));
}

#[test]
fn names_become_one_line() {
    assert_eq!(one_line(b"\r\n a\r\n\r\nb \n").expect("memory"), b"a b");
}

#[test]
fn a_lone_surrogate_is_written_as_an_escape() {
    let mut out = Vec::new();
    let text = from_utf16(&[0x61, 0xD83D, 0x22, 0x1F, 0xDE00]).expect("memory");
    push_json_string(&mut out, &text).expect("memory");
    assert_eq!(out, br#""a\ud83d\"\u001f\ude00""#);
}

/// Runs of letters that take one, two and three bytes, and of surrogates.
fn runs() -> impl Strategy<Value = Vec<u16>> {
    let run = |unit: std::ops::RangeInclusive<u16>, most| prop::collection::vec(unit, 0..most);
    let run = prop_oneof![
        run(0..=0x7f, 40),
        run(0x80..=0x7ff, 40),
        run(0x800..=0xd7ff, 40),
        run(0xd7ff..=0xe000, 4),
        run(0xe000..=0xffff, 40),
        prop::collection::vec((0xd800u16..0xdc00, 0xdc00u16..0xe000), 0..20)
            .prop_map(|pairs| pairs.into_iter().flat_map(|(high, low)| [high, low]).collect()),
    ];
    prop::collection::vec(run, 0..6).prop_map(|runs| runs.concat())
}

proptest! {
    #[test]
    fn utf16_survives(units in runs()) {
        prop_assert_eq!(to_utf16(&from_utf16(&units).expect("memory")).expect("memory"), units);
    }
}
