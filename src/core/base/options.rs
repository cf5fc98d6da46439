//! The options of a session's file.

use super::error::{Error, Result};

/// The environment variable that gives the durability where no option does.
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
    /// The sessions of this process that have this option: the process holds the lock, and they share it. It is what the environment variable sets: pi opens a session a
    /// second time to fork it.
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
        match name {
            b"short" => Ok(EntryIds::Short),
            b"long" => Ok(EntryIds::Long),
            other => Err(refused(option, "\"short\" or \"long\"", other)),
        }
    }
}

impl Durability {
    /// The durability with this name; `option` names the option or variable in the error.
    pub fn named(name: &[u8], option: &str) -> Result<Self> {
        match name {
            b"os" => Ok(Durability::Os),
            b"fsync" => Ok(Durability::Fsync),
            other => Err(refused(option, "\"os\" or \"fsync\"", other)),
        }
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
        match name {
            b"none" => Ok(Lock::None),
            b"exclusive" => Ok(Lock::Exclusive),
            other => Err(refused(option, "\"none\" or \"exclusive\"", other)),
        }
    }
}

fn refused(option: &str, allowed: &str, name: &[u8]) -> Error {
    Error::argument(format!("{option} must be {allowed}, not \"{}\"", super::wtf8::to_string_lossy(name)))
}
