//! Knows what the source is declared to be, and judges what the broker shows of it.

pub mod boundary;
pub mod business_date;
pub mod load_file;
pub mod manifest;
pub mod record;
pub mod record_key;
pub mod strict_json;
