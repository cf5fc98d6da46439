use super::*;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};

#[test]
fn an_error_of_a_panic_has_its_message() {
    let error = |panic: Box<dyn Any + Send>| {
        let panic = catch_unwind(AssertUnwindSafe(|| resume_unwind(panic))).expect_err("a panic");
        panicked("search", &*panic).to_string()
    };
    let of_panic = |text: &str| format!("Internal error of pi-session-native: {text}");
    assert_eq!(error(Box::new("broken")), of_panic("the search failed: broken"));
    assert_eq!(error(Box::new(String::from("row 7"))), of_panic("the search failed: row 7"));
    assert_eq!(error(Box::new(7)), of_panic("the search failed"));
}
