use super::*;
use crate::json::reader::is_json;
use proptest::prelude::*;

fn scanned(line: &[u8]) -> HeaderLine {
    LineScanner::for_header(line).header_line().expect("no error")
}

/// The class of a line, read as a whole.
fn read_whole(line: &[u8]) -> HeaderLine {
    let text = String::from_utf8_lossy(line);
    match is_json(&text) {
        false => HeaderLine::NoJson,
        true => Header::read(&text).expect("memory").map_or(HeaderLine::Other, HeaderLine::Header),
    }
}

fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => Just("\"session\"".to_owned()),
        1 => Just("\"sess\\u0069on\"".to_owned()),
        1 => Just("\"/a/b\"".to_owned()),
        1 => Just("\"\\ud83d\"".to_owned()),
        1 => Just("3".to_owned()),
        1 => Just("null".to_owned()),
        1 => Just("[1,{\"id\":\"x\"}]".to_owned()),
        1 => Just("{\"type\":\"session\"}".to_owned()),
        1 => Just("\"torn".to_owned()),
        1 => Just("01".to_owned()),
        1 => (5_000usize..20_000).prop_map(|size| format!("\"{}\"", "x".repeat(size))),
    ]
}

fn key() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        4 => Just("\"type\""),
        4 => Just("\"id\""),
        1 => Just("\"version\""),
        1 => Just("\"cwd\""),
        1 => Just("\"timestamp\""),
        1 => Just("\"parentSession\""),
        1 => Just("\"branchedFrom\""),
        1 => Just("\"i\\u0064\""),
        1 => Just("\"other\""),
        1 => Just("\"__proto__\""),
    ]
}

proptest! {
    #[test]
    fn a_skimmed_header_is_what_the_whole_line_says(
        fields in proptest::collection::vec((key(), value()), 0..6),
        around in (prop_oneof![Just(""), Just(" \t"), Just("{"), Just("["), Just("\u{feff}")], prop_oneof![3 => Just(""), 1 => Just("\r"), 1 => Just("x"), 1 => Just("}")]),
    ) {
        let fields: Vec<_> = fields.iter().map(|(key, value)| format!("{key} : {value}")).collect();
        let line = format!("{}{{{}}}{}", around.0, fields.join(" , "), around.1);
        prop_assert_eq!(scanned(line.as_bytes()), read_whole(line.as_bytes()));
        let cut = line.len() / 2;
        prop_assert_eq!(scanned(&line.as_bytes()[..cut]), read_whole(&line.as_bytes()[..cut]));
    }
}

#[test]
fn what_is_not_an_object_is_not_a_header() {
    for (line, want) in [
        (&b""[..], HeaderLine::NoJson),
        (b"\0\0\0", HeaderLine::NoJson),
        (b"5", HeaderLine::Other),
        (b"\"text\"", HeaderLine::Other),
        (b"[{\"type\":\"session\",\"id\":\"a\"}]\n", HeaderLine::Other),
        (
            b"{\"type\":\"session\",\"id\":\"\xff\"} \n",
            HeaderLine::Header(
                Header::read("{\"type\":\"session\",\"id\":\"\u{fffd}\"}").expect("memory").expect("a header"),
            ),
        ),
    ] {
        assert_eq!(scanned(line), want, "{line:?}");
    }
}
