//! Owners of files. A file that another user created is not treated as ours.

use std::fs::Metadata;

/// Whether a file belongs to this process's user, or to the administrator, who may change every file anyway. On systems
/// other than Unix it is always true, because there access lists decide, not the owner.
#[cfg(unix)]
pub(crate) fn is_trusted(meta: &Metadata) -> bool {
    let owner = owner(meta);
    owner == 0 || owner == rustix::process::geteuid().as_raw()
}

/// Whether two files belong to one user.
#[cfg(unix)]
pub(crate) fn has_same_owner(left: &Metadata, right: &Metadata) -> bool {
    owner(left) == owner(right)
}

#[cfg(unix)]
fn owner(meta: &Metadata) -> u32 {
    let owner = std::os::unix::fs::MetadataExt::uid(meta);
    #[cfg(test)]
    let owner = super::fs::faults::owner().unwrap_or(owner);
    owner
}

#[cfg(not(unix))]
pub(crate) fn is_trusted(_: &Metadata) -> bool {
    true
}

#[cfg(not(unix))]
pub(crate) fn has_same_owner(_: &Metadata, _: &Metadata) -> bool {
    true
}
