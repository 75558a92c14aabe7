//! Knows what each record of a ledger's source does: which verdict, which head, which positions, which envelopes.
//!
//! A batch is decided in three pure steps, so that a store needs a constant number of round trips:
//!
//! 1. [`decision::Batch::read`] judges each record by itself (rules 1 to 8) and says whose heads are needed
//!    ([`decision::Batch::transaction_ids`]);
//! 2. [`decision::Batch::plan`] takes these heads and says which positions are needed ([`decision::Plan::wants`]) and
//!    how many rows are worth loading ([`decision::Plan::row_limit`]);
//! 3. [`decision::Plan::decide`] takes these positions and gives [`decision::Effects`], or how many leading records
//!    fit.

mod book;
pub mod code;
pub mod decision;
pub mod envelope;
pub mod export;
pub mod positions;
mod reach;
