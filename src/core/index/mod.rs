pub mod copy;
pub mod load;
pub mod parallel_scan;
pub mod read_entries;
