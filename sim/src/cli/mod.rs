//! Knows the verbs of `cargo sim`, one file each.

pub(crate) mod campaign;
pub(crate) mod one;
pub(crate) mod replay;
