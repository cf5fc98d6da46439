//! Operations. Each byte of the input is an operation on a session whose file others change at the same time. A list
//! beside it contains the entries that must be in the file.

use std::collections::BTreeSet;
use std::fs;

use super::Subject;
use crate::base::options::SessionFileOptions;
use crate::format::entry::EntryKind;
use crate::session::NewEntry;
use crate::session::{Persistence, Session};
use crate::testing::faults::tests::scratch;
use crate::tree::RowNo;

const HEADER: &str = "{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"timestamp\":\"t\",\"cwd\":\"/c\"}\n";

fn entry(id: &str) -> String {
    format!("{{\"type\":\"custom\",\"id\":\"{id}\",\"parentId\":null,\"timestamp\":\"t\"}}\n")
}

fn opened(path: &str) -> Session {
    Session::open(path, Persistence::File, SessionFileOptions::default()).expect("opened")
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
    session: Session,
    /// The entries that must exist in the end.
    expected: BTreeSet<String>,
    /// The entries that this session appended since it was opened.
    own: BTreeSet<String>,
    names: usize,
}

impl World {
    fn reload(&mut self) {
        self.session.reload().expect("the disk works");
        self.session.take_remap();
    }

    /// Others removed entries, and no file contains them any more.
    fn lose_own(&mut self) {
        self.own.retain(|id| self.expected.contains(id));
    }

    /// The entries that exist after ours, with their ancestors, were added to the entries that others kept.
    fn with_own(&self, kept: &BTreeSet<String>) -> BTreeSet<String> {
        let tree = self.session.tree();
        let mut all = kept.clone();
        for id in self.own.iter().filter(|id| !kept.contains(*id)) {
            let mut at = tree.find(id.as_bytes());
            while let Some(row) = at {
                let id = String::from_utf8_lossy(tree.id_of(row)).into_owned();
                if kept.contains(&id) || !all.insert(id) {
                    break;
                }
                at = tree.parent_row(row);
            }
        }
        all
    }

    fn append(&mut self, subject: Subject) {
        // The planted bug: a line is written without checking the file first.
        if subject == Subject::Planted && self.names > 2 {
            let id = format!("planted{}", self.names);
            self.names += 1;
            add(&self.path, &entry(&id));
            self.expected.insert(id);
            return;
        }
        let new = NewEntry::new(EntryKind::Custom, b"{\"customType\":\"x\"}", 0.0);
        let row = self.session.append(&new).expect("the disk works");
        self.session.take_remap();
        let id = String::from_utf8_lossy(self.session.tree().id_of(row)).into_owned();
        self.expected.insert(id.clone());
        self.own.insert(id);
    }

    fn foreign(&mut self) -> String {
        self.names += 1;
        format!("f{}", self.names)
    }

    /// The file as others would write it: the entries that they know, without the entries that only we have.
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
        match byte % 16 {
            0..=2 => self.append(subject),
            3 if is_there => {
                // After a torn line, others begin on a new line; otherwise their line would be fused with it.
                let ended = fs::read(&self.path).expect("read").ends_with(b"\n");
                let id = self.foreign();
                add(&self.path, &(if ended { String::new() } else { "\n".to_owned() } + &entry(&id)));
                self.expected.insert(id);
            }
            4 if is_there => {
                let half = &entry("half")[..usize::from(byte / 16) + 1];
                add(&self.path, half);
            }
            5 => {
                // Entries of others that we have not read are lost with the file, and all entries if nobody has it
                // open.
                self.reload();
                fs::remove_file(&self.path).expect("removed");
            }
            // Another file takes the name by a rename. The manager may have the old one open or not.
            6 | 12 if is_there => {
                self.reload();
                if byte % 16 == 12 {
                    self.session.close();
                }
                let text = self.rewritten(usize::from(byte / 16));
                let other = format!("{}.other", self.path);
                fs::write(&other, text).expect("written");
                fs::rename(other, &self.path).expect("renamed");
                match byte % 16 {
                    12 => self.lose_own(),
                    _ => self.expected = self.with_own(&self.expected),
                }
            }
            // The content is replaced in place: by a shorter, a longer, or an equally long one.
            7 | 13 if is_there => {
                self.reload();
                let before = fs::read_to_string(&self.path).expect("read");
                let mut text = self.rewritten(usize::from(byte / 16));
                while byte % 16 == 13 && text.len() < before.len() {
                    let id = self.foreign();
                    text += &entry(&id);
                    self.expected.insert(id);
                }
                fs::write(&self.path, &text).expect("written");
                // Entries that were removed stay removed.
                self.lose_own();
                self.reload();
            }
            8 => self.reload(),
            9 => self.session.flush().expect("the disk works"),
            10 => {
                self.reload();
                self.session.close();
            }
            11 => {
                self.reload();
                self.session = opened(&self.path);
                self.own.clear();
            }
            // As editors save: the old file is renamed, and a new one is written.
            14 if is_there => {
                self.reload();
                fs::rename(&self.path, format!("{}.away", self.path)).expect("renamed");
                let text = self.rewritten(usize::from(byte / 16));
                fs::write(&self.path, text).expect("written");
                self.expected = self.with_own(&self.expected);
                self.session.check_and_close().expect("the disk works");
            }
            // Another session takes the name for a while. Nothing may be written to it.
            15 if is_there => {
                self.reload();
                let before = fs::read(&self.path).expect("read");
                let other = HEADER.replace("\"s\"", "\"other\"") + &entry("x").repeat(usize::from(byte / 16) * 20);
                fs::write(&self.path, &other).expect("written");
                assert!(self.session.reload().is_err(), "another session is there");
                assert_eq!(fs::read_to_string(&self.path).expect("read"), other);
                fs::write(&self.path, before).expect("written");
            }
            _ => {}
        }
        self.session.take_remap();
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
    world.reload();
    assert_eq!(ids(&world.session), world.expected);
    let report = crate::index::verify::verify(&world.path).expect("readable");
    assert!(report.faults.duplicate_ids.is_empty());
    assert_eq!(ids(&opened(&world.path)), world.expected);
    let kinds: BTreeSet<u8> = input.iter().take(40).map(|byte| byte % 16).collect();
    kinds.iter().fold(world.expected.len() as u64, |sum, kind| sum << 4 ^ u64::from(*kind) ^ sum >> 60)
}
