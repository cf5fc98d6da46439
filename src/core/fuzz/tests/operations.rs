//! Operations: each byte is one, on a session whose file others change meanwhile. What must be in the file is kept in
//! a list beside it.

use std::collections::BTreeSet;
use std::fs;

use super::Subject;
use crate::core::append::NewHead;
use crate::core::entry::Kind;
use crate::core::faults::tests::scratch;
use crate::core::options::Options;
use crate::core::session::{Below, Found, NewEntry, Persistence, Session};
use crate::core::tree::RowNo;

const HEADER: &str = "{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"timestamp\":\"t\",\"cwd\":\"/c\"}\n";

fn entry(id: &str) -> String {
    format!("{{\"type\":\"custom\",\"id\":\"{id}\",\"parentId\":null,\"timestamp\":\"t\"}}\n")
}

fn opened(path: &str) -> Box<Session> {
    match Session::open(path, Persistence::File, Options::default()).expect("opened") {
        Found::Session(session) => session,
        _ => panic!("there is a session"),
    }
}

fn ids(session: &Session) -> BTreeSet<String> {
    let tree = session.tree();
    (0..tree.len() as RowNo).map(|row| String::from_utf8_lossy(tree.id_of(row)).into_owned()).collect()
}

fn add(path: &str, text: &str) {
    let mut file = fs::OpenOptions::new().append(true).create(true).open(path).expect("opened");
    std::io::Write::write_all(&mut file, text.as_bytes()).expect("written");
}

struct World {
    path: String,
    session: Box<Session>,
    /// What must be there in the end.
    expected: BTreeSet<String>,
    /// What this session appended itself, since it was opened.
    own: BTreeSet<String>,
    names: usize,
}

impl World {
    fn append(&mut self, subject: Subject) {
        let head = NewHead::default();
        // The planted bug: a line is written without a look at what is there.
        if subject == Subject::Planted && self.names > 2 {
            let id = format!("planted{}", self.names);
            self.names += 1;
            add(&self.path, &entry(&id));
            self.expected.insert(id);
            return;
        }
        let row = self.session.append(&NewEntry {
            kind: Kind::Custom,
            head: &head,
            own: b"{\"customType\":\"x\"}",
            below: Below::Leaf,
            id: None,
            time: 0.0,
            timestamp: "t",
        });
        let row = row.expect("the disk works");
        let id = String::from_utf8_lossy(self.session.tree().id_of(row)).into_owned();
        self.expected.insert(id.clone());
        self.own.insert(id);
        self.session.take_moved();
    }

    fn foreign(&mut self) -> String {
        self.names += 1;
        format!("f{}", self.names)
    }

    /// The file as others would write it: what they know of, without what only we have.
    fn rewritten(&mut self, keep: usize) -> String {
        let all: Vec<String> = self.expected.iter().cloned().collect();
        let kept: BTreeSet<String> =
            all.into_iter().enumerate().filter(|(at, _)| at % 3 != keep % 3).map(|(_, id)| id).collect();
        let text = HEADER.to_owned() + &kept.iter().map(|id| entry(id)).collect::<String>();
        self.expected = kept;
        text
    }

    fn step(&mut self, byte: u8, subject: Subject) {
        let is_there = fs::metadata(&self.path).is_ok();
        match byte % 12 {
            0..=2 => self.append(subject),
            3 if is_there => {
                // Behind a half line a whole one of theirs would be fused with it: they begin on a line of their own.
                let ended = fs::read(&self.path).expect("read").ends_with(b"\n");
                let id = self.foreign();
                add(&self.path, &(if ended { String::new() } else { "\n".to_owned() } + &entry(&id)));
                self.expected.insert(id);
            }
            4 if is_there => {
                let half = &entry("half")[..usize::from(byte / 12) + 1];
                add(&self.path, half);
            }
            5 => {
                // What others wrote and we never read goes with the file.
                self.session.reload().expect("the disk works");
                self.session.take_moved();
                fs::remove_file(&self.path).expect("removed");
            }
            6 if is_there => {
                self.session.reload().expect("the disk works");
                let text = self.rewritten(usize::from(byte / 12));
                let other = format!("{}.other", self.path);
                fs::write(&other, text).expect("written");
                fs::rename(other, &self.path).expect("renamed");
                self.expected.extend(self.own.iter().cloned());
            }
            7 if is_there => {
                self.session.reload().expect("the disk works");
                self.session.take_moved();
                // Shorter than before, or it would be growth: only what was cut off can be told.
                if self.expected.len() > 3 {
                    let text = self.rewritten(usize::from(byte / 12));
                    if (text.len() as u64) < fs::metadata(&self.path).expect("there").len() {
                        fs::write(&self.path, text).expect("written");
                        self.session.reload().expect("adopted");
                        self.own = self.own.intersection(&self.expected).cloned().collect();
                    } else {
                        self.expected.extend(ids(&self.session));
                    }
                }
            }
            8 => self.session.reload().expect("the disk works"),
            9 => self.session.flush().expect("the disk works"),
            10 => {
                // A closed session whose file is deleted is the caller's to write again.
                self.session.reload().expect("the disk works");
                self.session.close();
            }
            11 => {
                self.session.reload().expect("the disk works");
                self.session = opened(&self.path);
                self.own.clear();
            }
            _ => {}
        }
        self.session.take_moved();
    }
}

pub fn target(input: &[u8], subject: Subject) -> u64 {
    let dir = scratch();
    let path = dir.path().join("s.jsonl").to_str().expect("text").to_owned();
    fs::write(&path, HEADER.to_owned() + &entry("a")).expect("written");
    let mut world = World {
        session: opened(&path),
        path,
        expected: BTreeSet::from(["a".to_owned()]),
        own: BTreeSet::new(),
        names: 0,
    };
    for &byte in input.iter().take(40) {
        world.step(byte, subject);
    }
    world.session.reload().expect("the disk works");
    assert_eq!(ids(&world.session), world.expected);
    let report = crate::core::verify::verify(&world.path).expect("readable");
    assert!(report.duplicate_ids.is_empty());
    assert_eq!(ids(&opened(&world.path)), world.expected);
    let kinds: BTreeSet<u8> = input.iter().take(40).map(|byte| byte % 12).collect();
    kinds.iter().fold(world.expected.len() as u64, |sum, kind| sum << 4 ^ u64::from(*kind) ^ sum >> 60)
}
