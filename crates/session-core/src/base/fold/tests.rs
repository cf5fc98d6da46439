use super::*;
use proptest::prelude::*;

#[test]
fn letters_that_share_a_case_are_one() {
    for same in ["sSſ", "kK\u{212a}", "σΣς", "µμΜ", "åÅ\u{212b}", "ǆǅǄ", "ßẞ", "θΘϑϴ", "\u{1fd3}\u{390}", "Ꭰꭰ", "ᲀвВ"]
    {
        assert!(same.chars().all(|c| Some(fold(c)) == same.chars().next().map(fold)), "{same}");
    }
    assert_eq!(["ı", "İ", "i"].map(folded), ["ı", "İ", "i"]);
}

#[test]
fn characters_without_cases_are_themselves() {
    for c in ('\u{80}'..=char::MAX).filter(|c| fold(*c) == *c && !matches!(c, '\u{130}' | '\u{131}' | '\u{fb06}')) {
        let upper = one_or(c, c.to_uppercase());
        assert_eq!(one_or(upper, upper.to_lowercase()), c, "{c:?}");
    }
}

proptest! {
    #[test]
    fn a_text_is_folded_character_by_character(text in "[a-zA-Z .ÄÖßİΣςκ日本🙂\u{130}\u{212a}]{0,40}") {
        let mut out = "used before".to_owned();
        fold_into(&text, &mut out).expect("memory");
        prop_assert_eq!(out, folded(&text));
    }
}
