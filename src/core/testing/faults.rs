//! The core on a storage that fails: every call to the file system in turn, in every way a disk knows, in everything
//! that a session does with its file. Whatever failed: nothing that was there or was acknowledged is lost, memory and
//! file agree, and once the disk works again the next append does.

#[cfg(test)]
pub mod tests;
