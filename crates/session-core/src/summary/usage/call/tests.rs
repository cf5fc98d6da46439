use super::*;

fn scanned(text: &str) -> Option<(Amounts, CallErrors)> {
    scan_usage(&mut Scanner::new(text.as_bytes())).expect("JSON")
}

#[test]
fn amounts_are_read_and_what_is_wrong_is_left_out() {
    let whole =
        r#"{"input":1,"output":2.5,"cacheRead":3,"cacheWrite":4,"totalTokens":9,"cost":{"input":1,"total":0.1}}"#;
    let amounts = Amounts { input: 1.0, output: 2.5, cache_read: 3.0, cache_write: 4.0, cost: 0.1 };
    assert_eq!(scanned(whole), Some((amounts, CallErrors::default())));
    let only_output = Amounts { output: 7.0, ..Amounts::default() };
    for (text, errors) in [
        (r#"{"output":7}"#, CallErrors::MISSING.0),
        (r#"{"input":null,"output":7,"cacheRead":0,"cacheWrite":0,"cost":{}}"#, CallErrors::MISSING.0),
        (r#"{"input":"5","output":7,"cacheRead":0,"cacheWrite":-0,"cost":{"total":0}}"#, CallErrors::NOT_A_NUMBER.0),
        (r#"{"input":-5,"output":7,"cacheRead":1e999,"cacheWrite":0,"cost":5}"#, 4 | 8 | 16),
        (r#"{"input":0,"outp\u0075t":7,"cacheRead":0,"cacheWrite":0,"cost":{"total":0},"audio":5}"#, 32),
        (r#"{"input":3,"input":0,"output":7,"cacheRead":0,"cacheWrite":0,"cost":{"total":9,"total":0},"audio":{}}"#, 0),
    ] {
        assert_eq!(scanned(text), Some((only_output, CallErrors(errors))), "{text}");
    }
    let none = Some((Amounts::default(), CallErrors::NO_USAGE));
    assert_eq!((scanned("null"), scanned("[1]"), scanned("5")), (None, none, none));
    assert!(scan_usage(&mut Scanner::new(&br#"{"input":1"#[..])).is_err());
}

/// Regression: a number of hundreds of digits made a sum infinite.
#[test]
fn a_number_of_hundreds_of_digits_is_left_out_of_a_sum() {
    let digits = "9".repeat(400);
    let text = format!(r#"{{"input":{digits},"output":7,"cacheRead":0,"cacheWrite":0,"cost":{{"total":0}}}}"#);
    let amounts = Amounts { output: 7.0, ..Amounts::default() };
    assert_eq!(scanned(&text), Some((amounts, CallErrors::INFINITE)));
}

#[test]
fn times_are_numbers_or_iso_texts() {
    assert_eq!((time(b"5.7"), time(b"\"1970-01-01T00:00:00.005Z\"")), (Some(5.0), Some(5.0)));
    for none in [&b"\"Jan 5 2031\""[..], b"null", b"1e300", b"{}", b"\"5\"", b"true"] {
        assert_eq!(time(none), None);
    }
}
