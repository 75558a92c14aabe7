//! `amends source create`: a topic that keeps everything and the manifest that names it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use amends_core::ids::Incarnation;
use amends_core::lifecycle::command::CheckParts;
use amends_core::source::boundary::{Declared, Sight, Sink, TopicSight};
use amends_core::source::manifest::{Config, FIXTURE_LEDGER, Ledger, Manifest};
use clap::Args;

use super::super::look::{Objection, Patience, look};
use crate::cli::{BrokerArgs, Failed, MANIFEST_BYTES, complain, print, read_file};
use crate::kafka::{Creation, NewTopic, Settings, Source, create};

const CREATE_WITHIN: Duration = Duration::from_secs(20);

/// Whoever mistypes a name, or names an unreachable broker, shall not wait for long.
const FIRST_LOOK: Patience = Patience { objected: Duration::from_secs(3), failed: Duration::ZERO };

/// Other brokers learn of a new topic in their own time.
const NEW_TOPIC: Patience = Patience { objected: Duration::from_secs(20), failed: Duration::from_secs(20) };

/// A ledger's source forgets nothing, and loses nothing that was acknowledged.
const TOPIC_CONFIG: [(&str, &str); 4] = [
    ("cleanup.policy", "delete"),
    ("retention.ms", "-1"),
    ("retention.bytes", "-1"),
    ("unclean.leader.election.enable", "false"),
];

/// The most that librdkafka creates in one request.
const MAX_PARTITIONS: i64 = 100_000;

/// Create the source topic of a ledger and print its manifest
///
/// The topic keeps every record for ever. The manifest names it by the id that the broker gave it: another topic of the
/// same name is another source. An existing topic is refused, and so is an existing --out: nothing is overwritten.
#[derive(Args)]
#[command(override_usage = "amends source create --namespace <N> --topic <T> [OPTIONS]\n       \
                            amends source create --namespace <N> --topic <T> --adopt [OPTIONS]\n       \
                            amends source create --namespace <N> --from <MANIFEST> [OPTIONS]")]
#[command(after_help = "Examples:\n  \
    amends source create --namespace demo --topic demo-source --out demo.manifest.json\n  \
    amends source create --namespace demo --topic demo-source --adopt\n  \
    amends source create --namespace again --from demo.manifest.json > again.manifest.json")]
pub(super) struct Create {
    /// The name of the ledger in PostgreSQL: 1 to 63 of a-z, 0-9 and -
    #[arg(long, value_name = "N")]
    namespace: String,
    /// The name of the topic
    #[arg(long, value_name = "T", required_unless_present = "from", conflicts_with = "from")]
    topic: Option<String>,
    /// ledger_origin and stock_keys as JSON [default: the one of the fixtures]
    #[arg(long, value_name = "FILE", conflicts_with = "from")]
    config: Option<PathBuf>,
    /// Write the manifest to this new file instead of stdout
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// How many partitions the topic gets
    #[arg(long, default_value_t = 2, value_name = "COUNT", conflicts_with_all = ["adopt", "from"])]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=MAX_PARTITIONS))]
    partitions: u32,
    /// How many copies each partition gets
    #[arg(long, default_value_t = 1, value_name = "COUNT", conflicts_with_all = ["adopt", "from"])]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=i64::from(i16::MAX)))]
    replication: u32,
    /// Create nothing: write a manifest for a topic that exists, if it is safe as it stands now. Whether it forgot
    /// records before cannot be seen
    #[arg(long, conflicts_with = "from")]
    adopt: bool,
    /// Create nothing: write a manifest for another namespace over the same topic. Running it computes everything from
    /// the first record on
    #[arg(long, value_name = "MANIFEST")]
    from: Option<PathBuf>,
    #[command(flatten)]
    brokers: BrokerArgs,
}

impl Create {
    pub(super) fn run(self) -> Result<ExitCode, Failed> {
        let kafka = self.brokers.settings()?;
        if let Some(path) = &self.out {
            try_out(path).map_err(|error| unwritable(path, &error))?;
        }
        if let Some(path) = &self.from {
            let manifest = self.another(path)?;
            return self.hand_over(&manifest, "nothing else was to be done");
        }
        let topic = self.topic.as_deref().unwrap_or_default();
        let source = Source::new(&kafka, topic)?;
        if self.adopt {
            let manifest = self.adopted(topic, &kafka, &source)?;
            return self.hand_over(&manifest, "the topic was left as it is");
        }
        let manifest = self.created(topic, &kafka, &source)?;
        self.hand_over(&manifest, &format!("topic {topic} was created"))
    }

