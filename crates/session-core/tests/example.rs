//! Runs the example program, which `cargo test` builds.

#![cfg(feature = "lists")]

use std::error::Error;
use std::process::Command;

#[test]
fn the_example_prints_its_conversation_and_lists_its_session() -> Result<(), Box<dyn Error>> {
    let program =
        std::env::current_exe()?.with_file_name(format!("../examples/sessions{}", std::env::consts::EXE_SUFFIX));
    let dir = tempfile::tempdir()?;
    let output = Command::new(program).arg(dir.path()).output()?;
    assert_eq!(String::from_utf8(output.stderr)?, "");
    let file = std::fs::read_dir(dir.path())?.next().ok_or("there is no session file")??.path();
    let expected = format!(
        "user: Which file is the largest?\nlarge: target, with two gigabytes (0.004 $)\n{} has 2 messages\n",
        file.display()
    );
    assert_eq!(String::from_utf8(output.stdout)?, expected);
    Ok(())
}
