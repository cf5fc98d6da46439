//! How many threads work is spread over.

use std::sync::OnceLock;
use std::thread;

/// How many threads run at once here. Asked of the system once: the answer is read from several files, which takes longer
/// than to open a small session.
pub fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| thread::available_parallelism().map_or(1, |cores| cores.get()))
}
