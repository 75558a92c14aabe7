//! The reducer.

pub mod command;
pub mod event;
pub mod stop;
