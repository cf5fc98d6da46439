//! The driver: mutates the corpus by a seeded generator, keeps inputs with new behaviour, and stops at the first
//! failure. The environment variable `PSN_FUZZ_SECONDS` is how long it runs, `PSN_FUZZ_SEED` its seed, and
//! `PSN_FUZZ_TARGET` selects one target.

use std::collections::HashSet;
use std::fs;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::testing::tests::count;

mod lines;
mod open;
mod operations;
mod repair;

/// Whether a target runs on the core, or on one with a planted bug that the target must find.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    Core,
    Planted,
}

type Target = fn(&[u8], Subject) -> u64;

/// A generator that returns the same numbers on every system.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub fn below(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % below.max(1)
    }
}

const WORDS: &[&[u8]] = &[
    b"\n",
    b"\r\n",
    b"{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"timestamp\":\"t\",\"cwd\":\"/c\"}\n",
    b"{\"type\":\"custom\",\"id\":\"a\",\"parentId\":null}\n",
    b"{\"type\":\"custom\",\"id\":\"b\",\"parentId\":\"a\"}",
    b"{\"type\":\"label\",\"id\":\"l\",\"parentId\":\"b\",\"targetId\":\"a\",\"label\":\"x\"}\n",
    b"{\"type\":\"compaction\",\"id\":\"c\",\"parentId\":\"b\",\"firstKeptEntryId\":\"a\"}\n",
    b"{\"type\":\"message\",\"id\":\"m\",\"parentId\":\"c\",\"message\":{\"role\":\"user\",\"content\":\"\xc3\xa9\"}}\n",
    b"null\n",
    b"\"\\ud83d\"",
    b"\xff\xfe",
    b"\0",
    b"{}",
    b"{\"id\":",
    b"1e999",
    b"\xe2\x80\xa8",
];

fn mutated(random: &mut Random, pool: &[Vec<u8>]) -> Vec<u8> {
    let mut input = pool[random.below(pool.len())].clone();
    for _ in 0..=random.below(4) {
        let at = random.below(input.len() + 1);
        let len = random.below((input.len() - at).min(40) + 1);
        match random.below(8) {
            0 => drop(input.drain(at..at + len)),
            1 => {
                let word = WORDS[random.below(WORDS.len())];
                input.splice(at..at, word.iter().copied());
            }
            2 => {
                let piece = input[at..at + len].to_vec();
                input.splice(at..at, piece);
            }
            3 => {
                let other = &pool[random.below(pool.len())];
                let from = random.below(other.len() + 1);
                let to = from + random.below(other.len() - from + 1);
                input.splice(at..at, other[from..to].iter().copied());
            }
            4 => input.truncate(at),
            5 => input.insert(at, random.below(256) as u8),
            _ => {
                if let Some(byte) = input.get_mut(at) {
                    *byte = random.below(256) as u8;
                }
            }
        }
    }
    input.truncate(1 << 12);
    input
}

fn corpus_of(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(name)
}

fn env_number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn seed() -> u64 {
    env_number("PSN_FUZZ_SEED").unwrap_or(20_251_121)
}

/// The inputs in the corpus, sorted by name.
fn corpus(name: &str) -> Vec<Vec<u8>> {
    let mut paths: Vec<_> = fs::read_dir(corpus_of(name))
        .expect("the corpus is in the repository")
        .map(|entry| entry.expect("read").path())
        .collect();
    paths.sort();
    assert!(!paths.is_empty());
    paths.iter().map(|path| fs::read(path).expect("read")).collect()
}

/// Runs a target on its corpus and on mutations of it. Returns how many inputs ran, and the input that failed.
fn drive(name: &str, target: Target, subject: Subject, cases: u32) -> (usize, Option<Vec<u8>>) {
    let only = std::env::var("PSN_FUZZ_TARGET").unwrap_or_default();
    let seconds = env_number("PSN_FUZZ_SECONDS").filter(|_| subject == Subject::Core);
    if seconds.is_some() && !only.is_empty() && only != name {
        return (0, None);
    }
    let seed = seed();
    let until = Instant::now() + Duration::from_secs(seconds.unwrap_or(0));
    let mut random = Random::new(seed);
    let mut pool = corpus(name);
    let mut known: HashSet<u64> = HashSet::new();
    let mut fresh = pool.clone();
    fresh.reverse();
    let mut count = 0;
    while count < cases as usize || (seconds.is_some() && Instant::now() < until) {
        let from_corpus = fresh.pop();
        let is_new = from_corpus.is_none();
        let input = from_corpus.unwrap_or_else(|| mutated(&mut random, &pool));
        count += 1;
        match catch_unwind(AssertUnwindSafe(|| target(&input, subject))) {
            Err(_) => return (count, Some(input)),
            Ok(signature) => {
                if known.insert(signature) && is_new {
                    if seconds.is_some() {
                        let file = corpus_of(name).join(format!("found-{signature:016x}"));
                        fs::write(file, &input).expect("kept");
                    }
                    pool.push(input);
                }
            }
        }
    }
    println!("{name}: seed {seed}, {count} inputs, {} ways of going", known.len());
    (count, None)
}

fn check(name: &str, target: Target, cases: u32) {
    let (count, failed) = drive(name, target, Subject::Core, cases);
    if let Some(input) = failed {
        if env_number("PSN_FUZZ_SECONDS").is_some() {
            fs::write(corpus_of(name).join("failed"), &input).expect("kept");
        }
        panic!("{name}: input {count} fails, seed {}: {}", seed(), input.escape_ascii());
    }
}

/// A target must fail on a subject with a planted bug within this many inputs.
fn finds_the_planted_bug(name: &str, target: Target, cases: u32) {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let (count, failed) = drive(name, target, Subject::Planted, cases);
    std::panic::set_hook(hook);
    println!("{name}: the planted bug was found by input {count}");
    let failed = failed.expect("the planted bug was not found");
    target(&failed, Subject::Core);
}

#[test]
fn lines_are_what_a_split_gives() {
    check("lines", lines::target, count("fuzz_lines"));
}

#[test]
fn any_file_opens_to_what_its_lines_say() {
    check("open", open::target, count("fuzz_open"));
}

#[test]
fn any_operations_leave_memory_and_file_agreeing() {
    check("operations", operations::target, count("fuzz_operations"));
}

#[test]
fn any_file_is_repaired_to_a_good_one_that_lacks_nothing() {
    check("repair", repair::target, count("fuzz_repair"));
}

#[test]
fn the_target_for_lines_finds_a_planted_bug() {
    finds_the_planted_bug("lines", lines::target, 20_000);
}

#[test]
fn the_target_for_open_finds_a_planted_bug() {
    finds_the_planted_bug("open", open::target, 20_000);
}

#[test]
fn the_target_for_operations_finds_a_planted_bug() {
    finds_the_planted_bug("operations", operations::target, 4_000);
}

#[test]
fn the_target_for_repair_finds_a_planted_bug() {
    finds_the_planted_bug("repair", repair::target, 4_000);
}
