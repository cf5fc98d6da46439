use super::*;
use std::cell::{Cell, RefCell};

thread_local! {
    static CHOSEN: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Uses these ids, from the last to the first, as the next ids of this thread in place of random ones.
pub(crate) fn choose(ids: &[&str]) {
    CHOSEN.with(|chosen| *chosen.borrow_mut() = ids.iter().map(|id| (*id).to_owned()).collect());
}

pub(crate) fn chosen() -> Option<String> {
    CHOSEN.with(|chosen| chosen.borrow_mut().pop())
}

#[test]
fn a_full_uuid_comes_after_a_hundred_collisions() {
    let tries = Cell::new(0);
    let id = short_entry_id(|_| {
        tries.set(tries.get() + 1);
        true
    });
    assert_eq!((tries.get(), id.len()), (100, 36));
}

#[test]
fn session_ids_are_v7_and_sort_even_when_the_clock_goes_back() {
    let times = [1_700_000_000_000.0, 1_700_000_000_000.0, 1_600_000_000_000.0, 1_700_000_000_001.0];
    let ids: Vec<_> = times.iter().cycle().take(1000).map(|&ms| session_id(ms)).collect();
    assert!(ids.iter().all(|id| id.len() == 36 && id.as_bytes()[14] == b'7'));
    assert!(ids.windows(2).all(|pair| pair[0] < pair[1]));
}
