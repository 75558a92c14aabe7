//! Knows how processes begin, stand still, go on and die.

use super::{Due, Happening, World};
use crate::fact::Fact;
use crate::faults::Fault;
use crate::ground::Ground;
use crate::life::Life;

impl World {
    /// A process dies; its supervisor starts the next one after so many milliseconds.
    pub(super) fn die(&mut self, ground: &mut Ground, who: Life, restarts_ms: u64, out: &mut Vec<Happening>) {
        ground.chronicle.struck(Fault::Crashed, Some(who), format_args!("{who} dies"));
        self.crash(ground, who, out);
        self.agenda.at(ground.now() + restarts_ms, Due::Start(who.next()));
    }

    /// A process begins.
    pub fn start(&mut self, ground: &mut Ground, who: Life, out: &mut Vec<Happening>) {
        if !self.processes.start(who) {
            return;
        }
        ground.chronicle.line(format_args!("{who} starts"));
        ground.chronicle.tell(&Fact::Started { who });
        out.push(Happening::Start(who));
    }

    /// A process is ready to work: its client joins the group.
    pub fn ready(&mut self, ground: &mut Ground, who: Life) {
        // It may have died, or stand still, since it began.
        if self.processes.living(who.worker) != Some(who) {
            return;
        }
        self.kafka.join(ground, who);
        if self.processes.is_frozen(who) {
            self.kafka.freeze(ground, who);
        }
    }

    /// A process dies with whatever it holds.
    pub fn crash(&mut self, ground: &mut Ground, who: Life, out: &mut Vec<Happening>) {
        if !self.processes.kill(who, out) {
            return;
        }
        ground.chronicle.line(format_args!("{who} dies"));
        ground.chronicle.tell(&Fact::Crashed { who });
        out.push(Happening::Kill(who));
        self.kafka.crash(ground, who);
    }

    /// A process stands still for so many milliseconds, or until it is told to go on.
    pub fn freeze(&mut self, ground: &mut Ground, who: Life, ms: Option<u64>, out: &mut Vec<Happening>) {
        if !self.processes.freeze(who, out) {
            return;
        }
        match ms {
            Some(ms) => ground.chronicle.struck(Fault::Paused, Some(who), format_args!("{who} for {ms}ms")),
            None => ground.chronicle.struck(Fault::Paused, Some(who), format_args!("{who}")),
        }
        ground.chronicle.tell(&Fact::Froze { who });
        out.push(Happening::Freeze(who));
        self.kafka.freeze(ground, who);
        if let Some(ms) = ms {
            self.agenda.at(ground.now() + ms, Due::Thaw(who));
        }
    }

    /// It goes on, and hears what it missed.
    pub fn thaw(&mut self, ground: &mut Ground, who: Life, out: &mut Vec<Happening>) {
        if !self.processes.is_frozen(who) {
            return;
        }
        ground.chronicle.line(format_args!("{who} goes on"));
        ground.chronicle.tell(&Fact::Thawed { who });
        out.push(Happening::Thaw(who));
        self.processes.thaw(who, out);
        self.kafka.thaw(ground, who);
    }
}
