//! The options of a session's file.

use super::error::{Error, Result};
use super::wtf8::to_string_lossy;

/// The environment variable that gives the durability where no option does. As the other two it is for programs to read: this crate
/// does not.
pub const DURABILITY_VARIABLE: &str = "PI_SESSION_NATIVE_DURABILITY";
/// The environment variable that gives the lock where no option does.
pub const LOCK_VARIABLE: &str = "PI_SESSION_NATIVE_LOCK";
/// The environment variable that names a store. With a store, new entries get long ids unless an option says otherwise.
pub const STORE_VARIABLE: &str = "PI_SESSION_NATIVE_STORE";

/// Who may write to a session's file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Lock {
    /// Every process, at the same time.
    #[default]
    None,
    /// Only this session, among programs that take the lock. pi takes none.
    Exclusive,
    /// The sessions of this process that have this option: the process holds the lock, and they share it. It is for programs that open
    /// a session twice.
    ExclusiveProcess,
}

/// How durable a line is when its append returns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Durability {
    /// The operating system has it: it survives the end of this process, but not a power failure.
    #[default]
    Os,
    /// The disk has it.
    Fsync,
}

/// How long the ids of new entries are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum EntryIds {
    /// Eight hexadecimal digits, a UUID after 100 collisions: unique in their file.
    #[default]
    Short,
    /// UUIDs: unique also among copies of the file that are appended to on other machines.
    Long,
}

/// How a session's file is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SessionFileOptions {
    /// When an append returns.
    pub durability: Durability,
    /// Who may write.
    pub lock: Lock,
    /// The ids of new entries.
    pub ids: EntryIds,
}

impl EntryIds {
    /// The length with this name; `option` names the option in the error.
    pub fn named(name: &[u8], option: &str) -> Result<Self> {
        one_of([("short", EntryIds::Short), ("long", EntryIds::Long)], name, option)
    }
}

impl Durability {
    /// The durability with this name; `option` names the option or variable in the error.
    pub fn named(name: &[u8], option: &str) -> Result<Self> {
        one_of([("os", Durability::Os), ("fsync", Durability::Fsync)], name, option)
    }
}

impl Lock {
    /// This lock, held by the whole process in place of one session.
    pub fn of_process(self) -> Self {
        match self {
            Lock::None => Lock::None,
            Lock::Exclusive | Lock::ExclusiveProcess => Lock::ExclusiveProcess,
        }
    }

    /// The lock with this name; `option` names the option or variable in the error.
    pub fn named(name: &[u8], option: &str) -> Result<Self> {
        one_of([("none", Lock::None), ("exclusive", Lock::Exclusive)], name, option)
    }
}

/// The value with this name.
fn one_of<T>([first, second]: [(&str, T); 2], name: &[u8], option: &str) -> Result<T> {
    let allowed = format!("\"{}\" or \"{}\"", first.0, second.0);
    match [first, second].into_iter().find(|(known, _)| known.as_bytes() == name) {
        Some((_, value)) => Ok(value),
        None => Err(Error::argument(format!("{option} must be {allowed}, not \"{}\"", to_string_lossy(name)))),
    }
}
