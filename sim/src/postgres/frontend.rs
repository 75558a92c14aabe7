//! Knows how to read what a client sends: the messages of protocol 3.0 that tokio-postgres uses.

use bytes::{Buf, Bytes, BytesMut};

use super::statement::Statement;

/// One message of a client.
#[derive(Clone, Debug)]
pub(super) enum Message {
    Startup,
    Cancel { process: i32, secret: i32 },
    Query(Statement),
    Parse { statement: Statement, types: Vec<u32> },
    Bind(Vec<Option<Bytes>>),
    Describe,
    Execute,
    Sync,
    Terminate,
}

/// The bytes of one direction, as they come in.
#[derive(Default)]
pub(super) struct Decoder {
    buffer: BytesMut,
    /// The first message has no type byte.
    is_started: bool,
}

const CANCEL_REQUEST: i32 = 80_877_102;

impl Decoder {
    pub(super) fn take(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// The next complete message.
    pub(super) fn next(&mut self) -> Option<Message> {
        let head = usize::from(self.is_started);
        let length = self.buffer.get(head..head + 4)?;
        let length = length.iter().fold(0, |length, byte| length << 8 | usize::from(*byte));
        if self.buffer.len() < head + length {
            return None;
        }
        let mut message = self.buffer.split_to(head + length).freeze();
        let kind = if self.is_started { message.get_u8() } else { 0 };
        message.advance(4);
        self.is_started = true;
        Some(match kind {
            0 => match message.get_i32() {
                CANCEL_REQUEST => Message::Cancel { process: message.get_i32(), secret: message.get_i32() },
                _ => Message::Startup,
            },
            b'Q' => Message::Query(Statement::recognise(&text(&mut message))),
            b'P' => {
                assert_unnamed(&text(&mut message));
                let statement = Statement::recognise(&text(&mut message));
                let types = (0..message.get_i16()).map(|_| message.get_u32()).collect();
                Message::Parse { statement, types }
            }
            b'B' => Message::Bind(parameters(message)),
            b'D' => Message::Describe,
            b'E' => Message::Execute,
            b'S' => Message::Sync,
            b'X' => Message::Terminate,
            kind => {
                panic!("the client sent a message {:?}, which SimPostgres does not read", char::from(kind))
            }
        })
    }
}

/// Up to its NUL.
fn text(message: &mut Bytes) -> Bytes {
    let end = message.iter().position(|byte| *byte == 0).unwrap_or(message.len());
    let text = message.split_to(end);
    message.advance(1);
    text
}

/// The store prepares nothing under a name, and every portal is the unnamed one.
fn assert_unnamed(name: &Bytes) {
    assert!(
        name.is_empty(),
        "the client names a statement or portal {name:?}, which SimPostgres does not keep"
    );
}

/// The parameters of a Bind, which are in binary form and ask for binary answers.
fn parameters(mut message: Bytes) -> Vec<Option<Bytes>> {
    assert_unnamed(&text(&mut message));
    assert_unnamed(&text(&mut message));
    let all_binary = (0..message.get_i16()).all(|_| message.get_i16() == 1);
    let parameters = (0..message.get_i16())
        .map(|_| usize::try_from(message.get_i32()).ok().map(|length| message.split_to(length)))
        .collect();
    let all_binary = (0..message.get_i16()).all(|_| message.get_i16() == 1) && all_binary;
    assert!(all_binary, "the client binds or asks for values as text, which SimPostgres does not do");
    parameters
}
