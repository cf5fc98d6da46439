//! Fuzz targets: reading lines, opening a file, verifying and repairing one, and sequences of operations on a session whose
//! file changes underneath.
//! Each compares the core with a simpler implementation of the same thing and returns a signature of what happened, by which
//! the driver recognises inputs that do something new. `npm run fuzz` runs them for longer; the corpus is in `fuzz/corpus`.

#[cfg(test)]
mod tests;
