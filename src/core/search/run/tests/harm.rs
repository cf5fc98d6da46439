//! Bits that flip in the catalog's file.

use super::*;

/// Words, parts of them, and what no text holds.
const QUERIES: [&str; 7] = ["needle", "eedl", "lpha3x1", "beta gamma", "gam", "日本", "nowhere"];

fn said() -> Store {
    let store = Store::new();
    for name in 0..4 {
        let texts: Vec<String> =
            (0..30).map(|n| format!("alpha{name}x{n} beta gamma{n} needle{} 日本語 w{}", n % 3, name * n)).collect();
        store.say(&format!("s{name}"), &texts);
    }
    store
}

#[test]
fn a_bit_that_flipped_in_the_index_hid_hits_for_good() {
    let store = said();
    let all = || QUERIES.map(|query| sorted(store.found(query)));
    let want = all();
    assert_eq!(want.each_ref().map(Vec::len), [120, 120, 11, 120, 120, 120, 0]);
    store.fill();
    store.db().query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).expect("written");
    let whole = fs::read(&store.location.path).expect("read");
    let mut state = 11u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let restore = |bytes: &[u8]| {
        for ending in ["-wal", "-shm"] {
            let _ = fs::remove_file(format!("{}{ending}", store.location.path.display()));
        }
        fs::write(&store.location.path, bytes).expect("written");
    };
    for _ in 0..300 {
        let (at, bit) = (random(whole.len()), random(8));
        let mut bytes = whole.clone();
        bytes[at] ^= 1 << bit;
        restore(&bytes);
        assert_eq!(all(), want, "bit {bit} of byte {at}");
    }
    // And what is whole is taken as it is.
    restore(&whole);
    assert_eq!(all(), want);
    assert_eq!(fs::read(&store.location.path).expect("read"), whole);
}

#[test]
fn a_page_in_the_place_of_another_one_is_noticed() {
    let store = said();
    let want = sorted(store.found("needle1"));
    store.db().query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).expect("written");
    let whole = fs::read(&store.location.path).expect("read");
    let pages: Vec<&[u8]> = whole.chunks(pages::PAGE).collect();
    for (from, to) in (2..pages.len()).flat_map(|from| [(from, from - 1), (from - 1, from)]) {
        let mut moved = pages.clone();
        moved[to] = pages[from];
        fs::write(&store.location.path, moved.concat()).expect("written");
        assert_eq!(sorted(store.found("needle1")), want, "page {from} in the place of {to}");
    }
}
