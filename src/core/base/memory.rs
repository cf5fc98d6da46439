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
        assert_eq!(list, [1]);
        resize(&mut list, 3).expect("memory");
        assert_eq!(list, [1, 0, 0]);
    }
}
