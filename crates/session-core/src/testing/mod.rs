//! Fault scenarios and fuzz targets, compiled for tests only.

pub mod faults;
pub mod fuzz;
#[cfg(test)]
pub mod tests;
