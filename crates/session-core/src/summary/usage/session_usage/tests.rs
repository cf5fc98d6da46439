use std::io;

use proptest::prelude::*;

use super::*;
use crate::base::packed::{pack, unpack};
use crate::summary::line_scanner::tests::read_whole;
use crate::summary::session_summary::{read_on, SummaryProgress};
use crate::testing::tests::count;

const HEADER: &str = "{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n";

impl SessionUsage {
    /// The usage of a text, each line read as a whole: slow, but obviously correct.
    fn of_lines(text: &str, version: Version) -> SessionUsage {
        let mut usage = SessionUsage::default();
        let mut offset = 0;
        for line in text.split_inclusive('\n') {
            let end = offset + line.len() as u64;
            if offset > 0 {
                usage.add(&read_whole(line, (offset, end)), version).expect("memory");
            }
            offset = end;
        }
        usage.sort_largest();
        usage
    }
}

fn scan(text: &str, from: SummaryProgress) -> SummaryProgress {
    scan_with(text, from, &mut |_| Ok(()))
}

fn complete_lines(text: &str) -> SummaryProgress {
    let mut lines = SummaryProgress::default();
    scan_with(text, SummaryProgress::default(), &mut |complete| {
        lines = complete.clone();
        Ok(())
    });
    lines
}

fn scan_with(
    text: &str,
    from: SummaryProgress,
    complete: &mut dyn FnMut(&SummaryProgress) -> io::Result<()>,
) -> SummaryProgress {
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), text).expect("written");
    let read = read_on(file.as_file(), text.len() as u64, from, &mut Box::default(), &[], complete);
    read.expect("read").expect("not cancelled")
}

fn usage_of(lines: &[&str]) -> SessionUsage {
    scan(&format!("{HEADER}{}\n", lines.join("\n")), SummaryProgress::default()).usage.clone()
}

