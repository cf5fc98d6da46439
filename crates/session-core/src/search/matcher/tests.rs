use super::*;

fn matched(query: &str, texts: &[&str]) -> Option<(MatchTier, String)> {
    let query = Query::new(query).expect("a query");
    let mark = ["[".into(), "]".into()];
    let mut matcher = Matcher::new(&query, &mark);
    matcher.begin();
    texts.iter().for_each(|text| matcher.add(text, TextScope::User).expect("memory"));
    matcher.finish().map(|found| (found.tier, found.snippet))
}

#[test]
fn the_exact_phrase_comes_before_words_and_words_before_parts() {
    for (query, text, want) in [
        ("red green", "see Red green.", Some(MatchTier::Exact)),
        ("red green", "green and red", Some(MatchTier::Words)),
        ("red green", "reddish green", Some(MatchTier::Parts)),
        ("red green", "rediscovered evergreen", Some(MatchTier::Parts)),
        ("red", "colored", Some(MatchTier::Parts)),
        ("red", "a red one", Some(MatchTier::Exact)),
        ("red", "blue", None),
        ("red", &format!("{} red", "colored ".repeat(100)), Some(MatchTier::Exact)),
        ("本", "日本語", Some(MatchTier::Exact)),
        (".", "a.b", Some(MatchTier::Exact)),
    ] {
        assert_eq!(matched(query, &[text]).map(|(tier, _)| tier), want, "{query} in {text}");
    }
}

#[test]
fn words_may_be_in_several_texts() {
    assert_eq!(matched("red green", &["so red", "greens"]), Some((MatchTier::Parts, "so [red]".into())));
    assert_eq!(matched("red green", &["so red", "blue"]), None);
    let found = matched("red green", &["green, red", "red green"]);
    assert_eq!(found, Some((MatchTier::Exact, "[red green]".into())));
}
