//! Knows the verbs of `cargo sim`, one file each.

use std::fmt::Display;
use std::io::{self, Write};

pub(crate) mod campaign;
#[cfg(madsim)]
pub(crate) mod contract;
pub(crate) mod one;
pub(crate) mod replay;
pub(crate) mod run;

/// Says on stderr what went wrong; if nobody reads that either, the exit code is left.
pub(crate) fn complain(what: impl Display) {
    let _ = writeln!(io::stderr(), "{what}");
}
