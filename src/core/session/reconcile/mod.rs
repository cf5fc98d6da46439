//! What happens when others change the file of an open session.
//!
//! Bytes that others wrote stay, and their entries join the session at the next reload or append. A deleted file is written
//! again, whole. If the file was replaced by the same session, the session continues in the new file, and entries that were
//! appended here and are missing there are added. If it was replaced by something else, that is an error.
//!
//! | situation | function | writes |
//! | --- | --- | --- |
//! | before an append | `refresh` | yes |
//! | the caller asks for what others wrote | `reload` | yes |
//! | a read found another line than it expected | `refresh_for_read` | no |
//! | before waiting for the disk, before closing | `flush`, `check_and_close` | yes |
//!
//! Each of them checks the file, to another depth, and calls for what it finds:
//!
//! | found | function | writes |
//! | --- | --- | --- |
//! | the file has grown | `read_appended` | no |
//! | an unterminated line of another process was rolled back | `forget_unterminated_line` | no |
//! | the file was deleted or renamed | `copy_back_deleted_file`: its bytes, from the open handle | the whole file |
//! | it was replaced, rewritten or truncated | `rebase`: the rows of the new content | entries of ours that it lacks |
//! | it is gone or empty, and no handle has it | `write_from_objects`, called by the boundary | the whole file |
//!
//! `compare_known` tells whether the file still is what the index says. `reserialize` makes lines from the caller's objects.

pub mod compare_known;
pub mod rebase;
pub mod refresh;
pub mod reserialize;
pub mod write_from_objects;
