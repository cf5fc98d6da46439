pub mod faults;
pub mod fuzz;
#[cfg(test)]
pub mod tests;
