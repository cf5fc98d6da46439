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

/// Units as in real texts: mostly of one alphabet, with some escapes and surrogates.
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

/// Runs of letters that need one, two and three bytes, of surrogates, and of characters that must be escaped.
fn runs() -> impl Strategy<Value = Vec<u16>> {
    let run = |unit: std::ops::RangeInclusive<u16>, most| prop::collection::vec(unit, 0..most);
    let run = prop_oneof![
        run(0x20..=0x7F, 70),
        run(0..=0x7F, 40),
        run(0x80..=0x7FF, 40),
        run(0x800..=0xD7FF, 40),
        run(0xD7FF..=0xE000, 4),
        run(0xE000..=0xFFFF, 40)
    ];
    prop::collection::vec(run, 0..12).prop_map(|runs| runs.concat())
}

proptest! {
    #[test]
    fn runs_are_escaped_as_letter_by_letter(units in runs()) {
        prop_assert_eq!(quoted(&units), letter_by_letter(&units));
    }
}

#[test]
fn pieces_join_wherever_they_are_cut() {
    for before in PIECE - ROOM - 2 * BLOCK..PIECE + 2 {
        for odd in [&[0xD83D, 0xDE00][..], &[0xD83D], &[0xDE00], &[0x22], &[0x3042], &[0xE9]] {
            let units = [&vec![0x61; before], odd, &[0x62; 2 * BLOCK]].concat();
            assert_eq!(quoted(&units), letter_by_letter(&units), "{odd:?} at {before}");
        }
    }
}

#[test]
fn each_unit_is_written_in_every_place_of_a_block() {
    for unit in (0..=0xFFFFu16).step_by(7).chain(0..0x100).chain([0x7FF, 0x800, 0xD7FF, 0xD800, 0xDFFF, 0xE000]) {
        for other in [0x61, 0xE9, 0x3042] {
            let mut units = [other; 3 * BLOCK];
            let at = usize::from(unit) % BLOCK;
            units[at] = unit;
            units[2 * BLOCK + at] = unit;
            assert_eq!(quoted(&units), letter_by_letter(&units), "{unit:x} among {other:x} at {at}");
        }
    }
}
