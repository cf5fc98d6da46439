//! The options of a session's file.

/// Who may write to a session's file. Only [`Persistence::File`](crate::session::Persistence::File) takes the lock or looks for it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Lock {
    /// Every process, at the same time. An append waits up to 250 ms for another session's lock, then fails: `SessionLocked`.
    #[default]
    None,
    /// Only this session, among programs that take the lock. pi takes none. What another session was writing when the lock was taken, and
    /// takes longer than some milliseconds for, is taken in like what another program writes.
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

/// How a session's file is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SessionFileOptions {
    /// When an append returns.
    pub durability: Durability,
    /// Who may write.
    pub lock: Lock,
}
