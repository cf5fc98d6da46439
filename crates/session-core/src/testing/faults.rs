//! The core on a file system that fails: in everything that a session does with its file, each call fails in turn, in every
//! way that a disk can fail. Afterwards nothing that was in the file or was acknowledged is lost, memory and file agree, and once
//! the disk works again the next append succeeds.

#[cfg(test)]
pub mod tests;
