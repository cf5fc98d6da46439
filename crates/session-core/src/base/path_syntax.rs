//! How paths are written: as Node's `path.posix` and `path.win32` read them. What Node's newer versions do with relative paths that
//! hold a colon is left out: no session has such a path.

/// The syntax of paths on one kind of system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PathSyntax {
    Posix,
    Windows,
}

/// A path in two parts.
struct PathParts<'a> {
    /// `C:`, `\\server\share` or `\\?`; empty if there is none.
    device: String,
    is_absolute: bool,
    /// What follows the device.
    tail: &'a str,
}

impl PathSyntax {
    /// That of this system.
    pub(crate) const HERE: Self = if cfg!(windows) { Self::Windows } else { Self::Posix };

    /// The separator of paths that are made here.
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

    /// The server and share that a path begins with, or the prefix of a device's path, and what follows it.
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

    /// Whether a path needs no working directory to be understood, except for its drive.
    pub(crate) fn is_absolute(self, path: &str) -> bool {
        self.parts(path).is_absolute
    }

    /// Whether a path says all that there is to say, its drive or share as well.
    pub(crate) fn is_complete(self, path: &str) -> bool {
        let PathParts { device, is_absolute, .. } = self.parts(path);
        is_absolute && (self == Self::Posix || !device.is_empty())
    }

    /// Whether a path without `.` and `..` is taken as it is by calls that clean paths first, as SQLite does. On Windows those drop dots
    /// and spaces at the ends of names.
    pub(crate) fn is_kept_by_cleaning(self, path: &str) -> bool {
        self == Self::Posix || !path.split(|c| self.is_separator(c)).any(|name| name.ends_with(['.', ' ']))
    }

    /// The names in a path without `.`, `..` and repeated separators.
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

    /// The paths one after the other, as `cd` would read them: a later one that is absolute replaces those before it, and one with
    /// another drive as well. Without `.`, `..`, and repeated separators. It is relative if all of them are.
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
        // On a drive whose working directory is not known it is in the root.
        let is_absolute = is_absolute || !device.is_empty();
        let names = self.cleaned(&tail, is_absolute);
        self.rebuilt(&device, is_absolute, &names)
    }

    /// Two paths, one after the other, even if the second is absolute. Keeps a trailing separator.
    pub(crate) fn join(self, dir: &str, name: &str) -> String {
        let is_separator = |c| self.is_separator(c);
        let mut both = match (dir, name) {
            ("", name) => name.to_owned(),
            (dir, "") => dir.to_owned(),
            (dir, name) => format!("{dir}{}{name}", self.separator()),
        };
        // Only two separators before a name begin a share.
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

    /// A path as shells on Windows write it (`/c/x`, `/mnt/c/x`, `/cygdrive/c/x`) as the system takes it.
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

/// The drive that a Windows path begins with.
pub(crate) fn drive_of(path: &str) -> Option<&str> {
    path.get(..2).filter(|drive| drive.ends_with(':') && drive.starts_with(|c: char| c.is_ascii_alphabetic()))
}

/// A path as users write it, if it is one that Windows takes as it is (`\\?\C:\x`, `\\?\UNC\server\share`).
pub(crate) fn without_verbatim(path: &str) -> Option<String> {
    let rest = path.strip_prefix(r"\\?\")?;
    match rest.strip_prefix(r"UNC\") {
        Some(share) => Some(format!(r"\\{share}")),
        None => drive_of(rest).map(|_| rest.to_owned()),
    }
}

/// A complete path of Windows in the form that it takes as it is, which is how Node hands on every path: there `nul`, and names that end
/// with a dot or a space, are those of files. None if it has that form already.
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
