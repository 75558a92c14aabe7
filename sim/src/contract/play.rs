//! Knows how a case is played against a server, and what is written down of it.

use std::collections::BTreeMap;

use amends_store::env::Environment;
use tokio::sync::oneshot;

use super::case::{Act, Line, Reply, Step};
use super::operation::Desk;
use super::session::Session;
use super::shown::{Answer, Cell, Names, TABLES, Table};
use super::statement::Said;

/// A server with the schema and no row, and what cannot be said through a session.
pub(crate) trait Server {
    type Env: Environment;

    /// The world of one client of the case.
    fn env(&self, client: &str) -> Self::Env;

    fn url(&self) -> &str;

    /// Returns when so many statements wait for a row, or never will.
    async fn settle(&self, waiting: usize) -> Result<(), String>;

    /// Ends the sessions of one client of the case.
    async fn terminate(&self, client: &str) -> Result<(), String>;

    /// All rows of a table, in the order of its key.
    async fn rows(&self, table: &Table) -> Result<Vec<Vec<Cell>>, String>;
}

/// Who takes part.
enum Client<E: Environment> {
    Session(Session),
    Store(Desk<E>),
}

/// A reply that a case waits for gives up after so long; every limit of a session is shorter.
const LONGEST_MS: u64 = 10_000;
/// How often it looks.
const LOOK_MS: u64 = 5;
/// Until a word that the server said of itself has been heard.
const HEARD_MS: u64 = 50;

/// What was written down of a case.
pub(crate) struct Played {
    /// Every step with its answer, and the tables as they are then.
    pub(crate) text: String,
    /// Why a step could not be made; those behind it were not.
    pub(crate) stopped: Option<String>,
}

/// Plays a case.
pub(crate) async fn play<S: Server>(server: &S, steps: &[Step]) -> Result<Played, String> {
    let mut played =
        Play { server, names: Names::default(), clients: BTreeMap::new(), left: BTreeMap::new() };
    let (mut lines, mut stopped) = (Vec::new(), None);
    for step in steps {
        lines.push(format!("> {}", step.text));
        match played.act(&step.act).await {
            Ok(answer) => lines.extend(answer.into_iter().map(|line| format!("  {line}"))),
            Err(why) => {
                lines.push(format!("  could not go on: {why}"));
                stopped = Some(format!("{}: {why}", step.text));
                break;
            }
        }
    }
    lines.push(String::new());
    for table in &TABLES {
        lines.extend(played.names.table(table, &server.rows(table).await?));
    }
    lines.push(String::new());
    Ok(Played { text: lines.join("\n"), stopped })
}

struct Play<'a, S: Server> {
    server: &'a S,
    names: Names,
    clients: BTreeMap<String, Client<S::Env>>,
    /// Whose reply is not there yet. A store keeps its own.
    left: BTreeMap<String, Option<oneshot::Receiver<Vec<Answer>>>>,
}

impl<S: Server> Play<'_, S> {
    async fn act(&mut self, act: &Act) -> Result<Vec<String>, String> {
        let server = self.server;
        match act {
            Act::Open(names) => {
                for name in names {
                    let session = Session::open(&server.env(name), server.url(), name).await?;
                    self.clients.insert(name.clone(), Client::Session(session));
                }
            }
            Act::Close(name) => {
                self.clients.remove(name);
                self.rest(HEARD_MS).await;
            }
            Act::Cut(name) => {
                self.left.remove(name);
                if let Some(Client::Session(session)) = self.clients.remove(name) {
                    session.cut();
                }
                self.rest(HEARD_MS).await;
            }
            Act::Store(name, changes) => {
                let env = server.env(name);
                let (desk, said) = Desk::open(env, server.url(), name, changes, &mut self.names).await?;
                self.clients.extend(desk.map(|desk| (name.clone(), Client::Store(desk))));
                return Ok(vec![said]);
            }
            Act::Say(name, lines, reply) => {
                let statements = lines.iter().map(|line| self.said(line)).collect::<Result<_, _>>()?;
                let Client::Session(session) = self.client(name)? else {
                    return Err("it is a store".to_owned());
                };
                let trip = session.trip(statements);
                let (sender, receiver) = oneshot::channel();
                server.env(name).spawn(async move {
                    // A case that ends early does not listen any more.
                    let _ = sender.send(trip.await);
                });
                self.left.insert(name.clone(), Some(receiver));
                return self.reply(name, *reply).await;
            }
            Act::Command(name, line, reply) => {
                let Client::Store(desk) = self.client(name)? else {
                    return Err("it is a session".to_owned());
                };
                desk.command(line)?;
                self.left.insert(name.clone(), None);
                return self.reply(name, *reply).await;
            }
            Act::Waits(name) => {
                server.settle(self.left.len()).await?;
                return Ok(self.look(name)?.unwrap_or_else(|| vec!["no answer".to_owned()]));
            }
            Act::Answers(name) => return self.reply(name, Reply::Awaited).await,
            Act::Cancel(name) => match self.client(name)? {
                Client::Session(session) => session.cancel(&server.env(name), server.url()).await?,
                Client::Store(desk) => desk.cancel(),
            },
            Act::Terminate(name) => {
                server.terminate(name).await?;
                self.rest(HEARD_MS).await;
            }
            Act::Wait(ms) => self.rest(*ms).await,
        }
        Ok(Vec::new())
    }

    fn client(&mut self, name: &str) -> Result<&mut Client<S::Env>, String> {
        self.clients.get_mut(name).ok_or_else(|| format!("{name} is not open"))
    }

    fn said(&self, line: &Line) -> Result<Said, String> {
        let values = line.words.iter().map(|word| self.names.value(word)).collect::<Result<Vec<_>, _>>()?;
        Said::new(&line.name, &values)
    }

    async fn rest(&self, ms: u64) {
        self.server.env("clock").sleep(ms).await;
    }

    async fn reply(&mut self, name: &str, reply: Reply) -> Result<Vec<String>, String> {
        if reply == Reply::Left {
            return Ok(Vec::new());
        }
        for _ in 0..LONGEST_MS / LOOK_MS {
            if let Some(lines) = self.look(name)? {
                return Ok(lines);
            }
            self.rest(LOOK_MS).await;
        }
        Ok(vec!["no answer".to_owned()])
    }

    /// The reply, when it is there.
    fn look(&mut self, name: &str) -> Result<Option<Vec<String>>, String> {
        let left = self.left.get_mut(name).ok_or_else(|| format!("{name} has nothing in flight"))?;
        let lines = match (left, self.clients.get_mut(name)) {
            (Some(receiver), _) => receiver
                .try_recv()
                .ok()
                .map(|answers| answers.iter().flat_map(|answer| self.names.answer(answer)).collect()),
            (None, Some(Client::Store(desk))) => desk.answer(&mut self.names).map(|line| vec![line]),
            (None, _) => None,
        };
        if lines.is_some() {
            self.left.remove(name);
        }
        Ok(lines)
    }
}
