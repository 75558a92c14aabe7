//! Knows the grammar of a scenario: its claim, its three paragraphs in their order, and what begins a line of each.

use super::action::Action;
use super::mistakes::{Mistake, Parsed, Span};
use super::scene::{NEEDED, Scene};
use super::words::{Word, Words, time};
use super::{Act, Deed, Expectation, Scenario, When};
use super::{expect, scene, verbs};

/// How long is waited when nothing is said.
const WITHIN_MS: u64 = 120_000;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Paragraph {
    World,
    Story,
    Outcome,
}

/// A scenario as far as it is read.
struct Reader {
    scenario: Scenario,
    paragraph: Paragraph,
    /// Settings that were read.
    told: Vec<&'static str>,
    /// The time of the line above, as long as it is known.
    clock: Option<u64>,
    /// Partitions that the story adds.
    grown: u32,
    mistakes: Vec<Mistake>,
}

pub(super) fn scenario(text: &str) -> Result<Scenario, Vec<Mistake>> {
    let scenario =
        Scenario { claim: claim(text), scene: Scene::new(), story: Vec::new(), outcome: Vec::new() };
    let mut reader = Reader {
        scenario,
        paragraph: Paragraph::World,
        told: Vec::new(),
        clock: Some(0),
        grown: 0,
        mistakes: Vec::new(),
    };
    for (index, line) in text.lines().enumerate() {
        if let Err(mistake) = reader.line(index + 1, line) {
            reader.mistakes.push(mistake);
        }
    }
    reader.whole(text.lines().count().max(1));
    if reader.mistakes.is_empty() { Ok(reader.scenario) } else { Err(reader.mistakes) }
}

/// The comment before the first line that is none.
fn claim(text: &str) -> String {
    let lines = text.lines().map_while(|line| line.strip_prefix('#')).map(str::trim);
    lines.collect::<Vec<_>>().join(" ").trim().to_owned()
}

impl Reader {
    fn line(&mut self, number: usize, text: &str) -> Parsed<()> {
        let is_world_told = NEEDED.iter().all(|needed| self.told.contains(needed));
        let mut cast = self.scenario.scene.cast(is_world_told);
        cast.partitions = cast.partitions.max(self.grown);
        let mut words = Words::of(number, text, cast);
        let Some(first) = words.peek() else { return Ok(()) };
        let paragraph = match first.text {
            "expect" => Paragraph::Outcome,
            "until" | "mark" => Paragraph::Story,
            word if word.starts_with(|first: char| first.is_ascii_digit() || first == '+') => {
                Paragraph::Story
            }
            _ => Paragraph::World,
        };
        self.enter(paragraph, first)?;
        match paragraph {
            Paragraph::World => self.setting(&mut words),
            Paragraph::Story => self.act(&mut words),
            Paragraph::Outcome => self.expectation(&mut words),
        }
    }

    /// Paragraphs have an order; a word of none of them belongs to the one where it stands.
    fn enter(&mut self, paragraph: Paragraph, first: Word<'_>) -> Parsed<()> {
        if paragraph >= self.paragraph {
            self.paragraph = paragraph;
            return Ok(());
        }
        let is_setting = scene::SETTINGS.iter().any(|setting| setting.word == first.text);
        let (what, expected) = match (self.paragraph, paragraph) {
            (_, Paragraph::World) if is_setting => (
                format!("`{}` is a setting, and settings stand before the story", first.text),
                vec!["a line of the story", "expect"],
            ),
            (Paragraph::Outcome, Paragraph::Story) => {
                (format!("`{}` is of the story, which stands before the outcome", first.text), vec!["expect"])
            }
            (Paragraph::Outcome, _) => {
                return Err(unknown(first, "beginning of an expectation", &["expect"]));
            }
            _ => {
                let begins =
                    ["until", "mark", "expect", "a time like 5s", "a time after the line above like +5s"];
                return Err(unknown(first, "beginning of a line", &begins));
            }
        };
        Err(Mistake::new(first.at, what).expecting(expected))
    }

