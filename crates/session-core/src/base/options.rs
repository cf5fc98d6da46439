//! The options of a session's file.

/// Who may write to a session's file. Only [`Persistence::File`](crate::session::Persistence::File) takes or checks the
/// lock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Lock {
    /// Every process, at the same time. If another session has the lock, an append waits up to 250 ms, then fails with
    /// `SessionLocked`.
    #[default]
    None,
    /// Only this session, among programs that take the lock (pi takes none). If another session is in the middle of an
    /// append when the lock is taken, and needs longer than some milliseconds, its line is read as a change of another
    /// program.
    Exclusive,
    /// All sessions of this process that have this option: the process has the lock, and they share it. Use it in a
    /// program that opens a session twice.
    ExclusiveProcess,
}

/// How durable a line is when its append returns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Durability {
    /// The operating system has the line: it survives the end of this process, but not a power failure.
    #[default]
    Os,
    /// The disk has the line.
    Fsync,
}

/// How a session's file is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SessionFileOptions {
    /// When an append returns.
    pub durability: Durability,
    /// Who may write to the file.
    pub lock: Lock,
}
