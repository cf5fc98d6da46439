//! What an append costs beyond the bare write, in nanoseconds: the write alone; with the entry's line and index; with
//! the checks as well (is the file still there and as long as it was, where did the line land).
//!
//! Twice: in a row, as fast as it goes, and with a pause before each, as agents append. Behind a pause everything about
//! the file is looked at, not its length alone. The three take turns; medians.

// A benchmark that cannot go on stops.
#![allow(clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::fs::File;
use std::io::Write;
use std::time::{Duration, Instant};

use pi_session_core::addon::{line, AppendPlan, NewHead};
use pi_session_core::{EntryKind, NewEntry, Persistence, Session, SessionFileOptions};

const ROUNDS: usize = 15;
const APPENDS: usize = 20_000;
/// Appends with a pause before each, and the pause: longer than one look at everything counts.
const SPACED: usize = 600;
const PAUSE: Duration = Duration::from_millis(11);
const HEADER: &str = "{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n";
const OWN: &[u8] =
    b"{\"message\":{\"role\":\"user\",\"content\":\"twenty bytes of text\",\"timestamp\":1750000000000}}";

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn session(path: &str) -> Session {
    std::fs::write(path, HEADER).expect("written");
    Session::open(path, Persistence::File, SessionFileOptions::default()).expect("opened")
}

fn entry() -> NewEntry<'static> {
    NewEntry::new(EntryKind::Message, OWN, 0.0)
}

/// One way to append: each call adds one line.
type Way<'a> = Box<dyn FnMut() + 'a>;

/// The bare write, the same with line and index, and the core's whole append; each to a file of its own.
fn ways<'a>(path: &'a str, head: &'a NewHead) -> [Way<'a>; 3] {
    let appending = |path: &str| File::options().append(true).open(path).expect("opened");
    let bare_path = format!("{path}.bare");
    let open = session(&bare_path);
    let mut file = appending(&bare_path);
    let envelope = open.envelope(&entry(), head).expect("an entry");
    let mut text = line(EntryKind::Message, &envelope, OWN).expect("an object");
    text.push(b'\n');
    let bare = move || file.write_all(&text).expect("written");

    // As the core appends, without the checks: the line goes to the file, the entry into the index.
    let unchecked_path = format!("{path}.unchecked");
    let mut open = session(&unchecked_path);
    let mut file = appending(&unchecked_path);
    let unchecked = move || {
        let envelope = open.envelope(&entry(), head).expect("an entry");
        let mut text = line(EntryKind::Message, &envelope, OWN).expect("an object");
        text.push(b'\n');
        file.write_all(&text).expect("written");
        open.push_local(&head.with(EntryKind::Message, &envelope), None).expect("memory");
    };

    let mut open = session(path);
    let checked = move || {
        open.append_as_planned(&entry(), head, AppendPlan::WriteLine, &[]).expect("appended");
    };
    [Box::new(bare), Box::new(unchecked), Box::new(checked)]
}

fn timed(each: &mut Way<'_>, times: usize) -> f64 {
    let start = Instant::now();
    for _ in 0..times {
        each();
    }
    start.elapsed().as_nanos() as f64 / times as f64
}

fn told(times: [Vec<f64>; 3]) -> String {
    let [bare, unchecked, checked] = times.map(median);
    format!("{{\"bare\":{bare:.0},\"unchecked\":{unchecked:.0},\"checked\":{checked:.0}}}")
}

fn main() {
    let dir = std::env::args().nth(1).unwrap_or_else(|| std::env::temp_dir().to_string_lossy().into_owned());
    let path = format!("{dir}/append-cost-{}.jsonl", std::process::id());
    let head = NewHead::default();
    let mut row: [Vec<f64>; 3] = Default::default();
    for _ in 0..ROUNDS {
        for (way, times) in ways(&path, &head).iter_mut().zip(&mut row) {
            times.push(timed(way, APPENDS));
        }
    }
    let mut spaced: [Vec<f64>; 3] = Default::default();
    let mut ways = ways(&path, &head);
    for _ in 0..SPACED {
        for (way, times) in ways.iter_mut().zip(&mut spaced) {
            std::thread::sleep(PAUSE);
            times.push(timed(way, 1));
        }
    }
    for end in ["", ".bare", ".unchecked"] {
        let _ = std::fs::remove_file(format!("{path}{end}"));
    }
    println!("{{\"row\":{},\"spaced\":{}}}", told(row), told(spaced));
}
