//! Memory of a size that a file decides. A collection that grows by itself ends the process if the system refuses the memory; here
//! that is [`io::ErrorKind::OutOfMemory`], `ENOMEM` in messages.

use std::io;

/// Makes room for so many elements more.
pub fn reserve<T>(list: &mut Vec<T>, more: usize) -> io::Result<()> {
    list.try_reserve(more).map_err(|_| io::ErrorKind::OutOfMemory.into())
}

/// Makes a list so long, with default values where it was shorter.
pub fn resize<T: Clone + Default>(list: &mut Vec<T>, len: usize) -> io::Result<()> {
    let more = len.saturating_sub(list.len());
    list.try_reserve_exact(more).map_err(|_| io::ErrorKind::OutOfMemory)?;
    list.resize(len, T::default());
    Ok(())
}

/// Appends bytes.
pub fn append(out: &mut Vec<u8>, bytes: &[u8]) -> io::Result<()> {
    reserve(out, bytes.len())?;
    out.extend_from_slice(bytes);
    Ok(())
}

/// An empty list with room for so many elements.
pub fn with_capacity<T>(capacity: usize) -> io::Result<Vec<T>> {
    let mut list = Vec::new();
    reserve(&mut list, capacity)?;
    Ok(list)
}

/// A list of so many times one value.
pub fn filled<T: Clone>(value: T, len: usize) -> io::Result<Vec<T>> {
    let mut list = with_capacity(len)?;
    list.resize(len, value);
    Ok(list)
}

/// Appends text.
pub fn push_str(out: &mut String, text: &str) -> io::Result<()> {
    out.try_reserve(text.len()).map_err(|_| io::ErrorKind::OutOfMemory)?;
    out.push_str(text);
    Ok(())
}

/// Bytes in memory as the end of a writer. `Vec<u8>`, which is a writer, too, ends the process if it gets no memory.
#[derive(Default)]
pub struct MemoryWriter(pub Vec<u8>);

impl io::Write for MemoryWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        append(&mut self.0, bytes).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A copy of bytes.
pub fn copy_of_bytes(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut copy = Vec::new();
    append(&mut copy, bytes)?;
    Ok(copy)
}

/// A copy of a text.
pub fn copy_of(text: &str) -> io::Result<String> {
    let mut copy = String::new();
    copy.try_reserve_exact(text.len()).map_err(|_| io::ErrorKind::OutOfMemory)?;
    copy.push_str(text);
    Ok(copy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_cannot_be_had_is_an_error() {
        let is_refused = |result: io::Result<()>| result.is_err_and(|error| error.kind() == io::ErrorKind::OutOfMemory);
        let mut list = vec![1u64];
        assert!(is_refused(reserve(&mut list, usize::MAX / 8)));
        assert!(is_refused(resize(&mut list, usize::MAX / 8)));
        assert!(is_refused(filled(0u64, usize::MAX / 8).map(drop)));
        assert_eq!(list, [1]);
        resize(&mut list, 3).expect("memory");
        assert_eq!(list, [1, 0, 0]);
    }
}
