use super::*;
use crate::base::escape_sequences::without_sequences;
use crate::base::fold::{fold, folded};
use crate::json::string_bytes;
use proptest::prelude::*;

/// A character in one of the forms that JSON allows.
fn written() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => prop::sample::select(vec!["a", "K", "\u{212a}", "s", "ſ", "Σ", "ς", "é", "É", "日", "🙂", "\\n", "\\\"", "\\\\", "\\/", "/", " ", "ı", "İ"]).prop_map(str::to_owned),
        2 => prop::sample::select(vec!['a', 'K', '\u{212a}', 'ſ', 'Σ', 'é', '日', '\n', '"', '\\', '\0']).prop_map(|c| format!("\\u{:04x}", c as u32)),
        1 => prop::sample::select(vec!['A', 'k', '日', 'É', '\u{1f}']).prop_map(|c| format!("\\u{:04X}", c as u32)),
        1 => Just("\\ud83d\\ude42".to_owned()),
        1 => Just("\\uD83D".to_owned()),
        1 => Just("\u{fffd}".to_owned()),
        4 => prop::sample::select(vec!["[32m", "[0m", "[38;5;1m", "(B", "]8;;x\\u0007", "]0;x\\u001b\\\\", "[1\\\"q", "7", "[", "]x", "[1", "\\u005bm"])
            .prop_map(|rest| format!("\\u001b{rest}")),
        1 => Just("\\u001B[1m".to_owned()),
    ]
}

proptest! {
    #[test]
    fn no_text_that_holds_the_words_is_missed(
        pieces in prop::collection::vec(written(), 1..12),
        from in 0usize..12,
        length in 1usize..5,
        upper in any::<bool>(),
    ) {
        let json = format!("\"{}\"", pieces.concat());
        let text = string_bytes(&json).expect("memory").expect("a string");
        let text = crate::base::wtf8::to_string_lossy(&text).into_owned();
        let text = without_sequences(&text).expect("memory");
        let part: String = text.chars().skip(from).take(length).collect();
        let part = if upper { part.to_uppercase() } else { part };
        let word = folded(&part);
        if !word.is_empty() && folded(&text).contains(&word) {
            let filter = Prefilter::of(&[word]).expect("a filter");
            prop_assert!(filter.candidates(json.as_bytes()).next(0).is_some(), "{part:?} in {json}");
        }
    }
}

#[test]
fn a_folded_character_is_looked_for_in_every_case() {
    let mut missed: Vec<char> = (0..=0x2_ffff).filter_map(char::from_u32).collect();
    missed.retain(|c| fold(*c) != *c && !variants(fold(*c)).contains(c));
    assert_eq!(missed, []);
}

#[test]
fn escapes_of_other_characters_are_no_candidates() {
    let filter = Prefilter::of(&["panic".into()]).expect("a filter");
    for (json, is_candidate) in [
        (r#""no \u001b[31m such""#, false),
        (r#""PaNiC""#, true),
        (r#""p\u0061nic""#, true),
        (r#""p\u0041nic""#, true),
        (r#""pan\nic""#, false),
        (r#""\u006"#, false),
        (r#""\u001b[1mpan\u001b[0mda""#, false),
        (r#""pan\u001b[31m\u001b(Bic""#, true),
        (r#""pa\u001B]8;;http://a.b\u0007nic""#, true),
        (r#""pan da \u001b[31mnip\u001b[31m ic""#, false),
    ] {
        assert_eq!(filter.candidates(json.as_bytes()).next(0).is_some(), is_candidate, "{json}");
    }
}
