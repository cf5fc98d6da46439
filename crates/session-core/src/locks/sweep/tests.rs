use super::*;

/// Regression: a file of the user was removed because its name began and ended as the names of temporary files do.
#[test]
fn a_file_of_the_user_with_a_similar_name_stays_after_the_sweep() {
    let dir = tempfile::tempdir().expect("a directory");
    let at = |name: &str| dir.path().join(name);
    let digits = "0123456789abcdef".repeat(2);
    let ours = format!(".pi-session-{digits}.tmp");
    let mut others = vec![
        ".pi-session-my notes.tmp".to_owned(),
        ".pi-session-.tmp".to_owned(),
        format!(".pi-session-{digits}0.tmp"),
        format!("{ours}.tmp"),
        format!("x{ours}"),
    ];
    // On Windows names that differ only in case are the same.
    if cfg!(unix) {
        others.push(format!(".pi-session-{}.tmp", digits.to_uppercase()));
    }
    for name in others.iter().chain([&ours]) {
        std::fs::write(at(name), "precious").expect("written");
    }
    assert_eq!(abandoned(dir.path()).expect("listed"), [at(&ours)]);
    sweep(dir.path());
    assert!(!at(&ours).exists() && others.iter().all(|name| at(name).exists()));
}
