pub mod faults;
pub mod fuzz;
