use super::*;

#[test]
fn sequences_are_taken_out_and_nothing_else() {
    for (text, plain) in [
        ("plain", "plain"),
        ("", ""),
        ("\u{1b}[32m✓ \u{1b}[39mdone \u{1b}[33m33\u{1b}[39m\u{1b}[1mms", "✓ done 33ms"),
        ("\u{1b}[38;2;1;2;3mx\u{1b}[0m\u{1b}[?25l\u{1b}[2J", "x"),
        ("\u{1b}]8;;https://a.b/c\u{1b}\\link\u{1b}]8;;\u{7} after", "link after"),
        ("\u{1b}(B\u{1b}[mreset\u{1b}7\u{1b}8", "reset"),
        ("\u{1b}Pq#0\u{1b}\\é", "é"),
        ("cut \u{1b}[3", "cut \u{1b}[3"),
        ("\u{1b}[3é", "\u{1b}[3é"),
        ("\u{1b}]0;title\nline", "\u{1b}]0;title\nline"),
        ("\u{1b} text \u{1b}", "\u{1b} text \u{1b}"),
        ("\u{1b}\u{1b}[1mx", "\u{1b}x"),
    ] {
        assert_eq!(without_sequences(text).expect("memory"), plain, "{text:?}");
        assert_eq!(wtf8_without_sequences(text.as_bytes()).expect("memory"), plain.as_bytes(), "{text:?}");
    }
}
