//! Knows the verbs of `cargo sim`, one file each.

pub(crate) mod campaign;
#[cfg(madsim)]
pub(crate) mod contract;
pub(crate) mod one;
pub(crate) mod replay;
pub(crate) mod run;
