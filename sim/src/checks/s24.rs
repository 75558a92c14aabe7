//! S24, isolation: what is asked for a partition depends on that partition alone. A property of two runs, not of facts.

use amends_core::ids::{Frontier, Moment, Offset, Partition, TenureId};
use amends_core::lifecycle::command::{Command, Timer};
use amends_core::lifecycle::event::Event;

use super::Verdict;

/// The steps of one process: when, what came, what was asked for.
pub type Recorded = [(Moment, Event, Vec<Command>)];

/// Told of two runs of one process, in worlds with as many lanes as partitions in which nothing goes wrong and nobody
/// stops; in the second, the records of other partitions are deleted.
pub struct Isolation;

impl Isolation {
    /// Its number in the catalogue.
    pub const NAME: &'static str = "S24";
    /// The property, in one sentence.
    pub const CLAIM: &'static str =
        "other partitions' records change nothing of what is asked for a partition, time apart";
}

/// What is asked for a partition, without what depends on time: how long, which epoch's claim id, idle rounds.
#[derive(Clone, PartialEq, Debug)]
enum Asked {
    Claim(TenureId),
    Place(TenureId, Frontier),
    Probe(TenureId, Frontier),
    Process {
        tenure: TenureId,
        epoch: i64,
        expected: Frontier,
        first: Offset,
        last: Offset,
        attempt: u32,
        refused: bool,
    },
    RetryWait(TenureId, u64),
    Cancel(TenureId),
    Retire(TenureId),
}

/// Whether what one run asks for a partition is what the other one asks.
///
/// # Errors
/// At the first difference.
pub fn isolated(one: &Recorded, other: &Recorded, partition: Partition) -> Verdict {
    let (mut one, mut other) = (asked(one, partition), asked(other, partition));
    let mut nth = 0;
    loop {
        nth += 1;
        match (one.next(), other.next()) {
            (None, None) => return Ok(()),
            (one, other) if one == other => {}
            (one, other) => {
                let shown =
                    |asked: Option<Asked>| asked.map_or("nothing".to_owned(), |asked| format!("{asked:?}"));
                return Err(format!(
                    "command {nth} of partition {partition} is {}, and {} where the others have no records",
                    shown(one),
                    shown(other)
                ));
            }
        }
    }
}

fn asked(recorded: &Recorded, partition: Partition) -> impl Iterator<Item = Asked> + '_ {
    let commands = recorded.iter().flat_map(|(_, _, commands)| commands);
    commands.filter_map(move |command| asked_for(command, partition))
}

fn asked_for(command: &Command, partition: Partition) -> Option<Asked> {
    if let Command::Assign { positions, .. } = command {
        let of = positions.iter().find(|(tenure, _)| tenure.partition == partition);
        return of.map(|(tenure, frontier)| Asked::Place(*tenure, *frontier));
    }
    if command.tenure()?.partition != partition {
        return None;
    }
    match command {
        Command::Claim { tenure, .. } => Some(Asked::Claim(*tenure)),
        Command::Seek { tenure, frontier, .. } => Some(Asked::Place(*tenure, *frontier)),
        Command::Probe { tenure, frontier, .. } => Some(Asked::Probe(*tenure, *frontier)),
        Command::Process { tenure, token, expected, range, attempt, refused, .. } => Some(Asked::Process {
            tenure: *tenure,
            epoch: token.epoch,
            expected: *expected,
            first: range.first,
            last: range.last,
            attempt: *attempt,
            refused: *refused,
        }),
        Command::Wait { timer: Timer::Retry { tenure, .. }, after_ms } => {
            Some(Asked::RetryWait(*tenure, *after_ms))
        }
        Command::Cancel { tenure } => Some(Asked::Cancel(*tenure)),
        Command::Retire { tenure } => Some(Asked::Retire(*tenure)),
        _ => None,
    }
}
