//! Knows how a verb looks at the source: until a broker that is behind has caught up.

use std::time::{Duration, Instant};

use amends_core::lifecycle::command::CheckParts;
use amends_core::lifecycle::event::Failure;
use amends_core::source::boundary::{Refusal, Sight, Verdict};

use super::Failed;
use crate::kafka;

const ASK_AGAIN_AFTER: Duration = Duration::from_millis(200);

/// What speaks against a sight.
pub(super) struct Objection {
    /// A broker that is behind shows this too.
    pub(super) may_pass: bool,
    pub(super) code: &'static str,
    pub(super) why: String,
}

impl Objection {
    fn of(refusal: &Refusal, may_pass: bool) -> Self {
        Self { may_pass, code: refusal.code(), why: refusal.to_string() }
    }

    /// `Ok` for a sight against which nothing speaks.
    pub(super) fn check(verdict: &Verdict) -> Result<(), Self> {
        match verdict {
            Verdict::Pass => Ok(()),
            Verdict::AskAgain(refusal) => Err(Self::of(refusal, true)),
            Verdict::Refuse(refusal) => Err(Self::of(refusal, false)),
        }
    }
}

/// How long a look may last.
#[derive(Clone, Copy)]
pub(super) struct Patience {
    /// With a broker that is behind.
    pub(super) objected: Duration,
    /// With one that fails to answer, beyond the first failure.
    pub(super) failed: Duration,
}

/// Why there is no sight that will do.
pub(super) enum Unseen {
    /// The source is not what it should be.
    Objected(Objection),
    /// Nobody said what it is.
    Failed(Failed),
}

/// Looks at the source until `judge` is content or the patience ends. Blocks.
pub(super) fn look<T>(
    source: &kafka::Source,
    parts: CheckParts,
    patience: Patience,
    judge: impl Fn(&Sight) -> Result<T, Objection>,
) -> Result<T, Unseen> {
    let began = Instant::now();
    loop {
        match source.look(parts).map(|sight| judge(&sight)) {
            Ok(Ok(seen)) => return Ok(seen),
            Ok(Err(objection)) if objection.may_pass && began.elapsed() < patience.objected => {}
            Ok(Err(objection)) => return Err(Unseen::Objected(objection)),
            Err(Failure::Unreached(_) | Failure::Again(_)) if began.elapsed() < patience.failed => {}
            Err(failure) => return Err(Unseen::Failed(failure.into())),
        }
        std::thread::sleep(ASK_AGAIN_AFTER);
    }
}

impl Unseen {
    /// `what` is what cannot be done over a source that is not what it should be.
    pub(super) fn fails(self, what: &str) -> Failed {
        match self {
            Self::Objected(Objection { code, why, .. }) => Failed::new(code, format!("{what}: {why}")),
            Self::Failed(failed) => failed,
        }
    }
}
