//! The order in which a list reads its files: by time and name, both descending, names as JavaScript's `localeCompare` sorts them.
//! Names that first differ in digits sort the same in every language; only others need `localeCompare`, which takes 8 ms of
//! JavaScript's thread for the first 1,000 names of a process.

use std::cmp::Ordering;

/// What a file is sorted by.
#[derive(Debug, Clone, PartialEq)]
pub struct SortKey {
    /// In ms; equal for all files if only names count.
    pub time: f64,
    /// The file's name.
    pub name: String,
}

/// Positions of sorted files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Order {
    /// The order in every language.
    Final(Vec<u32>),
    /// The order of the names' bytes. JavaScript has to sort them; this order is close to the result.
    ByBytes(Vec<u32>),
}

/// How two names compare, if that is the same in every language: the first characters that differ are digits, in numbers of
/// equal length. Letters may sort together with their neighbours, capitals first or last, and marks may be ignored.
fn known_order(left: &str, right: &str) -> Option<Ordering> {
    if left == right {
        return Some(Ordering::Equal);
    }
    if !left.is_ascii() || !right.is_ascii() {
        return None;
    }
    let differs = left.bytes().zip(right.bytes()).position(|(left, right)| left != right)?;
    let number = |name: &str| {
        let digits = name.bytes().skip(differs).take_while(u8::is_ascii_digit);
        digits.count()
    };
    let (size, other) = (number(left), number(right));
    (size > 0 && size == other).then(|| left.as_bytes().cmp(right.as_bytes()))
}

/// Sorts files as far as that does not depend on a language.
pub(crate) fn sort(keys: &[SortKey]) -> Order {
    let mut order: Vec<(u32, &SortKey)> = (0..).zip(keys).collect();
    let by_time = |left: &SortKey, right: &SortKey| right.time.total_cmp(&left.time);
    order.sort_by(|(_, left), (_, right)| by_time(left, right).then_with(|| right.name.cmp(&left.name)));
    let is_known = |pair: &[(u32, &SortKey)]| match pair {
        [(_, left), (_, right)] => by_time(left, right).is_ne() || known_order(&left.name, &right.name).is_some(),
        _ => true,
    };
    let is_final = order.windows(2).all(is_known);
    let positions = order.into_iter().map(|(at, _)| at).collect();
    if is_final {
        Order::Final(positions)
    } else {
        Order::ByBytes(positions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn digits_decide_where_they_differ_first() {
        for (left, right, want) in [
            ("2025-01-01T00_b", "2025-01-02T00_a", Some(Ordering::Less)),
            ("a", "a", Some(Ordering::Equal)),
            ("10", "09x", Some(Ordering::Greater)),
            // In some languages numbers may count as a whole.
            ("10", "9", None),
            ("1", "10", None),
            ("a1", "ab", None),
            ("a", "B", None),
            ("é1", "é2", None),
            ("", "1", None),
        ] {
            assert_eq!(known_order(left, right), want, "{left} {right}");
            assert_eq!(known_order(right, left), want.map(Ordering::reverse), "{right} {left}");
        }
    }

    /// Languages of our own: each agrees on digits, and on nothing else.
    fn language(number: u8) -> impl Fn(&str, &str) -> Ordering {
        let weigh = move |name: &str| -> Vec<u32> {
            let weight = |c: char| match (c, number) {
                ('0'..='9', _) => 1_000 + u32::from(c),
                (c, 0) => u32::from(c),
                (c, 1) => 9_000 - u32::from(c),
                ('-' | '_' | '.', 2) => 0,
                (c, _) => 5_000 + u32::from(c.to_ascii_lowercase()),
            };
            name.chars().map(weight).filter(|weight| *weight > 0).collect()
        };
        move |left, right| weigh(left).cmp(&weigh(right))
    }

    fn name() -> impl Strategy<Value = String> {
        prop_oneof![
            3 => "2025-0[1-9]-1[0-9]_[a-c]{0,2}",
            1 => "[0-9a-bA-B_.-]{0,4}",
            1 => "é[0-9]",
        ]
    }

    proptest! {
        #[test]
        fn a_final_order_is_the_order_in_any_language(
            keys in proptest::collection::vec((0u8..3, name()), 0..12),
            number in 0u8..4,
            timed in any::<bool>(),
        ) {
            let time = |time: u8| if timed { f64::from(time) } else { 0.0 };
            let keys: Vec<_> = keys.into_iter().map(|(at, name)| SortKey { time: time(at), name }).collect();
            let compare = language(number);
            let mut want: Vec<u32> = (0..keys.len() as u32).collect();
            want.sort_by(|&a, &b| {
                let (a, b) = (&keys[a as usize], &keys[b as usize]);
                b.time.total_cmp(&a.time).then_with(|| compare(&b.name, &a.name))
            });
            match sort(&keys) {
                Order::Final(order) => prop_assert_eq!(order, want),
                Order::ByBytes(mut order) => {
                    order.sort_unstable();
                    prop_assert_eq!(order, (0..keys.len() as u32).collect::<Vec<_>>());
                }
            }
        }
    }

    #[test]
    fn names_of_digits_are_sorted_without_the_host() {
        let keys: Vec<_> = (0..1_000).map(|n| SortKey { time: 0.0, name: format!("{n:06}.jsonl") }).collect();
        assert_eq!(sort(&keys), Order::Final((0..1_000).rev().collect()));
    }
}
