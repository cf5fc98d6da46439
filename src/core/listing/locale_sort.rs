//! The order that a list reads its files in: by time and name, names as the host's language sorts them. What is the same
//! in every language is decided here; what is not is asked for, a bit at a time.

use std::cmp::Ordering;

/// What a file is sorted by. Names go down, as times do.
#[derive(Debug, Clone, PartialEq)]
pub struct Key {
    /// In ms, where times count; the same for all where they do not.
    pub time: f64,
    pub name: String,
}

/// How two names compare, where that is the same in every language: the first letters that differ are digits, each in a
/// number of as many digits. (Digits are the same everywhere, and count before what stands behind them; but letters may
/// count as one with their neighbours, capitals may come first or last, and marks may not count at all.)
pub fn known_order(left: &str, right: &str) -> Option<Ordering> {
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

/// How much one step does: a comparison here counts one, one by the host as much as that.
const STEP: usize = 4_096;
const ASKED: usize = 16;

/// Keys on their way into order. Positions are those of the keys that were given.
#[derive(Debug)]
pub struct Sorting {
    keys: Vec<Key>,
    /// Sorted runs, and those of the next round that are done.
    runs: Vec<Vec<u32>>,
    merged: Vec<Vec<u32>>,
    merging: Option<Merging>,
}

/// Two runs that become one.
#[derive(Debug)]
struct Merging {
    left: Vec<u32>,
    right: Vec<u32>,
    at: (usize, usize),
    out: Vec<u32>,
}

impl Sorting {
    /// Sorts as far as is known without asking. Of keys that count as equal the first comes first.
    pub fn new(keys: Vec<Key>) -> Self {
        let mut order: Vec<u32> = (0..keys.len() as u32).collect();
        let key = |at: u32| keys.get(at as usize);
        // By bytes: near the order that is wanted, and just that where the order is known.
        order.sort_by(|&left, &right| match (key(left), key(right)) {
            (Some(left), Some(right)) => right.time.total_cmp(&left.time).then_with(|| right.name.cmp(&left.name)),
            _ => Ordering::Equal,
        });
        let mut runs: Vec<Vec<u32>> = Vec::new();
        for at in order {
            let goes_on = runs.last().and_then(|run| run.last()).is_some_and(|&last| match (key(last), key(at)) {
                (Some(last), Some(this)) => Self::known(last, this).is_some(),
                _ => false,
            });
            match runs.last_mut().filter(|_| goes_on) {
                Some(run) => run.push(at),
                None => runs.push(vec![at]),
            }
        }
        runs.reverse();
        Self { keys, runs, merged: Vec::new(), merging: None }
    }

    fn known(left: &Key, right: &Key) -> Option<Ordering> {
        match right.time.total_cmp(&left.time) {
            Ordering::Equal => known_order(&right.name, &left.name),
            other => Some(other),
        }
    }

    /// The order, if it is known.
    pub fn done(&mut self) -> Option<Vec<u32>> {
        let is_done = self.merging.is_none() && self.runs.len() + self.merged.len() <= 1;
        is_done.then(|| self.runs.pop().or_else(|| self.merged.pop()).unwrap_or_default())
    }

    /// Goes on for a while. `compare` gives how the host's language sorts two names.
    pub fn step<E>(&mut self, mut compare: impl FnMut(&str, &str) -> Result<Ordering, E>) -> Result<(), E> {
        let mut left = STEP;
        while left > 0 {
            let Some(merging) = &mut self.merging else {
                match (self.runs.pop(), self.runs.pop()) {
                    (Some(left), Some(right)) => {
                        let out = Vec::with_capacity(left.len() + right.len());
                        self.merging = Some(Merging { left, right, at: (0, 0), out });
                        continue;
                    }
                    (one, _) => {
                        self.merged.extend(one);
                        self.merged.reverse();
                        self.runs = std::mem::take(&mut self.merged);
                        if self.runs.len() <= 1 {
                            return Ok(());
                        }
                        continue;
                    }
                }
            };
            let keys = &self.keys;
            let mut is_right_first = |one: u32, other: u32| -> Result<bool, E> {
                let (Some(first), Some(second)) = (keys.get(one as usize), keys.get(other as usize)) else {
                    return Ok(false);
                };
                left = left.saturating_sub(1);
                let order = match Self::known(first, second) {
                    Some(order) => order,
                    None => {
                        left = left.saturating_sub(ASKED);
                        compare(&second.name, &first.name)?
                    }
                };
                Ok(order.then(one.cmp(&other)) == Ordering::Greater)
            };
            if merging.step(&mut is_right_first)? {
                self.merged.push(std::mem::take(&mut merging.out));
                self.merging = None;
            }
        }
        Ok(())
    }
}

impl Merging {
    /// Takes the next one, or all that is left. True if both runs are one.
    fn step<E>(&mut self, is_right_first: &mut impl FnMut(u32, u32) -> Result<bool, E>) -> Result<bool, E> {
        if self.out.is_empty() {
            // Mostly one run simply follows the other.
            if let (Some(&last), Some(&first)) = (self.left.last(), self.right.first()) {
                if !is_right_first(last, first)? {
                    self.out.append(&mut self.left);
                    self.out.append(&mut self.right);
                    return Ok(true);
                }
            }
        }
        match (self.left.get(self.at.0), self.right.get(self.at.1)) {
            (Some(&one), Some(&other)) => match is_right_first(one, other)? {
                true => {
                    self.out.push(other);
                    self.at.1 += 1;
                }
                false => {
                    self.out.push(one);
                    self.at.0 += 1;
                }
            },
            (Some(_), None) => {
                self.out.extend(self.left.drain(self.at.0..));
                return Ok(true);
            }
            (None, _) => {
                self.out.extend(self.right.drain(self.at.1..));
                return Ok(true);
            }
        }
        Ok(false)
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
        fn any_languages_order_is_found(
            keys in proptest::collection::vec((0u8..3, name()), 0..60),
            number in 0u8..4,
            timed in any::<bool>(),
        ) {
            let time = |time: u8| if timed { f64::from(time) } else { 0.0 };
            let keys: Vec<_> = keys.into_iter().map(|(at, name)| Key { time: time(at), name }).collect();
            let compare = language(number);
            let mut want: Vec<u32> = (0..keys.len() as u32).collect();
            want.sort_by(|&a, &b| {
                let (a, b) = (&keys[a as usize], &keys[b as usize]);
                b.time.total_cmp(&a.time).then_with(|| compare(&b.name, &a.name))
            });
            let mut sorting = Sorting::new(keys);
            let got = loop {
                if let Some(order) = sorting.done() {
                    break order;
                }
                sorting.step(|a, b| Ok::<_, ()>(compare(a, b))).expect("no error");
            };
            prop_assert_eq!(got, want);
        }
    }

    #[test]
    fn a_step_asks_no_more_than_its_share_and_names_of_digits_ask_nothing() {
        let sort = |names: Vec<String>| {
            let count = names.len();
            let mut sorting = Sorting::new(names.into_iter().map(|name| Key { time: 0.0, name }).collect());
            let (mut most, mut all) = (0, 0);
            loop {
                if let Some(order) = sorting.done() {
                    assert_eq!(order.len(), count);
                    return (most, all);
                }
                let mut asked = 0;
                sorting
                    .step(|a, b| {
                        asked += 1;
                        Ok::<_, ()>(a.cmp(b))
                    })
                    .expect("no error");
                (most, all) = (most.max(asked), all + asked);
            }
        };
        assert_eq!(sort((0..100_000).map(|n| format!("{n:06}.jsonl")).collect()), (0, 0));
        // One question where a run ends.
        assert_eq!(sort(vec!["2025-1_a".into(), "2025-1_b".into(), "2025-2_c".into(), "2024-2_c".into()]), (1, 1));
        let (most, all) = sort((0..10_000).map(|n| format!("{:x}", n * 7_919 % 10_007)).collect());
        assert!(most <= STEP / ASKED && all > most, "{most} of {all}");
    }
}
