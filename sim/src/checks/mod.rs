//! Knows every property that must hold in every world, one in each file.
//!
//! A check sees each fact before the truth takes it in, so that `truth` is what was so until then. It never asks a
//! reducer anything, and it repairs nothing.

use std::fmt;

use crate::fact::Fact;
use crate::truth::Truth;

mod begins;
mod due;
mod explain;
pub mod l01;
pub mod l02;
pub mod l03;
pub mod l04;
pub mod l05;
pub mod l06;
pub mod l07;
pub mod l08;
pub mod l09;
pub mod l10;
pub mod s01;
pub mod s02;
pub mod s03;
pub mod s03b;
pub mod s04;
pub mod s04b;
pub mod s05;
pub mod s06;
pub mod s07;
pub mod s07b;
pub mod s08;
pub mod s09;
pub mod s09b;
pub mod s10;
pub mod s11;
pub mod s12;
pub mod s13;
pub mod s14;
pub mod s15;
pub mod s16;
pub mod s17;
pub mod s18;
pub mod s19;
pub mod s20;
pub mod s21;
pub mod s22;
pub mod s23;
pub mod s24;
pub mod s25;
pub mod s26;
pub mod s27;
pub mod s28;
pub mod s29;
pub mod s30;
pub mod s31;
pub mod s32;

/// What a check says of one fact: nothing, or what is broken, for people.
pub type Verdict = Result<(), String>;

/// One property.
pub trait Check: Default {
    /// Its number in the catalogue, such as `S5`.
    const NAME: &'static str;
    /// The property, in one sentence.
    const CLAIM: &'static str;

    /// Holds a fact against what was so before it. Each implementation is inlined, so that a check costs nothing at the
    /// facts that it does not listen to.
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

impl Violation {
    #[cold]
    fn at(name: &'static str, claim: &'static str, why: String, truth: &Truth) -> Box<Self> {
        Box::new(Self { name, claim, why, step: truth.step, at_ms: truth.now })
    }
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

/// Which checks judge; the others see everything, and are silent.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Judges {
    /// Every one.
    #[default]
    All,
    /// The one of this name.
    Only(&'static str),
    /// None: a test makes up what the world does.
    Nobody,
}

impl Judges {
    fn has(self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(only) => only == name,
            Self::Nobody => false,
        }
    }
}

/// Makes each kind of fact again where the compiler sees which it is.
macro_rules! kind_by_kind {
    ($checks:ident.$judge:ident, $fact:ident, $truth:ident: $($kind:ident { $($field:ident),* })*) => {
        match *$fact {
            Fact::Committed(commit) => $checks.$judge(|| Fact::Committed(commit), $truth),
            Fact::Declared(config) => $checks.$judge(|| Fact::Declared(config), $truth),
            $(Fact::$kind { $($field),* } => $checks.$judge(|| Fact::$kind { $($field),* }, $truth),)*
        }
    };
}

/// Every check, called without a table so that the compiler sees through each; and every property of whole runs, which
/// whoever runs the worlds asks.
macro_rules! checks {
    ($($field:ident: $check:ty),* $(,)?; of runs: $($property:ty),* $(,)?) => {
        /// All checks of one world.
        #[derive(Default)]
        pub struct Checks {
            judges: Judges,
            $($field: $check),*
        }

        impl Checks {
            /// From now on only these checks judge.
            pub fn let_judge(&mut self, judges: Judges) {
                self.judges = judges;
            }

            /// Shows a fact to every check; the first that objects is told.
            ///
            /// # Errors
            /// The property that the fact breaks.
            pub fn see(&mut self, fact: &Fact<'_>, truth: &Truth) -> Result<(), Box<Violation>> {
                kind_by_kind!(self.judge, fact, truth:
                    Started { who } Crashed { who } Exited { who } Froze { who } Thawed { who }
                    Delivered { who, event } Commanded { who, command } Settled { who }
                    Joined { who, group, namespace } Published { partition, record }
                    Locked { tx, ghost, partition } LockAnswered { tx } CommitSent { tx } RolledBack { tx }
                    Forgot { commits } Appended { incarnation, partition, first, entries }
                    LogChanged { incarnation, partition, change } Recreated { incarnation, partitions }
                    Deleted {} Grew { partitions } Reconfigured {} Struck { fault, who } Healed {} Ended {})
            }

            /// One function for each kind of fact. Each check gets a fact of its own, so that one that is deaf to its kind
            /// leaves nothing behind.
            #[inline(never)]
            fn judge<'a>(&mut self, fact: impl Fn() -> Fact<'a>, truth: &Truth) -> Result<(), Box<Violation>> {
                $(if let Err(why) = self.$field.see(&fact(), truth)
                    && self.judges.has(<$check>::NAME)
                {
                    return Err(Violation::at(<$check>::NAME, <$check>::CLAIM, why, truth));
                })*
                Ok(())
            }
        }

        /// Name and claim of every check, then of every property of runs.
        pub const ALL: &[(&str, &str)] = &[
            $((<$check>::NAME, <$check>::CLAIM),)*
            $((<$property>::NAME, <$property>::CLAIM),)*
        ];
    };
}

checks! {
    s01: s01::OneEffect,
    s02: s02::NoneLost,
    s03: s03::Ascent,
    s03b: s03b::Mirror,
    s04: s04::Tokens,
    s04b: s04b::LateLocks,
    s05: s05::Fence,
    s06: s06::CompareAndSet,
    s07: s07::NoGuess,
    s07b: s07b::RightAnswer,
    s08: s08::NoAdoption,
    s09: s09::Retires,
    s09b: s09b::NoSpuriousEnd,
    s10: s10::Ownership,
    s11: s11::Absorbing,
    s12: s12::RightTopic,
    s13: s13::Seeks,
    s14: s14::Order,
    s15: s15::NoCursorOnly,
    s16: s16::BoundsGrantNothing,
    s17: s17::Lanes,
    s18: s18::Budgets,
    s19: s19::Gate,
    s20: s20::Atomicity,
    s21: s21::HonestLog,
    s22: s22::ReadCommitted,
    s23: s23::Totality,
    s26: s26::Versions,
    s27: s27::ExitTruth,
    s28: s28::LockFirst,
    s29: s29::OneGroup,
    s30: s30::GapsChecked,
    s31: s31::Rejoins,
    s32: s32::Values,
    l01: l01::Drain,
    l02: l02::Owner,
    l03: l03::NoPingPong,
    l04: l04::VisibleStop,
    l05: l05::CancelJoins,
    l06: l06::Zombie,
    l07: l07::Quiet,
    l09: l09::NoOrphan,
    l10: l10::Noticed,
    ; of runs: s24::Isolation, s25::Purity, l08::FairRun,
}