    fn setting(&mut self, words: &mut Words<'_>) -> Parsed<()> {
        let first = words.line;
        let word = scene::read(words, &mut self.scenario.scene)?;
        if self.told.contains(&word) {
            return Err(Mistake::new(first, format!("`{word}` was said before")));
        }
        self.told.push(word);
        Ok(())
    }

    fn act(&mut self, words: &mut Words<'_>) -> Parsed<()> {
        let at = words.line;
        let margin = words.take("a time")?;
        let deed = match margin.text {
            "until" => self.until(words)?,
            "mark" => Deed::Mark(words.take("a name")?.text.to_owned()),
            _ => {
                let when = self.when(margin)?;
                let action = verbs::action(words)?;
                if let Action::Grow { partitions } | Action::Recreate { partitions: Some(partitions) } =
                    action
                {
                    self.grown = self.grown.max(partitions);
                }
                Deed::Perform { when, action }
            }
        };
        words.end()?;
        self.scenario.story.push(Act { at, deed });
        Ok(())
    }

    fn until(&mut self, words: &mut Words<'_>) -> Parsed<Deed> {
        // A mistake in the condition changes nothing about the time being unknown from here on.
        self.clock = None;
        let condition = expect::condition(words)?;
        let within_ms =
            if words.has(expect::WITHIN) { words.take("a time, such as 30s")?.time()? } else { WITHIN_MS };
        Ok(Deed::Until { condition, within_ms })
    }

    fn when(&mut self, margin: Word<'_>) -> Parsed<When> {
        if let Some(rest) = margin.text.strip_prefix('+') {
            let at = Span { from: margin.at.from + 1, ..margin.at };
            let after_ms = Word { text: rest, at }.time()?;
            self.clock = self.clock.map(|clock| clock.saturating_add(after_ms));
            return Ok(When::After(after_ms));
        }
        let at_ms = margin.time()?;
        let Some(clock) = self.clock else {
            let what = format!("when `until` ends is not known, so it may be later than {}", margin.text);
            let instead = format!("+{}, counted from the line above", margin.text);
            return Err(Mistake::new(margin.at, what).expecting([instead]));
        };
        if at_ms < clock {
            let what = format!("{} is earlier than the line above, {}", margin.text, time(clock));
            return Err(Mistake::new(margin.at, what).expecting(["a time that is not earlier"]));
        }
        self.clock = Some(at_ms);
        Ok(When::At(at_ms))
    }

    fn expectation(&mut self, words: &mut Words<'_>) -> Parsed<()> {
        let at = words.line;
        words.take("expect")?;
        let condition = expect::condition(words)?;
        words.end()?;
        self.scenario.outcome.push(Expectation { at, condition });
        Ok(())
    }

    /// What no single line is to blame for.
    fn whole(&mut self, lines: usize) {
        let at = |line| Span { line, from: 1, to: 2 };
        let mut missing = Vec::new();
        if self.scenario.claim.is_empty() {
            let what = "a scenario begins with its claim";
            missing.push(Mistake::new(at(1), what).expecting(["a comment that says what would go wrong"]));
        }
        // A paragraph with a mistake in it is there, and a setting with a mistake was meant.
        if self.mistakes.is_empty() {
            let untold = NEEDED.iter().filter(|needed| !self.told.contains(needed));
            missing.extend(untold.map(|word| Mistake::new(at(lines), format!("the world has no `{word}`"))));
            if self.scenario.story.is_empty() {
                missing.push(Mistake::new(at(lines), "there is no story").expecting(["0s start a"]));
            }
            if self.scenario.outcome.is_empty() {
                missing.push(
                    Mistake::new(at(lines), "there is no outcome").expecting(["expect and a condition"]),
                );
            }
        }
        self.mistakes.splice(0..0, missing);
    }
}

fn unknown(word: Word<'_>, kind: &str, list: &[&str]) -> Mistake {
    Mistake::none_of(word.at, word.text, kind, list.iter().copied())
}
