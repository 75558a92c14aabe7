//! The language of scenarios as a reviewer meets it: files that must be read, mistakes that must be shown, pages that must
//! be true, and judgements of worlds made by hand.
#![allow(clippy::unwrap_used, reason = "a test may fall over where it was written wrongly")]

mod errors;
mod files;
mod judging;
mod lives;
mod marks;
mod page;
mod telling;
mod worlds;