fn json(choices: &[&'static str]) -> impl Strategy<Value = &'static str> + Clone {
    prop::sample::select(choices.to_vec())
}

/// Valid entries with calls, and entries with errors.
fn lines() -> impl Strategy<Value = String> {
    let usage = json(&[
        r#"{"input":1,"output":2,"cacheRead":3,"cacheWrite":4,"totalTokens":10,"cost":{"input":0.1,"total":0.25}}"#,
        r#"{"input":1,"output":2,"cacheRead":3,"cacheWrite":4,"cost":{"total":0.25,"total":0.5}}"#,
        r#"{"input":"1","output":null,"cacheRead":-3,"cacheWrite":1e999,"c\u006fst":{"total":1e-7}}"#,
        r#"{"input":1.5,"audio":7,"cost":3}"#,
        "{}",
        "null",
        "[1]",
        "7",
        r#"{"input":tru}"#,
    ]);
    let time = json(&[
        "1735689600000",
        "\"2025-01-01T00:00:00.000Z\"",
        "\"2025-01-01T00:01:30.000Z\"",
        "\"Jan 5 2031\"",
        "null",
        "1e999",
        "{}",
    ]);
    let text = json(&["\"acme\"", "\"large\"", "\"\"", "\"l\\u0061rge\"", "7", "null", "\"é\"", "\"\\ud83d\""]);
    // The keys of an object are in their order, as those of the values to which they are compared.
    let details = json(&[
        r#"{"results":[{"sessionFile":"/a.jsonl"},"x"],"sessionId":"é\u0061\""}"#,
        r#"{"childSession\u0049d":"c","sessionFiles":["/b.jsonl",["/c.jsonl",{"sessionPath":"/d.jsonl","x":"e"}],7],"x":{"sessionIds":5}}"#,
        r#"["x",{"sessionId":"s"}]"#,
        r#""sessionId""#,
        "null",
    ]);
    let role = json(&["\"assistant\"", "\"assistant\"", "\"toolResult\"", "\"user\"", "\"assist\\u0061nt\"", "5"]);
    let kind = json(&[
        "\"message\"",
        "\"message\"",
        "\"usage\"",
        "\"compaction\"",
        "\"branch_summary\"",
        "\"custom\"",
        "\"session\"",
        "\"mess\\u0061ge\"",
        "7",
    ]);
    let id = json(&["\"id\":\"x\",", "\"id\":\"y\",", "\"id\":7,", ""]);
    let fields = (usage.clone(), text.clone(), text.clone(), details, 0..11).prop_map(
        |(usage, provider, model, details, form)| match form {
            0 => String::new(),
            1 => format!(",\"usage\":{usage}"),
            2 => format!(",\"usage\":{usage},\"usage\":null,\"model\":{model}"),
            3 => format!(",\"toolName\":{model},\"usage\":{usage}"),
            4 => format!(r#","details":{details},"usage":{usage}"#),
            5 => format!(",\"responseModel\":{provider},\"model\":{model},\"provider\":\"acme\",\"usage\":{usage}"),
            _ => format!(",\"provider\":{provider},\"model\":{model},\"usage\":{usage}"),
        },
    );
    let message = (role, time.clone(), fields.clone(), 0..6).prop_map(|(role, time, fields, form)| match form {
        0 => "5".to_owned(),
        1 => format!("{{\"role\":{role}{fields}}}"),
        _ => format!("{{\"role\":{role},\"content\":\"x\"{fields},\"timestamp\":{time}}}"),
    });
    let line = (kind, id, time, message, fields, 0..8).prop_map(|(kind, id, time, message, fields, form)| match form {
        0 => format!("{{\"type\":{kind},{id}\"timestamp\":{time},\"message\":{message}{fields}}}"),
        1 => format!("{{\"type\":{kind},{id}\"x\":0{fields}}}"),
        2 => format!("{{{id}\"timestamp\":{time}{fields},\"type\":{kind}}}"),
        3 => format!("{{\"type\":{kind},{id}\"message\":{message}}}"),
        4 => format!("{{\"type\":{kind},{id}\"timestamp\":{time}{fields}}}"),
        _ => format!("{{\"type\":{kind},{id}\"timestamp\":{time},\"message\":{message}}}"),
    });
    let other = json(&["", "torn {", "[1]", "{}", " ", "\r", "null"]).prop_map(str::to_owned);
    prop::collection::vec(prop_oneof![8 => line, 1 => other], 0..12).prop_map(|lines| lines.join("\n"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(count("session_lines")))]

    #[test]
    fn scanned_lines_tell_what_whole_lines_tell(body in lines(), ended in any::<bool>(), version in 1..4) {
        let mut text = format!("{{\"type\":\"session\",\"version\":{version},\"id\":\"s\"}}\n{body}");
        if ended {
            text.push('\n');
        }
        let found = scan(&text, SummaryProgress::default());
        let version = if version == 1 { Version::V1 } else { Version::Current };
        // Packed, because NaN times are not equal to themselves.
        let slowly = pack(&SessionUsage::of_lines(&text, version)).expect("memory");
        prop_assert_eq!(pack(&found.usage).expect("memory"), slowly.clone());
        prop_assert_eq!(unpack(&slowly).map(|usage: SessionUsage| pack(&usage).expect("memory")), Some(slowly.clone()));
        // Continuing from any line has the same result, with the earlier part packed as in the catalog.
        let cut = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').nth(text.len() % 7).map(|(at, _)| at + 1);
        let Some(cut) = cut else { return Ok(()) };
        let mut half = complete_lines(&text[..cut]);
        half.usage = unpack(&pack(&half.usage).expect("memory")).expect("as it was packed");
        prop_assert_eq!(pack(&scan(&text, half).usage).expect("memory"), slowly);
    }

    #[test]
    fn no_bytes_of_a_catalog_end_the_process(mut bytes in lines().prop_map(|body| pack(&SessionUsage::of_lines(&body, Version::V1)).expect("memory")), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let at = at.index(bytes.len());
        bytes[at] = byte;
        unpack::<SessionUsage>(&bytes);
        prop_assert_eq!(unpack::<SessionUsage>(&bytes[..at]), None);
    }
}

#[test]
fn copies_of_a_call_have_its_identity_whatever_their_ids() {
    let call = |id: &str, time: &str, model: &str, input: u32| {
        format!(
            r#"{{"type":"message","id":"{id}","timestamp":"{time}","message":{{"role":"assistant","provider":"p","model":"{model}","usage":{{"input":{input}}},"timestamp":5}}}}"#
        )
    };
    let one = "2025-01-01T00:00:00.000Z";
    let lines = [
        call("a", one, "m", 1),
        call("b", one, "m", 1),
        call("a", "2025-01-01T00:00:00.001Z", "m", 1),
        call("a", one, "n", 1),
        call("a", one, "m", 2),
    ];
    let usage = usage_of(&lines.each_ref().map(String::as_str));
    let identities: Vec<u64> = usage.calls.iter().map(|call| call.identity).collect();
    assert_eq!(identities[0], identities[1]);
    let different: std::collections::HashSet<_> = identities.iter().collect();
    assert_eq!((different.len(), usage.models.len()), (4, 2));
    // If there is no time, the id distinguishes calls.
    let untimed =
        |id: &str| format!(r#"{{"type":"usage","id":"{id}","provider":"p","model":"m","usage":{{"input":1}}}}"#);
    let usage = usage_of(&[&untimed("a"), &untimed("a"), &untimed("b")]);
    let [a, again, b] = &usage.calls[..] else { panic!("three calls") };
    assert_eq!((a.identity == again.identity, a.identity == b.identity), (true, false));
    assert!(a.errors.contains(CallErrors::NO_TIME) && a.errors.contains(CallErrors::MISSING));
}

#[test]
fn entries_bytes_and_the_largest_are_of_the_lines_in_the_file() {
    let entry = |id: &str, more: usize| format!(r#"{{"type":"label","id":"{id}","x":"{}"}}"#, "x".repeat(more));
    let lines = [entry("a", 10), entry("b", 500), entry("c", 10), "torn".to_owned()];
    let usage = usage_of(&lines.each_ref().map(String::as_str));
    let bytes: Vec<u64> = lines.iter().map(|line| line.len() as u64 + 1).collect();
    let largest: Vec<_> = usage.largest.iter().map(|large| (large.bytes, large.offset)).collect();
    let start = HEADER.len() as u64;
    assert_eq!(largest, [(bytes[1], start + bytes[0]), (bytes[0], start), (bytes[2], start + bytes[0] + bytes[1])]);
    assert_eq!((usage.damaged, usage.entries, usage.bytes), (1, 3, bytes[..3].iter().sum()));
}

#[test]
fn the_largest_of_many_are_kept_and_models_have_a_limit() {
    let lines: Vec<String> = (0..1_500)
        .map(|n| {
            let more = "x".repeat(n * 7919 % 1_500);
            format!(r#"{{"type":"usage","id":"a","provider":"p","model":"m{n}","usage":{{}},"x":"{more}"}}"#)
        })
        .collect();
    let text = format!("{HEADER}{}\n", lines.join("\n"));
    for keep in [0, 3, LARGEST_KEPT, 700, usize::MAX] {
        let from = SummaryProgress { usage: SessionUsage::keeping(keep), ..SummaryProgress::default() };
        let found: Vec<u64> = scan(&text, from).usage.largest.iter().map(|large| large.bytes).collect();
        let mut want: Vec<u64> = lines.iter().map(|line| line.len() as u64 + 1).collect();
        want.sort_unstable_by(|a, b| b.cmp(a));
        assert_eq!(found, want[..keep.min(want.len())]);
    }
    let usage = scan(&text, SummaryProgress::default()).usage.clone();
    let others = usage.calls.iter().filter(|call| call.model as usize == MAX_NAMES).count();
    assert_eq!((usage.models.len(), usage.models.last().map(Vec::as_slice)), (MAX_NAMES + 1, Some(OTHER)));
    assert_eq!((others, usage.entries), (500, 1_500));
}
