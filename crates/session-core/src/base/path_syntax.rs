//! The syntax of file paths, as Node's `path.posix` and `path.win32` read them. Newer versions of Node treat relative
//! paths with a colon differently; we ignore that, because no session has such a path.

/// The syntax of paths on one kind of system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PathSyntax {
    Posix,
    Windows,
}

/// A path, split into its device and its tail.
struct PathParts<'a> {
    /// `C:`, `\\server\share` or `\\?`; empty if the path has none.
    device: String,
    is_absolute: bool,
    /// What follows the device.
    tail: &'a str,
}

impl PathSyntax {
    /// The syntax of this system.
    pub(crate) const HERE: Self = if cfg!(windows) { Self::Windows } else { Self::Posix };

    /// The separator in new paths.
    pub(crate) fn separator(self) -> char {
        match self {
            Self::Posix => '/',
            Self::Windows => '\\',
        }
    }

    /// Whether a character separates the names in a path.
    pub(crate) fn is_separator(self, c: char) -> bool {
        c == '/' || c == self.separator()
    }

    fn parts(self, path: &str) -> PathParts<'_> {
        let is_separator = |c| self.is_separator(c);
        let (device, tail) = match self {
            Self::Posix => (String::new(), path),
            Self::Windows => match drive_of(path) {
                Some(drive) => (drive.to_owned(), path.get(drive.len()..).unwrap_or_default()),
                None => self.share_of(path).unwrap_or((String::new(), path)),
            },
        };
        let is_absolute = tail.starts_with(is_separator) || device.starts_with('\\');
        PathParts { device, is_absolute, tail }
    }

    /// Splits a path after its server and share, or after the prefix of a device path. None if it begins with neither.
    fn share_of(self, path: &str) -> Option<(String, &str)> {
        let is_separator = |c| self.is_separator(c);
        let rest = path.strip_prefix(is_separator)?.strip_prefix(is_separator)?;
        let (server, after) = rest.split_once(is_separator).filter(|(server, _)| !server.is_empty())?;
        let share_on = after.trim_start_matches(is_separator);
        let end = share_on.find(is_separator).unwrap_or(share_on.len());
        let (share, tail) = share_on.split_at_checked(end).filter(|(share, _)| !share.is_empty())?;
        Some(match server {
            "." | "?" => (format!(r"\\{server}"), after),
            _ => (format!(r"\\{server}\{share}"), tail),
        })
    }

    /// Whether a path is independent of the working directory, except for its drive.
    pub(crate) fn is_absolute(self, path: &str) -> bool {
        self.parts(path).is_absolute
    }

    /// Whether a path is independent of the working directory and of the current drive.
    pub(crate) fn is_complete(self, path: &str) -> bool {
        let PathParts { device, is_absolute, .. } = self.parts(path);
        is_absolute && (self == Self::Posix || !device.is_empty())
    }

    /// Whether a path without `.` and `..` stays the same in calls that clean paths first, as SQLite does. On Windows
    /// such calls remove dots and spaces from the ends of names.
    pub(crate) fn is_kept_by_cleaning(self, path: &str) -> bool {
        self == Self::Posix || !path.split(|c| self.is_separator(c)).any(|name| name.ends_with(['.', ' ']))
    }

    /// The names in a path, without `.`, `..` and repeated separators.
    fn cleaned(self, path: &str, is_absolute: bool) -> String {
        let mut names: Vec<&str> = Vec::new();
        for name in path.split(|c| self.is_separator(c)) {
            match name {
                "" | "." => {}
                ".." if names.last().is_some_and(|last| *last != "..") => {
                    names.pop();
                }
                ".." if is_absolute => {}
                name => names.push(name),
            }
        }
        names.join(&self.separator().to_string())
    }

    fn rebuilt(self, device: &str, is_absolute: bool, names: &str) -> String {
        let root = if is_absolute { self.separator().to_string() } else { String::new() };
        Some(format!("{device}{root}{names}")).filter(|path| !path.is_empty()).unwrap_or_else(|| ".".into())
    }

    /// Resolves the paths one after the other, as `cd` does: an absolute path replaces those before it, and so does a
    /// path with another drive. Removes `.`, `..` and repeated separators. The result is relative if all paths are.
    pub(crate) fn resolve(self, paths: &[&str]) -> String {
        let (mut device, mut tail, mut is_absolute) = (String::new(), String::new(), false);
        for path in paths.iter().rev().filter(|path| !path.is_empty()) {
            let part = self.parts(path);
            if !part.device.is_empty() && !device.is_empty() && part.device.to_lowercase() != device.to_lowercase() {
                continue;
            }
            if device.is_empty() {
                device = part.device;
            }
            if !is_absolute {
                tail = format!("{}{}{tail}", part.tail, self.separator());
                is_absolute = part.is_absolute;
            }
            if is_absolute && (self == Self::Posix || !device.is_empty()) {
                break;
            }
        }
        // A path with a drive is absolute in the drive's root, because the working directory of the drive is not known.
        let is_absolute = is_absolute || !device.is_empty();
        let names = self.cleaned(&tail, is_absolute);
        self.rebuilt(&device, is_absolute, &names)
    }

    /// Joins two paths, even if the second is absolute. Keeps a trailing separator.
    pub(crate) fn join(self, dir: &str, name: &str) -> String {
        let is_separator = |c| self.is_separator(c);
        let mut both = match (dir, name) {
            ("", name) => name.to_owned(),
            (dir, "") => dir.to_owned(),
            (dir, name) => format!("{dir}{}{name}", self.separator()),
        };
        // A share begins with exactly two separators before a name.
        let first = if dir.is_empty() { name } else { dir };
        let after = first.trim_start_matches(is_separator);
        if self == Self::Windows && (first.len() - after.len() != 2 || after.is_empty()) {
            let rest = both.trim_start_matches(is_separator);
            both = if rest.len() < both.len() { format!(r"\{rest}") } else { both };
        }
        let PathParts { device, is_absolute, tail } = self.parts(&both);
        let mut names = self.cleaned(tail, is_absolute);
        if names.is_empty() && !is_absolute {
            names.push('.');
        }
        if !names.is_empty() && both.ends_with(is_separator) {
            names.push(self.separator());
        }
        self.rebuilt(&device, is_absolute, &names)
    }

    /// The last name of a path.
    pub(crate) fn file_name(self, path: &str) -> &str {
        path.rsplit(|c| self.is_separator(c)).next().unwrap_or(path)
    }

    /// Converts a path that a shell on Windows writes (`/c/x`, `/mnt/c/x`, `/cygdrive/c/x`) into a path of Windows.
    pub(crate) fn of_shell(self, path: &str) -> Option<String> {
        let rest = path.strip_prefix('/').filter(|_| self == Self::Windows && !path.contains('\\'))?;
        let stem = ["mnt/", "cygdrive/"]
            .iter()
            .find_map(|dir| rest.get(..dir.len()).filter(|start| start.eq_ignore_ascii_case(dir)));
        let drive_on = stem.map_or(rest, |stem| rest.get(stem.len()..).unwrap_or_default());
        let (drive, names) = drive_on.split_once('/').unwrap_or((drive_on, ""));
        let is_drive = drive.len() == 1 && drive.starts_with(|c: char| c.is_ascii_alphabetic());
        is_drive.then(|| format!(r"{}:\{}", drive.to_ascii_uppercase(), names.replace('/', r"\")))
    }
}

/// The drive at the start of a Windows path.
pub(crate) fn drive_of(path: &str) -> Option<&str> {
    path.get(..2).filter(|drive| drive.ends_with(':') && drive.starts_with(|c: char| c.is_ascii_alphabetic()))
}

/// Converts a verbatim path of Windows (`\\?\C:\x`, `\\?\UNC\server\share`) into the form that users write.
pub(crate) fn without_verbatim(path: &str) -> Option<String> {
    let rest = path.strip_prefix(r"\\?\")?;
    match rest.strip_prefix(r"UNC\") {
        Some(share) => Some(format!(r"\\{share}")),
        None => drive_of(rest).map(|_| rest.to_owned()),
    }
}

/// Converts a complete path of Windows into its verbatim form (`\\?\`), as Node does for every path: in this form
/// `nul`, and names that end with a dot or a space, are names of files. None if the path is verbatim already.
#[cfg(any(windows, test))]
pub(crate) fn with_verbatim(path: &str) -> Option<String> {
    let path = Some(path).filter(|path| PathSyntax::Windows.is_complete(path))?;
    let path = PathSyntax::Windows.resolve(&[path]);
    match path.strip_prefix(r"\\") {
        Some(device) if device.starts_with(['?', '.']) => None,
        Some(share) => Some(format!(r"\\?\UNC\{share}")),
        None => drive_of(&path).map(|_| format!(r"\\?\{path}")),
    }
}

#[cfg(test)]
mod tests;
