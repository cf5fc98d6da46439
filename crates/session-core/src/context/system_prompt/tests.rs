use super::*;

/// Regression: the time of a replay grew with the square of the sections and tools. 20,000 took ten times as long as in
/// pi, and 300,000 did not end.
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
