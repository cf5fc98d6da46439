use super::*;
use crate::base::fold::folded;

fn of(text: &str, terms: &[&str]) -> String {
    snippet(text, &folded(text), terms, &["[".into(), "]".into()])
}

#[test]
fn a_match_is_marked_in_the_letters_of_the_text() {
    assert_eq!(of("Say Hello\n\n  to İstanbul", &["hello", "istanbul"]), "Say [Hello] to İstanbul");
    assert_eq!(of("ΟΔΟΣ x", &["οδοσ"]), "[ΟΔΟΣ] x");
    assert_eq!(of("ⱥⱥ Ⱥ ȺB\u{212a}", &["ⱥbk"]), "ⱥⱥ Ⱥ [ȺB\u{212a}]");
    assert_eq!(of("日本語のテスト", &["本語"]), "日[本語]のテスト");
    assert_eq!(of("aaa", &["aa", "aaa"]), "[aa][a]");
}

/// Regression: each hit was compared with all others.
#[test]
fn the_place_with_most_terms_is_found_in_one_pass() {
    use proptest::prelude::*;
    let plainly = |matches: &[(usize, usize, usize)]| {
        let together = |from: usize| {
            let near = matches.iter().filter(|(at, ..)| (from..from + AFTER).contains(at));
            near.map(|(.., which)| which).collect::<std::collections::HashSet<_>>().len()
        };
        matches.iter().map(|(at, ..)| *at).rev().max_by_key(|at| together(*at)).unwrap_or(0)
    };
    proptest!(|(mut matches in proptest::collection::vec((0_usize..900, 0_usize..3, 0_usize..9), 0..80))| {
        matches.sort_unstable();
        prop_assert_eq!(most_together(&matches, 9), plainly(&matches));
    });
    // With all comparisons this would take hours.
    let mut many: Vec<_> = (0..1_000_000).map(|at| (at, at + 1, 0)).collect();
    many.push((2_000_000, 2_000_001, 1));
    many.push((2_000_000 + AFTER - 1, 2_000_001, 0));
    assert_eq!(most_together(&many, 2), 2_000_000);
}

#[test]
fn the_middle_of_a_long_text_is_cut_out() {
    let text = format!("{}needle and thread {}needle", "x ".repeat(300), "é ".repeat(300));
    let shown = of(&text, &["thread", "needle"]);
    assert!(shown.starts_with("…x x") && shown.contains("[needle] and [thread]") && shown.ends_with('…'), "{shown}");
    assert!(shown.chars().count() < BEFORE + AFTER + 8);
}
