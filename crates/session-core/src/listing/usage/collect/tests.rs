use super::*;
use crate::base::paths::tests::Fixed;

/// Regression: the caller had to remove the sessions of other working directories.
#[test]
fn the_sessions_of_a_working_directory_are_those_of_its_list() {
    let dir = tempfile::tempdir().expect("a directory");
    for cwd in ["here", "there"] {
        let header = format!(r#"{{"type":"session","version":3,"id":"{cwd}","cwd":"/{cwd}"}}"#);
        std::fs::write(dir.path().join(format!("{cwd}.jsonl")), header + "\n").expect("written");
    }
    let ids = |cwd: Option<&str>| {
        let dir = dir.path().to_str().expect("text").to_owned();
        let collection = Collection {
            source: &UsageSource::Sessions(ListScope::dir(dir, cwd.map(str::to_owned))),
            process: &Fixed,
            location: None,
            largest: 0,
            cancelled: &AtomicBool::new(false),
            progress: &|_, _| {},
        };
        let collected = collection.run().expect("read").expect("not cancelled");
        collected.sessions.into_iter().map(|session| session.id).collect::<Vec<_>>()
    };
    assert_eq!(ids(None), [b"here".to_vec(), b"there".to_vec()]);
    assert_eq!(ids(Some("/there")), [b"there".to_vec()]);
}

/// Regression: files of other programs were read to their end, each time and after an abort.
#[test]
fn the_format_of_a_large_file_is_recognized_by_its_beginning() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("transcript.jsonl");
    let line = "{\"type\":\"user\",\"parentUuid\":null,\"isSidechain\":false}\n";
    let entry = "{\"type\":\"message\",\"id\":\"a\",\"message\":{\"role\":\"user\",\"content\":\"x\"}}\n";
    std::fs::write(&path, line.repeat(2000) + entry).expect("written");
    assert!(Survey::of_beginning(&path).expect("read").bytes <= 64 << 10);
    let file = candidate(path.to_str().expect("text"), "/");
    let left_out = left_out(&file, false).expect("left out");
    assert_eq!(left_out.other_format, Some(crate::format::other_format::OtherFormat::ClaudeCode));
}

/// Regression: a call that was already subtracted from one result was also subtracted from a result that names a
/// missing session. So the report showed 0.9 in place of 1.2. A fork contains copies of both results.
#[test]
fn a_call_explains_only_one_result_also_in_a_fork() {
    let dir = tempfile::tempdir().expect("a directory");
    let header = |id: &str, day: u32| {
        let time = format!("2025-01-0{day}T00:00:00.000Z");
        format!("{{\"type\":\"session\",\"version\":3,\"id\":\"{id}\",\"timestamp\":\"{time}\",\"cwd\":\"/c\"}}\n")
    };
    let message = |id: &str, hour: u32, cost: f64, more: &str| {
        let time = 1_735_689_600_000_u64 + u64::from(hour) * 3_600_000;
        let usage = format!("\"usage\":{{\"cost\":{{\"total\":{cost}}}}},\"timestamp\":{time}");
        format!("{{\"type\":\"message\",\"id\":\"{id}\",\"message\":{{{more},{usage}}}}}\n")
    };
    let answer = "\"role\":\"assistant\",\"provider\":\"p\",\"model\":\"m\"";
    let result =
        |ids: &str| format!("\"role\":\"toolResult\",\"toolName\":\"t\",\"details\":{{\"sessionIds\":[{ids}]}}");
    let lines = message("m", 1, 0.1, answer)
        + &message("r1", 50, 0.8, &result("\"A\",\"B\""))
        + &message("r2", 60, 0.4, &result("\"A\""));
    let write = |name: &str, text: String| std::fs::write(dir.path().join(name), text).expect("written");
    write("main.jsonl", header("main", 1) + &lines);
    write("A.jsonl", header("A", 2) + &message("a1", 40, 0.5, answer) + &message("a2", 55, 0.4, answer));
    write("fork.jsonl", header("fork", 5) + &lines);
    let path = dir.path().to_str().expect("text").to_owned();
    let collection = Collection {
        source: &UsageSource::Sessions(ListScope::dir(path, None)),
        process: &Fixed,
        location: None,
        largest: 0,
        cancelled: &AtomicBool::new(false),
        progress: &|_, _| {},
    };
    let collected = collection.run().expect("read").expect("not cancelled");
    let rests = |id: &str| {
        let session = collected.sessions.iter().find(|session| session.id == id.as_bytes()).expect("collected");
        [1, 2].map(|call| session.in_subagents.get(&call).map(|rest| (rest.cost * 10.0).round()))
    };
    assert_eq!([rests("main"), rests("fork")], [[Some(3.0), Some(0.0)]; 2]);
}
