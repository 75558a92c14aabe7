//! Knows how the demo runs the program's own verbs, as a person would.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use super::super::{BrokerArgs, Failed, say};

/// A worker that is told to stop has this long.
const STOP_WITHIN: Duration = Duration::from_secs(30);

/// The program, with the brokers that the demo was given.
pub(super) struct Program {
    path: PathBuf,
    brokers: BrokerArgs,
    folder: PathBuf,
}

/// One running worker.
pub(super) struct Worker {
    child: Child,
    log: PathBuf,
}

/// A load that runs beside the demo.
pub(super) struct Loading(Child);

impl Program {
    pub(super) fn new(brokers: &BrokerArgs, folder: &Path) -> Result<Self, Failed> {
        let path = std::env::current_exe()
            .map_err(|error| Failed::new("broken", format!("could not find the program itself: {error}")))?;
        Ok(Self { path, brokers: brokers.clone(), folder: folder.to_owned() })
    }

    /// A verb that speaks to PostgreSQL only; `words` are separated by blanks.
    pub(super) fn verb(&self, words: &str) -> Command {
        let mut command = Command::new(&self.path);
        command.args(words.split(' ')).stdin(Stdio::null());
        command
    }

    /// A verb that speaks to the brokers as well.
    pub(super) fn kafka_verb(&self, words: &str) -> Command {
        let mut command = self.verb(words);
        command.args(["--brokers", &self.brokers.brokers]);
        for property in &self.brokers.overrides {
            command.args(["-X", property]);
        }
        command
    }

    /// Says what a person would type, runs it, and gives what it printed.
    pub(super) fn tell(&self, command: &mut Command) -> Result<String, Failed> {
        say(&format!("  $ amends {}\n", words_of(command)))?;
        self.run(command)
    }

    /// Runs a verb and gives what it printed.
    pub(super) fn run(&self, command: &mut Command) -> Result<String, Failed> {
        let text = words_of(command);
        let output = command.output().map_err(|error| unstarted(&text, &error))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(Failed::new(
                "demo",
                format!("amends {text} ended with {}:\n{}", output.status, said.trim_end()),
            ));
        }
        String::from_utf8(output.stdout)
            .map_err(|_| Failed::new("broken", format!("amends {text} printed what is not UTF-8")))
    }

    /// What `amends export` prints.
    pub(super) fn export(&self, manifest: &Path, kind: &str) -> Result<String, Failed> {
        self.run(self.verb("export --manifest").arg(manifest).arg(kind))
    }

    /// The lines of an export, one after the other; the last is a failure when the export was one.
    pub(super) fn export_lines(
        &self,
        manifest: &Path,
        kind: &str,
    ) -> Result<impl Iterator<Item = Result<String, Failed>>, Failed> {
        let mut command = self.verb("export --manifest");
        command.arg(manifest).arg(kind).stdout(Stdio::piped());
        let text = words_of(&command);
        let mut child = command.spawn().map_err(|error| unstarted(&text, &error))?;
        let Some(lines) = child.stdout.take() else {
            return Err(Failed::new("broken", format!("amends {text} has no output")));
        };
        let read = text.clone();
        let unread = move |error| Failed::new("broken", format!("could not read amends {read}: {error}"));
        let lines = BufReader::new(lines).lines().map(move |line| line.map_err(&unread));
        let mut child = Some(child);
        Ok(lines.chain(std::iter::from_fn(move || {
            let ended = child.take()?.wait();
            let is_done = ended.as_ref().is_ok_and(ExitStatus::success);
            (!is_done).then(|| Err(Failed::new("demo", format!("amends {text} ended with {ended:?}"))))
        })))
    }

    /// Who claimed each partition last, where anybody did.
    pub(super) fn owners(&self, manifest: &Path) -> Result<BTreeMap<u32, String>, Failed> {
        #[derive(serde::Deserialize)]
        struct Inspection {
            partitions: Vec<Partition>,
        }
        #[derive(serde::Deserialize)]
        struct Partition {
            partition: u32,
            owner: Option<String>,
        }
        let text = self.run(self.verb("inspect --json --manifest").arg(manifest))?;
        let inspection: Inspection = serde_json::from_str(&text).map_err(|error| {
            Failed::new("broken", format!("could not read what inspect printed: {error}"))
        })?;
        Ok(inspection.partitions.into_iter().filter_map(|row| Some((row.partition, row.owner?))).collect())
    }

    /// Starts a worker; its log and its journal lie in the demo's folder.
    pub(super) fn worker(&self, manifest: &Path, number: u32) -> Result<Worker, Failed> {
        let log = self.folder.join(format!("worker-{number}.log"));
        let file = File::create(&log).map_err(|error| super::unwritable(&log, &error))?;
        let mut command = self.kafka_verb("run");
        command.args(["-X", "session.timeout.ms=6000", "--batch-records", "100", "--journal"]);
        command.arg(self.folder.join(format!("worker-{number}.journal"))).arg("--manifest").arg(manifest);
        say(&format!("  $ amends {} &\n", words_of(&command)))?;
        let child = command.stdout(Stdio::null()).stderr(file).spawn();
        Ok(Worker { child: child.map_err(|error| unstarted("run", &error))?, log })
    }

    /// Starts a load beside the demo; what it prints goes into a file of the folder.
    pub(super) fn load(&self, manifest: &Path, file: &Path) -> Result<Loading, Failed> {
        let create = |name: &str| {
            let path = self.folder.join(name);
            File::create(&path).map_err(|error| super::unwritable(&path, &error))
        };
        let (stdout, stderr) = (create("load.report")?, create("load.log")?);
        let mut command = self.kafka_verb("source load");
        command.arg("--manifest").arg(manifest).arg("--file").arg(file).stdout(stdout).stderr(stderr);
        say(&format!("  $ amends {} &\n", words_of(&command)))?;
        Ok(Loading(command.spawn().map_err(|error| unstarted("source load", &error))?))
    }
}