    /// The manifest of another namespace over the source of one.
    fn another(&self, path: &Path) -> Result<Manifest, Failed> {
        let at = |why: &dyn std::fmt::Display| {
            Failed::usage(format!("{}: {why}; nothing was created", path.display()))
        };
        let first = Manifest::parse(&read_file(path, MANIFEST_BYTES)?).map_err(|error| at(&error))?;
        let config = first.config();
        if config.namespace() == self.namespace {
            return Err(at(&format!("its namespace is {} itself", self.namespace)));
        }
        self.manifest(
            first.source_topic(),
            config.source_incarnation(),
            config.partitions(),
            config.ledger().clone(),
        )
    }

    fn created(&self, topic: &str, kafka: &Settings, source: &Source) -> Result<Manifest, Failed> {
        let ledger = self.ledger(self.partitions)?;
        // Everything of the manifest but the topic's id is put to the test before there is a topic.
        if let Some(any) = Incarnation::from_bytes([1; 16]) {
            self.manifest(topic, any, self.partitions, ledger.clone())?;
        }
        let looked =
            source.look(CheckParts::Identity).map_err(|why| Failed::from(why).so("nothing was created"))?;
        if looked.topic != TopicSight::Unknown {
            return Err(exists(topic, kafka));
        }
        let wanted = NewTopic {
            name: topic.to_owned(),
            partitions: self.partitions,
            replication: self.replication,
            config: TOPIC_CONFIG.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec(),
        };
        match create(kafka, &wanted, CREATE_WITHIN)? {
            Creation::Created => {}
            Creation::Exists => return Err(exists(topic, kafka)),
            Creation::Refused(why) => return Err(Failed::new("broken", why).so("nothing was created")),
            Creation::Unknown(why) => {
                let tells = self.adoption(topic);
                let then = format!("it may exist now: {tells} tells, and writes its manifest when it does");
                return Err(Failed::new("unresolved", why).so(then));
            }
        }
        let seen = look(source, CheckParts::Bounds, NEW_TOPIC, |sight| safe(sight, Some(self.partitions)));
        let (incarnation, partitions) = seen.map_err(|unseen| {
            let then =
                format!("topic {topic} was created, but no manifest written: {} does", self.adoption(topic));
            unseen.fails(&format!("source refused: topic {topic} at {}", kafka.brokers())).so(then)
        })?;
        self.manifest(topic, incarnation, partitions, ledger)
    }

    fn adopted(&self, topic: &str, kafka: &Settings, source: &Source) -> Result<Manifest, Failed> {
        let seen = look(source, CheckParts::Bounds, FIRST_LOOK, |sight| safe(sight, None));
        let (incarnation, partitions) = seen.map_err(|unseen| {
            let what = format!("could not adopt topic {topic} at {}", kafka.brokers());
            unseen.fails(&what).so("nothing was written")
        })?;
        self.manifest(topic, incarnation, partitions, self.ledger(partitions)?)
    }

    fn ledger(&self, partitions: u32) -> Result<Ledger, Failed> {
        let refused = |place: String, why| Failed::usage(format!("{place}: {why}; nothing was created"));
        let Some(path) = &self.config else {
            return Ledger::parse(FIXTURE_LEDGER.as_bytes(), partitions)
                .map_err(|why| refused("without --config".to_owned(), why));
        };
        Ledger::parse(&read_file(path, MANIFEST_BYTES)?, partitions)
            .map_err(|why| refused(path.display().to_string(), why))
    }

    fn manifest(
        &self,
        topic: &str,
        incarnation: Incarnation,
        partitions: u32,
        ledger: Ledger,
    ) -> Result<Manifest, Failed> {
        Config::new(&self.namespace, incarnation, partitions, ledger)
            .and_then(|config| Manifest::new(topic, config))
            .map_err(|why| Failed::usage(why).so("nothing was created"))
    }

