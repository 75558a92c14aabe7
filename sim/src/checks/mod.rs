//! Knows every property that must hold in every world, one in each file.
//!
//! A check sees each fact before the truth takes it in, so that `truth` is what was so until then. It never asks a
//! reducer anything, and it repairs nothing.

use std::fmt;

use crate::fact::Fact;
use crate::truth::Truth;

mod s05;

/// What a check says of one fact: nothing, or what is broken, for people.
pub type Verdict = Result<(), String>;

/// One property.
pub trait Check: Default {
    /// Its number in the catalogue, such as `S5`.
    const NAME: &'static str;
    /// The property, in one sentence.
    const CLAIM: &'static str;

    /// Holds a fact against what was so before it.
    ///
    /// # Errors
    /// When the property is broken by it.
    fn see(&mut self, fact: &Fact<'_>, truth: &Truth) -> Verdict;
}

/// A broken property.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// Which.
    pub name: &'static str,
    /// The property.
    pub claim: &'static str,
    /// What broke it.
    pub why: String,
    /// At which fact.
    pub step: u64,
    /// When.
    pub at_ms: u64,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, claim, why, step, at_ms } = self;
        write!(
            f,
            "{name} is broken at step {step}, {}.{:03}s: {why}\n  {name}: {claim}",
            at_ms / 1_000,
            at_ms % 1_000
        )
    }
}

impl std::error::Error for Violation {}

/// Every check, called without a table so that the compiler sees through each.
macro_rules! checks {
    ($($field:ident: $check:ty),* $(,)?) => {
        /// All checks of one world.
        #[derive(Default)]
        pub struct Checks {
            /// The one that judges, where the others are silent.
            only: Option<&'static str>,
            $($field: $check),*
        }

        impl Checks {
            /// From now on only the check of this name judges.
            pub fn only(&mut self, name: &'static str) {
                self.only = Some(name);
            }

            /// Shows a fact to every check; the first that objects is told.
            ///
            /// # Errors
            /// The property that the fact breaks.
            pub fn see(&mut self, fact: &Fact<'_>, truth: &Truth) -> Result<(), Box<Violation>> {
                $(if let Err(why) = self.$field.see(fact, truth)
                    && self.only.is_none_or(|only| only == <$check>::NAME)
                {
                    return Err(Box::new(Violation {
                        name: <$check>::NAME,
                        claim: <$check>::CLAIM,
                        why,
                        step: truth.step,
                        at_ms: truth.now,
                    }));
                })*
                Ok(())
            }
        }

        /// Name and claim of every check.
        pub const ALL: &[(&str, &str)] = &[$((<$check>::NAME, <$check>::CLAIM)),*];
    };
}

checks! {
    s05: s05::Fence,
}