/// The arguments as a person would type them.
fn words_of(command: &Command) -> String {
    let words: Vec<_> = command.get_args().map(|word| word.to_string_lossy()).collect();
    words.join(" ")
}

fn unstarted(words: &str, error: &std::io::Error) -> Failed {
    Failed::new("broken", format!("could not start amends {words}: {error}"))
}

impl Loading {
    /// Waits until everything is published.
    pub(super) fn finish(mut self) -> Result<(), Failed> {
        let ended = self.0.wait();
        match ended {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(Failed::new("demo", format!("amends source load ended with {status}"))),
            Err(error) => {
                Err(Failed::new("broken", format!("could not wait for amends source load: {error}")))
            }
        }
    }
}

impl Drop for Loading {
    fn drop(&mut self) {
        drop(self.0.kill());
    }
}

impl Worker {
    /// Whether the row's owner is this process.
    pub(super) fn is_owner(&self, owner: &str) -> bool {
        owner.ends_with(&format!(":{}", self.child.id()))
    }

    /// A worker that ended by itself ends the demo.
    pub(super) fn must_live(&mut self) -> Result<(), Failed> {
        match self.child.try_wait() {
            Ok(None) => Ok(()),
            Ok(Some(status)) => Err(self.ended(status)),
            Err(error) => Err(Failed::new("broken", format!("could not look at a worker: {error}"))),
        }
    }

    fn ended(&self, status: ExitStatus) -> Failed {
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        let last =
            log.lines().rev().take(5).collect::<Vec<_>>().into_iter().rev().collect::<Vec<_>>().join("\n");
        Failed::new(
            "demo",
            format!("a worker ended with {status}; its log {} ends with\n{last}", self.log.display()),
        )
    }

    /// SIGKILL: no shutdown, no goodbye. Gives the process's number.
    pub(super) fn kill(mut self) -> Result<u32, Failed> {
        let pid = self.child.id();
        self.child
            .kill()
            .and_then(|()| self.child.wait())
            .map_err(|error| Failed::new("broken", format!("could not kill worker {pid}: {error}")))?;
        Ok(pid)
    }

    /// SIGTERM, and an exit of 0.
    pub(super) fn stop(&mut self) -> Result<(), Failed> {
        let pid = self.child.id().to_string();
        let told = Command::new("kill").args(["-TERM", &pid]).status();
        if !told.is_ok_and(|status| status.success()) {
            return Err(Failed::new("demo", format!("could not stop worker {pid}")));
        }
        let began = Instant::now();
        while began.elapsed() < STOP_WITHIN {
            match self.child.try_wait() {
                Ok(None) => std::thread::sleep(Duration::from_millis(50)),
                Ok(Some(status)) if status.success() => return Ok(()),
                Ok(Some(status)) => return Err(self.ended(status)),
                Err(error) => {
                    return Err(Failed::new("broken", format!("could not wait for worker {pid}: {error}")));
                }
            }
        }
        Err(Failed::new("demo", format!("worker {pid} did not stop in {STOP_WITHIN:?}")))
    }
}

/// A demo that fails leaves no worker behind.
impl Drop for Worker {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            drop(self.child.kill());
            drop(self.child.wait());
        }
    }
}
