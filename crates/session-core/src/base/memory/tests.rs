use super::*;

#[test]
fn memory_that_cannot_be_had_is_an_error() {
    let mut list = vec![1u64];
    assert!(reserve(&mut list, usize::MAX / 8).is_err());
    assert!(resize(&mut list, usize::MAX / 8).is_err());
    assert!(filled(0u64, usize::MAX / 8).is_err());
    assert!(extend(&mut list, std::iter::repeat_n(0, usize::MAX / 8)).is_err());
    assert!(collect(0..u64::MAX / 8).is_err());
    assert_eq!(list, [1]);
    resize(&mut list, 3).expect("memory");
    assert_eq!(list, [1, 0, 0]);
}
