use proptest::prelude::*;

use super::*;
use crate::base::error::ErrorCode;
use crate::format::header::Version;
use crate::listing::usage::calendar::Period;
use crate::summary::line_scanner::tests::read_whole;
use crate::summary::usage::session_usage::SessionUsage;

const HOUR: f64 = 3_600_000.0;

/// A call from its hour, model and cost. Two calls with the same values are copies of each other.
fn call(id: &str, hour: u32, model: &str, cost: &str) -> String {
    format!(
        r#"{{"type":"message","id":"{id}","message":{{"role":"assistant","provider":"p","model":"{model}","usage":{{"input":1,"output":2,"cacheRead":3,"cacheWrite":4,"cost":{{"total":{cost}}}}},"timestamp":{}}}}}"#,
        f64::from(hour) * HOUR
    )
}

fn session(path: &str, created: f64, lines: &[String]) -> UsageSession {
    let mut usage = SessionUsage::default();
    let mut offset = 0;
    for line in lines {
        let end = offset + line.len() as u64 + 1;
        usage.add(&read_whole(line, (offset, end)), Version::Current).expect("memory");
        offset = end;
    }
    usage.sort_largest();
    let text = |text: &str| text.as_bytes().to_vec();
    UsageSession {
        path: path.into(),
        id: text(path),
        cwd: text("/c"),
        title: text("t"),
        created,
        usage,
        owner: None,
        in_subagents: Default::default(),
    }
}

fn options(by: &[Grouping]) -> ReportOptions {
    ReportOptions { since: f64::NEG_INFINITY, until: f64::INFINITY, by: by.to_vec(), largest: 10 }
}

/// The report over sessions in any order.
fn reported(mut sessions: Vec<UsageSession>, options: &ReportOptions) -> Report {
    sort_sessions(&mut sessions);
    report(&sessions, Vec::new(), &Calendar::Utc, options, &|_, _| None).expect("memory")
}

/// The rows of a grouping: key, calls and cost.
fn rows(report: &Report, at: usize) -> Vec<(String, u64, f64)> {
    let (_, rows) = &report.by[at];
    let key = |row: &UsageRow| String::from_utf8_lossy(&row.key.0).into_owned();
    rows.iter().map(|row| (key(row), row.sum.calls, row.sum.amounts.cost)).collect()
}

/// Regression: a call in a damaged row of the catalog counted for the first model.
#[test]
fn a_call_of_a_model_that_is_not_there_is_an_internal_error() {
    let mut session = session("/s/a", 1.0, &[call("a", 1, "m", "0.5")]);
    assert!(session.usage.is_consistent());
    session.usage.models.clear();
    // Then the row of the catalog is ignored.
    assert!(!session.usage.is_consistent());
    let error = report(&[session], Vec::new(), &Calendar::Utc, &options(&[]), &|_, _| None).expect_err("no such model");
    assert_eq!(error.code(), ErrorCode::Internal);
}

/// Regression: a year beyond 9999 came before all others.
#[test]
fn years_beyond_9999_come_after_all_others() {
    let year = 365.25 * 24.0;
    let lines = [9_000.0, 1.0, -3_000.0, 200.0]
        .map(|years: f64| call("a", 0, "m", "1").replace(":0}}", &format!(":{}}}}}", (years * year).trunc() * HOUR)));
    let untimed = r#"{"type":"usage","id":"u","provider":"p","model":"m","usage":{}}"#.to_owned();
    let lines: Vec<String> = lines.into_iter().chain([untimed]).collect();
    let periods = [Period::Day, Period::Month].map(Grouping::Period);
    let report = reported(vec![session("/a", 1.0, &lines)], &options(&periods));
    for (at, length) in [6, 3].into_iter().enumerate() {
        let names: Vec<String> = rows(&report, at).into_iter().map(|(name, ..)| name).collect();
        assert_eq!(names[0], "(no date)");
        let years: Vec<&str> = names[1..].iter().map(|name| &name[..name.len() - length]).collect();
        assert_eq!(years, ["-001031", "1971", "2170", "+010970"]);
    }
}

#[test]
fn entries_bytes_and_the_largest_are_of_all_sessions() {
    let entry = |minute: u32, more: usize| {
        format!(
            r#"{{"type":"custom","id":"i","timestamp":"2025-01-01T00:{minute:02}:00.000Z","x":"{}"}}"#,
            "x".repeat(more)
        )
    };
    let a = session("/a", f64::NAN, &[entry(3, 5), entry(1, 50)]);
    let b = session("/b", 5.0, &[entry(2, 500), call("c", 1, "m", "1")]);
    let report = reported(vec![a, b], &ReportOptions { largest: 2, ..options(&[]) });
    let sizes: Vec<u64> = report.largest.iter().map(|entry| entry.bytes).collect();
    let bytes = |more| entry(1, more).len() as u64 + 1;
    let call_bytes = call("c", 1, "m", "1").len() as u64 + 1;
    assert_eq!(sizes, [bytes(500), call_bytes]);
    let custom = bytes(5) + bytes(50) + bytes(500);
    assert_eq!((report.entries, report.bytes), (4, custom + call_bytes));
}

proptest! {
    /// Rows add up to the total, and the order of the files changes no bit.
    #[test]
    fn sums_do_not_depend_on_the_order_of_files(
        files in prop::collection::vec(prop::collection::vec((0u32..60, 0usize..3, 0u32..5), 0..8), 1..5),
        first in any::<prop::sample::Index>(),
    ) {
        let line = |(hour, model, cost): &(u32, usize, u32)| call("i", *hour, ["m", "n", "é"][*model], &format!("0.{cost}1"));
        let all: Vec<_> = files.iter().enumerate().map(|(at, calls)| {
            let lines: Vec<String> = calls.iter().map(line).collect();
            (format!("/s/{at}"), (at % 2) as f64, lines)
        }).collect();
        let by = [Grouping::Model, Grouping::Period(Period::Week), Grouping::Period(Period::Month), Grouping::Project, Grouping::Session];
        let run = |from: usize| {
            let order = all.iter().cycle().skip(from).take(all.len());
            reported(order.map(|(path, created, lines)| session(path, *created, lines)).collect(), &options(&by))
        };
        let (one, other) = (run(0), run(first.index(all.len())));
        prop_assert_eq!(format!("{one:?}"), format!("{other:?}"));
        // Each distinct call is counted as often as it occurs in the file where it occurs most.
        let mut most = std::collections::HashMap::new();
        for calls in &files {
            for call in calls {
                let times = calls.iter().filter(|other| *other == call).count() as u64;
                let entry = most.entry(*call).or_insert(0);
                *entry = times.max(*entry);
            }
        }
        prop_assert_eq!(one.total.calls, most.values().sum::<u64>());
        for (_, rows) in &one.by {
            prop_assert_eq!(rows.iter().map(|row| row.sum.calls).sum::<u64>(), one.total.calls);
        }
    }
}
