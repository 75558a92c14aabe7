//! Knows how to write what a server says: the messages of protocol 3.0 back to the client.

use bytes::{BufMut, Bytes, BytesMut};
use postgres_types::Type;

use super::refusal::Refusal;
use super::value::Value;

/// Answers that are not on their way yet.
#[derive(Default)]
pub(super) struct Answers(BytesMut);

/// What ReadyForQuery says of the session.
#[derive(Clone, Copy)]
pub(super) enum Readiness {
    Idle = b'I' as isize,
    InTransaction = b'T' as isize,
    Failed = b'E' as isize,
}

impl Answers {
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Takes all that was written.
    pub(super) fn take(&mut self) -> Bytes {
        self.0.split().freeze()
    }

    fn message(&mut self, kind: u8, body: impl FnOnce(&mut BytesMut)) {
        self.0.put_u8(kind);
        sized(&mut self.0, 4, body);
    }

    /// The session stands.
    pub(super) fn welcome(&mut self, process: i32, secret: i32) {
        self.message(b'R', |body| body.put_i32(0));
        for (name, value) in [
            ("client_encoding", "UTF8"),
            ("server_encoding", "UTF8"),
            ("server_version", "18.0"),
            ("standard_conforming_strings", "on"),
        ] {
            self.message(b'S', |body| {
                put_text(body, name);
                put_text(body, value);
            });
        }
        self.message(b'K', |body| {
            body.put_i32(process);
            body.put_i32(secret);
        });
        self.ready(Readiness::Idle);
    }

    pub(super) fn ready(&mut self, readiness: Readiness) {
        self.message(b'Z', |body| body.put_u8(readiness as u8));
    }

    pub(super) fn parsed(&mut self) {
        self.message(b'1', |_| {});
    }

    pub(super) fn bound(&mut self) {
        self.message(b'2', |_| {});
    }

    /// The parameters of a statement, and the columns of its rows when it has any.
    pub(super) fn described(&mut self, parameters: &[Type], columns: &[(&str, Type)]) {
        self.message(b't', |body| {
            put_count(body, parameters.len());
            parameters.iter().for_each(|ty| body.put_u32(ty.oid()));
        });
        if columns.is_empty() {
            self.message(b'n', |_| {});
            return;
        }
        self.message(b'T', |body| {
            put_count(body, columns.len());
            for (name, ty) in columns {
                put_text(body, name);
                // Table and column of the value, which no client of ours asks for.
                body.put_u32(0);
                body.put_i16(0);
                body.put_u32(ty.oid());
                body.put_i16(size(ty));
                // No type modifier; the format is not known yet.
                body.put_i32(-1);
                body.put_i16(0);
            }
        });
    }

    pub(super) fn row(&mut self, values: &[Value]) {
        self.message(b'D', |body| {
            put_count(body, values.len());
            for value in values {
                let at = body.len();
                if sized(body, 0, |body| value.encode(body)) {
                    body.truncate(at);
                    body.put_i32(-1);
                }
            }
        });
    }

    pub(super) fn complete(&mut self, tag: &str) {
        self.message(b'C', |body| put_text(body, tag));
    }

    pub(super) fn refused(&mut self, refusal: &Refusal) {
        let severity = if refusal.is_fatal { "FATAL" } else { "ERROR" };
        self.message(b'E', |body| {
            put_report(body, severity, refusal.code, refusal.message);
            let of_a_table = refusal.table.map(|_| "amends");
            let fields = [
                (b's', of_a_table),
                (b't', refusal.table),
                (b'c', refusal.column),
                (b'n', refusal.constraint),
            ];
            for (field, value) in fields {
                if let Some(value) = value {
                    body.put_u8(field);
                    put_text(body, value);
                }
            }
            body.put_u8(0);
        });
    }

    pub(super) fn warn(&mut self, code: &str, message: &str) {
        self.message(b'N', |body| {
            put_report(body, "WARNING", code, message);
            body.put_u8(0);
        });
    }
}

/// Writes a body behind its length, which counts `own` bytes for itself.
fn sized<T>(out: &mut BytesMut, own: usize, body: impl FnOnce(&mut BytesMut) -> T) -> T {
    let at = out.len();
    out.put_i32(0);
    let result = body(out);
    let length = u32::try_from(out.len() - at - 4 + own).unwrap_or(u32::MAX);
    out[at..at + 4].copy_from_slice(&length.to_be_bytes());
    result
}

fn put_text(body: &mut BytesMut, text: &str) {
    body.put_slice(text.as_bytes());
    body.put_u8(0);
}

fn put_count(body: &mut BytesMut, count: usize) {
    body.put_u16(u16::try_from(count).unwrap_or(u16::MAX));
}

fn put_report(body: &mut BytesMut, severity: &str, code: &str, message: &str) {
    for (field, value) in [(b'S', severity), (b'V', severity), (b'C', code), (b'M', message)] {
        body.put_u8(field);
        put_text(body, value);
    }
}

/// Bytes of a type of fixed size; -1 for the others.
fn size(ty: &Type) -> i16 {
    match *ty {
        Type::BOOL => 1,
        Type::INT4 | Type::DATE => 4,
        Type::INT8 => 8,
        Type::UUID => 16,
        _ => -1,
    }
}
