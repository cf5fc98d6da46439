use super::*;
use proptest::prelude::*;

fn quoted(units: &[u16]) -> Vec<u8> {
    let mut out = b"[".to_vec();
    push_quoted(&mut out, units).expect("memory");
    out
}

fn letter_by_letter(units: &[u16]) -> Vec<u8> {
    let escaped = |unit: Result<char, std::char::DecodeUtf16Error>| match unit {
        Ok(letter) => {
            let quoted = serde_json::Value::from(String::from(letter)).to_string();
            quoted[1..quoted.len() - 1].to_owned()
        }
        Err(lone) => format!("\\u{:04x}", lone.unpaired_surrogate()),
    };
    let all: String = char::decode_utf16(units.iter().copied()).map(escaped).collect();
    format!("[\"{all}\"").into_bytes()
}

/// Units as texts have them: mostly of one alphabet, with escapes and surrogates among them.
fn units() -> impl Strategy<Value = Vec<u16>> {
    let unit = prop_oneof![
        8 => 0x20u16..0x7f,
        2 => prop::sample::select(vec![0x22u16, 0x5c, 0x0a, 0x09, 0x00, 0x1f, 0x7f, 0x80, 0x7ff, 0x800, 0x2028, 0xffff]),
        2 => 0x3040u16..0x30ff,
        1 => 0xd800u16..0xe000,
    ];
    prop::collection::vec(unit, 0..300)
}

proptest! {
    #[test]
    fn a_string_is_escaped_as_letter_by_letter(units in units()) {
        prop_assert_eq!(quoted(&units), letter_by_letter(&units));
    }
}

#[test]
fn pieces_join_wherever_they_are_cut() {
    for at in PIECE - 3..PIECE + 2 {
        for odd in [&[0xD83D, 0xDE00][..], &[0xD83D], &[0xDE00], &[0x22], &[0x3042]] {
            let mut units = vec![0x61; 2 * PIECE];
            units.splice(at..at, odd.iter().copied());
            assert_eq!(quoted(&units), letter_by_letter(&units), "{odd:?} at {at}");
        }
    }
    // One piece ends in a character, the next has a lone surrogate.
    let units = [vec![0xD83D; PIECE + 1], vec![0xDE00; 2]].concat();
    assert_eq!(quoted(&units), letter_by_letter(&units));
}
