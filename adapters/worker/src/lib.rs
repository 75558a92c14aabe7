//! worker

#[cfg(feature = "kafka")]
pub mod kafka;
