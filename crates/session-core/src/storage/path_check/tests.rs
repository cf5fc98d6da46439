use super::*;

#[test]
fn a_path_check_is_due_after_the_interval_and_when_the_clock_was_set_back() {
    const NOW: i64 = 1_000_000_000_000;
    let last = LastPathCheck::default();
    assert!(last.is_due(NOW), "there was none yet");
    last.note(NOW);
    let interval = CHECK_INTERVAL.as_nanos() as i64;
    assert!(!last.is_due(NOW + interval - 1));
    assert!(last.is_due(NOW + interval) && last.is_due(NOW - 1));
}
