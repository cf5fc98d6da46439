//! The core on a file system that fails. For everything that a session does with its file, each call fails in turn, in
//! each way in which a disk can fail. Afterwards no line that was in the file or was acknowledged is lost, memory and
//! file agree, and when the disk works again the next append succeeds.

#[cfg(test)]
pub mod tests;
