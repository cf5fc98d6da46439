use super::*;

fn message(text: &str, sections: &[(&str, Option<u8>)], removed: &[&str], added: &[(&str, u8)]) -> SystemMessage<u8> {
    let name = |name: &str| name.as_bytes().to_vec();
    SystemMessage {
        text: name(text),
        sections: sections.iter().map(|(n, value)| (name(n), *value)).collect(),
        removed: removed.iter().map(|n| name(n)).collect(),
        added: added.iter().map(|(n, tool)| (name(n), *tool)).collect(),
        date: Date::Given,
    }
}

#[test]
fn later_messages_patch_earlier_ones() {
    let all = replay([
        message("a", &[("x", Some(1)), ("y", Some(2))], &[], &[("read", 1), ("write", 2)]),
        message("", &[("x", Some(3)), ("y", None)], &["read"], &[("read", 4), ("write", 5)]),
        message("b", &[("y", Some(6))], &[], &[]),
    ])
    .expect("memory")
    .expect("messages");
    assert_eq!(all.content, b"a\n\nb");
    assert_eq!(all.sections, [(b"x".to_vec(), 3), (b"y".to_vec(), 6)]);
    assert_eq!(all.tools, [(b"write".to_vec(), 5), (b"read".to_vec(), 4)]);
    assert!(replay(Vec::<SystemMessage<u8>>::new()).expect("memory").is_none());
    let undated = SystemMessage { date: Date::Missing, ..message("a", &[], &[], &[]) };
    assert!(replay([undated]).expect("memory").is_none());
}

/// Regression: the time of a replay grew with the square of its sections and tools.
/// 20,000 took ten times as long as pi, and 300,000 did not end.
#[test]
fn the_time_of_a_replay_is_linear_in_its_sections_and_tools() {
    let name = |n: usize| n.to_string().into_bytes();
    let messages = (0..300_000).map(|n| SystemMessage {
        text: Vec::new(),
        sections: vec![(name(n), Some(n)), (name(n / 2), (n % 4 > 0).then_some(n))],
        removed: vec![name(n.wrapping_sub(3))],
        added: vec![(name(n), n), (name(n / 2), n)],
        date: Date::Given,
    });
    let all = replay(messages).expect("memory").expect("messages");
    assert!(all.sections.len() > 100_000 && all.tools.len() > 100_000);
}

#[test]
fn what_was_removed_comes_back_after_the_others() {
    let all = replay([
        message("", &[("x", Some(1)), ("y", Some(2))], &[], &[("a", 1), ("b", 2)]),
        message("", &[("x", None), ("x", Some(3)), ("z", None)], &["a", "none"], &[("a", 3)]),
    ])
    .expect("memory")
    .expect("messages");
    assert_eq!(all.sections, [(b"y".to_vec(), 2), (b"x".to_vec(), 3)]);
    assert_eq!(all.tools, [(b"b".to_vec(), 2), (b"a".to_vec(), 3)]);
}
