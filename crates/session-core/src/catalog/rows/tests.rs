use super::*;
use crate::catalog::schema::FORMAT_VERSION;
use crate::format::header::{ParentSession, Version};
use crate::io::file_fingerprint::FileId;
use crate::summary::session_summary::SessionSummary;
use crate::summary::usage::call::{Amounts, Call, CallErrors};
use crate::summary::usage::session_usage::{LargeEntry, NamedSession};

fn summary() -> SessionSummary {
    SessionSummary {
        id: b"id".to_vec(),
        cwd: b"/cwd".to_vec(),
        name: Some(b"name".to_vec()),
        parent: Some(ParentSession::Path(b"/p".to_vec())),
        created_json: Some("\"c\"".into()),
        active: Some(1.5),
        unparsed_dates: HashSet::from(["\"d\"".to_owned()]),
        message_count: 300,
        first_message: Some(b"first".to_vec()),
    }
}

fn usage() -> SessionUsage {
    let amounts = Amounts { input: 1.0, output: 2.0, cache_read: 3.0, cache_write: 4.0, cost: 0.5 };
    let errors = CallErrors::MISSING;
    SessionUsage {
        calls: vec![Call { identity: 0x0102_0304_0506_0708, time: 2.5, model: 200, errors, amounts }],
        named_sessions: vec![NamedSession { call: 5, name: b"child".to_vec() }],
        models: vec![b"model".to_vec()],
        entries: 400,
        bytes: 70_000,
        largest: vec![LargeEntry { bytes: 129, offset: 130 }],
        damaged: 3,
        ..SessionUsage::default()
    }
}

/// If two layouts have the same version, a catalog of one is read as if it had the other.
#[test]
fn the_layout_of_packed_values_belongs_to_the_format_version() {
    let file_id = FileId { device: 1, inode: 300 };
    let fingerprint = FileFingerprint { file_id, size: 131, modified: -2, changed: 9 };
    let kinds = [
        FileKind::Undetermined,
        FileKind::NotASession,
        FileKind::Session(Version::V1, SessionSummary { parent: None, ..summary() }),
        FileKind::Session(Version::V2, SessionSummary { parent: Some(ParentSession::Other("5".into())), ..summary() }),
        FileKind::Session(Version::Current, summary()),
    ];
    let mut packed = String::new();
    let mut add = |name: &str, bytes: &[u8]| {
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        packed += &format!("{name} {hex}\n");
    };
    for kind in kinds {
        let progress = SummaryProgress { kind, usage: SessionUsage::default(), end: 1_000 };
        add("file", &PackedFile::of(&fingerprint, -3, 4, &progress).expect("memory").file);
    }
    add("usage", &pack(&usage()).expect("memory"));
    let known = format!("version {FORMAT_VERSION}\n{packed}");
    assert_eq!(
        known, LAYOUT,
        "The layout has changed: raise FORMAT_VERSION, then put the left text in place of the right one"
    );
    let [file, used] =
        ["file", "usage"].map(|name| packed.lines().filter_map(|line| line.strip_prefix(name)).next_back());
    let bytes = |hex: Option<&str>| -> Vec<u8> {
        let hex = hex.expect("packed").trim();
        (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hex")).collect()
    };
    let (_, _, _, progress): (FileFingerprint, Nanos, u64, SummaryProgress) = unpack(&bytes(file)).expect("a row");
    assert_eq!(progress.kind, FileKind::Session(Version::Current, summary()));
    assert_eq!(unpack(&bytes(used)), Some(usage()));
}

const LAYOUT: &str = "\
version 16
file 01ac0283010312050400e807
file 01ac0283010312050401e807
file 01ac028301031205040200026964042f63776401046e616d6500010322632201000000000000f83f0103226422ac020\
1056669727374e807
file 01ac028301031205040201026964042f63776401046e616d6501010135010322632201000000000000f83f010322642\
2ac0201056669727374e807
file 01ac028301031205040202026964042f63776401046e616d650100022f70010322632201000000000000f83f0103226\
422ac0201056669727374e807
usage 0108070605040302010000000000000440c80102000000000000f03f00000000000000400000000000000840000000\
0000001040000000000000e03f0105056368696c6401056d6f64656c9003f0a204018101820103
";
