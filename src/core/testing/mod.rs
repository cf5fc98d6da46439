#[cfg(test)]
pub mod counts;
pub mod faults;
pub mod fuzz;
