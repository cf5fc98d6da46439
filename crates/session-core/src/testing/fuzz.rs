//! Fuzz targets: reading lines, opening a file, verifying and repairing a file, and sequences of operations on a
//! session whose file changes underneath. Each target compares the core with a simpler implementation. It returns a
//! signature of what happened, by which the driver recognises inputs with new behaviour. `npm run fuzz` runs them for
//! longer; the corpus is in `fuzz/corpus`.

#[cfg(test)]
mod tests;
