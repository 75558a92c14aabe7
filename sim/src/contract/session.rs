//! Knows one session that says production statements word by word, and how its replies become text.

use std::future::poll_fn;
use std::sync::{Arc, Mutex, PoisonError};

use amends_core::source::business_date::BusinessDate;
use amends_store::Target;
use amends_store::env::{Dialed, Environment};
use futures_util::TryStreamExt;
use futures_util::future::{Either, join_all, select};
use tokio::sync::oneshot;
use tokio_postgres::error::Severity;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{AsyncMessage, Client, Column, Config, Error, Row};
use uuid::Uuid;

use super::shown::{Answer, Cell, shown_bytes};
use super::statement::Said;

/// A session.
pub(crate) struct Session {
    client: Arc<Client>,
    heard: Arc<Mutex<Heard>>,
    scissors: oneshot::Sender<()>,
}

/// What the server said without being asked.
#[derive(Default)]
struct Heard {
    warnings: Vec<String>,
    /// How the connection ended.
    end: Option<String>,
}

impl Session {
    /// Opens a session that shows this name.
    pub(crate) async fn open<E: Environment>(env: &E, url: &str, name: &str) -> Result<Self, String> {
        let Dialed { stream, tls, .. } = dial(env, url).await?;
        let mut config: Config = url.parse().map_err(|error: Error| error.to_string())?;
        let connected = config.application_name(name).connect_raw(stream, tls).await;
        let (client, mut connection) = connected.map_err(|error| failure(&error))?;
        let heard = Arc::new(Mutex::new(Heard::default()));
        let hears = Arc::clone(&heard);
        let hearing = async move {
            while let Some(message) = poll_fn(|context| connection.poll_message(context)).await {
                let mut heard = hears.lock().unwrap_or_else(PoisonError::into_inner);
                match message {
                    Ok(AsyncMessage::Notice(notice))
                        if notice.parsed_severity() == Some(Severity::Warning) =>
                    {
                        heard.warnings.push(format!("WARNING {}", notice.code().code()));
                    }
                    Ok(_) => {}
                    Err(error) => {
                        // Else the statement in flight was told.
                        heard.end = (!error.is_closed()).then(|| failure(&error));
                        return;
                    }
                }
            }
        };
        let (scissors, is_cut) = oneshot::channel();
        env.spawn(async move {
            // A client that takes leave still hears what is said to it.
            if let Either::Right((Err(_), hearing)) = select(Box::pin(hearing), is_cut).await {
                hearing.await;
            }
        });
        Ok(Self { client: Arc::new(client), heard, scissors })
    }

    /// Cuts the wire, whatever is in flight.
    pub(crate) fn cut(self) {
        // A connection that has ended by itself needs none.
        let _ = self.scissors.send(());
    }

    /// Says all statements in one trip.
    pub(crate) fn trip(&self, statements: Vec<Said>) -> impl Future<Output = Vec<Answer>> + Send + use<> {
        let (client, heard) = (Arc::clone(&self.client), Arc::clone(&self.heard));
        async move {
            // Joined futures are first polled in their order, and each hands its message over when it is.
            let said = join_all(statements.iter().map(|said| say(&client, said))).await;
            let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
            let mut answers: Vec<Answer> = heard.warnings.drain(..).map(Answer::Words).collect();
            answers.extend(said.into_iter().map(|said| match (said, &heard.end) {
                (Ok(answer), _) => answer,
                (Err(error), Some(end)) if error.is_closed() => Answer::Words(format!("closed by {end}")),
                (Err(error), _) => Answer::Words(failure(&error)),
            }));
            answers
        }
    }

    /// Asks the server to cancel what is in flight.
    pub(crate) async fn cancel<E: Environment>(&self, env: &E, url: &str) -> Result<(), String> {
        let Dialed { stream, tls, .. } = dial(env, url).await?;
        self.client.cancel_token().cancel_query_raw(stream, tls).await.map_err(|error| failure(&error))
    }
}

async fn dial<E: Environment>(env: &E, url: &str) -> Result<Dialed<E::Stream, E::Tls>, String> {
    let target = Target::parse(url).map_err(|error| error.to_string())?;
    let endpoint = target.endpoints().first().ok_or("the URL names no server")?;
    env.dial(endpoint).await.map_err(|error| error.to_string())
}

async fn say(client: &Client, said: &Said) -> Result<Answer, Error> {
    if said.is_simple() {
        client.batch_execute(said.text).await?;
        return Ok(Answer::Words("done".to_owned()));
    }
    let parameters = said.parameters.iter().map(|(value, ty)| (&**value as _, ty.clone()));
    let stream = client.query_typed_raw::<&(dyn ToSql + Sync), _>(said.text, parameters).await?;
    let mut stream = std::pin::pin!(stream);
    let (mut columns, mut rows) = (Vec::new(), Vec::new());
    while let Some(row) = stream.try_next().await? {
        let column = |column: &Column| (column.name().to_owned(), column.type_().name().to_owned());
        columns = row.columns().iter().map(column).collect();
        rows.push((0..row.len()).map(|at| cell(&row, at)).collect::<Result<Vec<Cell>, Error>>()?);
    }
    // The texts order their rows by the first column, or not at all.
    for equals in rows.chunk_by_mut(|one, other| said.name == "heads" || one.first() == other.first()) {
        equals.sort();
    }
    Ok(Answer::Rows { columns, rows, count: stream.rows_affected().unwrap_or(0) })
}

fn cell(row: &Row, at: usize) -> Result<Cell, Error> {
    Ok(match *row.columns()[at].type_() {
        Type::BOOL => row.try_get::<_, Option<bool>>(at)?.map(|value| value.to_string()),
        Type::INT4 => row.try_get::<_, Option<i32>>(at)?.map(|value| value.to_string()),
        Type::INT8 => row.try_get::<_, Option<i64>>(at)?.map(|value| value.to_string()),
        Type::UUID => row.try_get::<_, Option<Uuid>>(at)?.map(|value| value.to_string()),
        Type::BYTEA => row.try_get::<_, Option<Vec<u8>>>(at)?.map(|value| shown_bytes(&value)),
        Type::DATE => {
            let date: Option<_> = row.try_get(at)?;
            date.and_then(BusinessDate::from_date).map(|date| date.to_string())
        }
        _ => row.try_get(at)?,
    })
}

/// Severity, SQLSTATE and what it speaks of; never the message.
fn failure(error: &Error) -> String {
    let Some(db) = error.as_db_error() else {
        return if error.is_closed() { "closed".to_owned() } else { format!("the client says: {error}") };
    };
    let about = [db.table(), db.column(), db.constraint()];
    let words = [db.severity(), db.code().code()].into_iter().chain(about.into_iter().flatten());
    words.collect::<Vec<_>>().join(" ")
}
