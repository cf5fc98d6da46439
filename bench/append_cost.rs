//! What an append costs beyond the bare write, in nanoseconds: the write alone; with the entry's line and index; with
//! the checks as well (is the file still there and as long as it was, where did the line land). Medians of rounds.

use std::io::Write;
use std::time::Instant;

use pi_session_native::core::append::{line, NewHead};
use pi_session_native::core::entry::Kind;
use pi_session_native::core::options::Options;
use pi_session_native::core::session::{Below, Found, NewEntry, Persistence, Session};

const ROUNDS: usize = 15;
const APPENDS: usize = 20_000;
const HEADER: &str = "{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n";
const OWN: &[u8] =
    b"{\"message\":{\"role\":\"user\",\"content\":\"twenty bytes of text\",\"timestamp\":1750000000000}}";

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn session(path: &str) -> Box<Session> {
    std::fs::write(path, HEADER).expect("written");
    match Session::open(path, Persistence::File, Options::default()).expect("opened") {
        Found::Session(session) => session,
        _ => panic!("a session was written there"),
    }
}

fn timed(mut each: impl FnMut()) -> f64 {
    let start = Instant::now();
    for _ in 0..APPENDS {
        each();
    }
    start.elapsed().as_nanos() as f64 / APPENDS as f64
}

fn main() {
    let dir = std::env::args().nth(1).unwrap_or_else(|| std::env::temp_dir().to_string_lossy().into_owned());
    let path = format!("{dir}/append-cost-{}.jsonl", std::process::id());
    let head = NewHead::default();
    let (mut bare, mut unchecked, mut checked) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let open = session(&path);
        let mut file = std::fs::OpenOptions::new().append(true).open(&path).expect("opened");
        let envelope = open.envelope(None, 0.0, "2025-01-01T00:00:00.000Z".into());
        let mut text = line(Kind::Message, &envelope, OWN);
        text.push(b'\n');
        bare.push(timed(|| file.write_all(&text).expect("written")));

        // The engine's own way, but for the looks: the line goes to the file unasked, the entry into the index.
        let mut open = session(&path);
        let mut file = std::fs::OpenOptions::new().append(true).open(&path).expect("opened");
        unchecked.push(timed(|| {
            let envelope = open.envelope(open.tree().leaf(), 0.0, "2025-01-01T00:00:00.000Z".to_owned());
            let mut text = line(Kind::Message, &envelope, OWN);
            text.push(b'\n');
            file.write_all(&text).expect("written");
            open.push_kept(&head.with(Kind::Message, &envelope));
        }));

        let mut open = session(&path);
        checked.push(timed(|| {
            let entry = NewEntry {
                kind: Kind::Message,
                head: &head,
                own: OWN,
                below: Below::Leaf,
                id: None,
                time: 0.0,
                timestamp: "2025-01-01T00:00:00.000Z",
            };
            open.append(&entry).expect("appended");
        }));
    }
    let _ = std::fs::remove_file(&path);
    let (bare, unchecked, checked) = (median(bare), median(unchecked), median(checked));
    println!("{{\"bare\":{bare:.0},\"unchecked\":{unchecked:.0},\"checked\":{checked:.0}}}");
}
