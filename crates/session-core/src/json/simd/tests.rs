use super::*;
use crate::testing::tests::count;
use proptest::prelude::*;

/// Bytes that resemble a string, with quotes, backslashes and control characters at any distance.
fn near_string() -> impl Strategy<Value = Vec<u8>> {
    let plain = (0usize..70).prop_map(|size| vec![b'x'; size]);
    let piece = prop_oneof![
        6 => plain,
        3 => (1usize..9).prop_map(|size| vec![b'\\'; size]),
        2 => prop::sample::select(vec!["\"", "n", "u00e9", "\\n", "\\ud83d", "\\u12", "é", "\\\"", "b", "ux"])
            .prop_map(|text| text.as_bytes().to_vec()),
        1 => any::<u8>().prop_map(|byte| vec![byte]),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(count("json_strings")))]

    #[test]
    fn blocks_agree_with_single_bytes(bytes in near_string(), from in 0usize..3) {
        // Not after a backslash, because the caller must not start there.
        let from = if bytes.get(..from).is_some_and(|before| !before.contains(&b'\\')) { from } else { 0 };
        let want = bytewise(&bytes, from);
        // If the bytes end before the string, one of them may stop sooner and continue there.
        match skip_string(&bytes, from) {
            Skipped::Open(at) => prop_assert_eq!(bytewise(&bytes, at), want),
            found => prop_assert_eq!(found, want),
        }
    }

    /// The fast path for short strings ends at the same byte as the other.
    #[test]
    fn short_strings_end_where_long_ones_do(text in "[ -~é\"\\\\\u{0}-\u{1f}]{0,24}", rest in "[a\"]{0,40}") {
        let bytes = format!("{text}{rest}");
        let end = bytes.bytes().position(|byte| byte == b'"' || byte == b'\\' || byte < 0x20);
        let end = end.filter(|&end| end < 16 && bytes.len() >= 16 && bytes.as_bytes()[end] == b'"').map(|end| end + 1);
        prop_assert_eq!(short_end(bytes.as_bytes(), 0), end);
        if let Some(end) = short_end(bytes.as_bytes(), 0) {
            prop_assert_eq!(skip_string(bytes.as_bytes(), 0), Skipped::Closed(end));
            prop_assert!(end <= 16 && !bytes.as_bytes()[..end].contains(&b'\\'));
        }
    }
}

#[test]
fn every_byte_after_a_backslash_is_checked() {
    for byte in 0..=255u8 {
        let mut bytes = vec![b'x'; 100];
        bytes.extend([b'\\', byte]);
        bytes.extend(b"0041 and so on, for longer than a block has room, so that nothing is padded at all\"");
        let good = b"\"\\/bfnrtu".contains(&byte);
        assert_eq!(skip_string(&bytes, 0) != Skipped::Bad(101), good, "{byte}");
    }
}