    /// Gives the manifest to the person, whatever happens: it may be all that names a new topic.
    fn hand_over(&self, manifest: &Manifest, done: &str) -> Result<ExitCode, Failed> {
        let text = manifest.print();
        let (place, written) = match &self.out {
            Some(path) => (path.display().to_string(), write_new(path, &text)),
            None => {
                let mut stdout = io::stdout().lock();
                ("stdout".to_owned(), stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()))
            }
        };
        if let Err(error) = written {
            complain(&text);
            let why = format!("could not write the manifest to {place}: {error}");
            return Err(Failed::new("output", why).so(format!("{done}, its manifest is printed above")));
        }
        if self.out.is_none() {
            return Ok(ExitCode::SUCCESS);
        }
        let config = manifest.config();
        let (namespace, topic) = (config.namespace(), manifest.source_topic());
        let (partitions, incarnation) = (config.partitions(), config.source_incarnation());
        print(&format!(
            "wrote {place}: namespace {namespace} over topic {topic}, {partitions} partitions, {incarnation}\n"
        ))
    }

    /// The command that looks after a topic which may be there.
    fn adoption(&self, topic: &str) -> String {
        let mut command =
            format!("amends source create --namespace {} --topic {}", self.namespace, shell(topic));
        for (name, path) in [("config", &self.config), ("out", &self.out)] {
            if let Some(path) = path {
                command.push_str(&format!(" --{name} {}", shell(&path.display().to_string())));
            }
        }
        command + " --adopt"
    }
}

/// The topic's id and partitions, when it may be the source of a ledger.
fn safe(sight: &Sight, expected: Option<u32>) -> Result<(Incarnation, u32), Objection> {
    let against = |code, why: &str| Objection { may_pass: true, code, why: why.to_owned() };
    let TopicSight::Known { incarnation, partitions } = sight.topic else {
        return Err(against("topic-gone", "the broker knows no topic of this name"));
    };
    let Some(incarnation) = incarnation else {
        return Err(against("incarnation-unknown", "the broker tells no topic id"));
    };
    let declared = Declared { sink: Sink::Ledger, incarnation, partitions: expected.unwrap_or(partitions) };
    Objection::check(&declared.judge(sight))?;
    if sight.bounds.is_none() {
        return Err(against("again", "the broker shows no bounds of the topic"));
    }
    Ok((incarnation, partitions))
}

fn exists(topic: &str, kafka: &Settings) -> Failed {
    let why = format!("could not create topic {topic} at {}: it exists already", kafka.brokers());
    Failed::new("topic-exists", why).so("nothing was created; --adopt writes a manifest for it")
}

/// Whether a new file can be made there. It is not kept: a stop before the end shall leave none behind.
fn try_out(path: &Path) -> io::Result<()> {
    new_file(path)?;
    fs::remove_file(path)
}

fn new_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}

fn write_new(path: &Path, text: &str) -> io::Result<()> {
    let mut file = new_file(path)?;
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    if written.is_err() {
        // Half a manifest helps nobody, and the whole one goes to stderr.
        let _ = fs::remove_file(path);
    }
    written
}

fn unwritable(path: &Path, error: &io::Error) -> Failed {
    let why = if error.kind() == ErrorKind::AlreadyExists {
        "it exists already, and nothing is overwritten".to_owned()
    } else {
        error.to_string()
    };
    Failed::usage(format!("could not write {}: {why}; nothing was created", path.display()))
}

/// A word as a shell reads it.
fn shell(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[derive(clap::Parser)]
    struct Program {
        #[command(flatten)]
        create: Create,
    }

    #[test]
    fn the_command_that_looks_after_an_uncertain_topic_is_one() {
        let args = ["amends", "--namespace", "n", "--topic", "orders", "--config", "my config.json"];
        let of = |args: &[&str]| Program::try_parse_from(args).expect("arguments").create.adoption("orders");
        let command = of(&args);
        assert_eq!(
            command,
            "amends source create --namespace n --topic orders --config 'my config.json' --adopt"
        );
        let again: Vec<_> = ["amends", "--namespace", "n", "--topic", "orders", "--adopt"].into();
        assert!(Program::try_parse_from(again).is_ok_and(|program| program.create.adopt));
    }

    #[test]
    fn a_word_is_quoted_when_a_shell_would_split_it() {
        assert_eq!(shell("demo-source"), "demo-source");
        assert_eq!(shell("my config.json"), "'my config.json'");
        assert_eq!(shell("it's"), r"'it'\''s'");
    }
}
