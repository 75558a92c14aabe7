//! Knows the statements that a worker sends: each by the digest of its text, with the types of what goes in and out.
//!
//! A text that is not among them is carried out by nobody: whoever changes one proves on a real server what it does,
//! mends the function here that carries it out, and writes down its new digest.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use amends_store::statements::OF_A_WORKER;
use postgres_types::Type;
use sha2::{Digest, Sha256};

/// One statement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Statement {
    SetUp,
    CreateNamespace,
    FindNamespace,
    CreatePartitions,
    Begin,
    Limits,
    Lock,
    Read,
    Commit,
    Status,
    Rollback,
    Claim,
    Heads,
    Positions,
    InsertEvidence,
    UpsertHeads,
    UpsertPositions,
    InsertOutbox,
    Advance,
    HasHistory,
    AppliedMigrations,
}

/// SHA-256 of each text that SimPostgres carries out.
const BY_DIGEST: [(&str, Statement); 21] = [
    ("494df876f3e602fec28b86a4398fbd2e373b148c9b08112466794acdd6f29c79", Statement::SetUp),
    ("341368f39aac199d5676e5e778a8a75fdea9ddfbade42d2a5805661d6a736c49", Statement::CreateNamespace),
    ("967873ac9b130cfd23c6e7a53c91d30badf1a416bba72c10af76f38c932a4c0e", Statement::FindNamespace),
    ("942487ade0bb6ad881f19ffb846b792832c589c074b19e9ec432f1fbf5d7c4cd", Statement::CreatePartitions),
    ("6b403db9321e0242ced0b984df14d3da5513e29675459be3bfeca5fbf9be22aa", Statement::Begin),
    ("162191e43b106d5ae3c5d71103c12f8415506886e3722674b1780bcc45a60368", Statement::Limits),
    ("1a7f91202eb086d225fe168255d6b31793f4d15f3c14116a9f7f4137d7ec0f37", Statement::Lock),
    ("b50ba3371be53a3b4a74f8e7952d94f0542ab70a84a2c253502b231bf0d0ce3a", Statement::Read),
    ("79663c1d3b43ceaf9ee728e501c64b57ae2e4d6cb36ff5c65eddcda1de27342f", Statement::Commit),
    ("2b21476a5391152c714ab8fad8730b2eb8c142a697a8d0702a0eef069db2bf2c", Statement::Status),
    ("587fa628a9fe4642ac0e22825a97e81d388af674f7251a9fb699f96901dcb710", Statement::Rollback),
    ("36b879cafabdf363401860832a67543fc1e1c7ae0071c45efd4ba24c46bff75b", Statement::Claim),
    ("9284646378ab866bc4a7d7f3e64c119a2d77794425c6416933085bf2a0b99baf", Statement::Heads),
    ("14725ab58c1586fb11df357e623cd4086e2816b88a89bceb738abacd72b02fcc", Statement::Positions),
    ("f7e0889daf0c8a25b6ff21134d81f1fa350c539a87a142f1a858f8441388032b", Statement::InsertEvidence),
    ("d5ac1a592e85ca5338bcb1ad12e2235bfd08e7e07f9e8401ec398304212de0d9", Statement::UpsertHeads),
    ("5eff1f945dd0b8eeea0df2d001663688d451066e8509cd4315982e6a8dd55f0b", Statement::UpsertPositions),
    ("7dd0b921400fb0e0f74970561affd072c07327d00fe8745f43fa806900bc2446", Statement::InsertOutbox),
    ("363113330c44aaebb9677d45bfad43d6e25a00a7787ac2bec58917c16f144446", Statement::Advance),
    ("faa38ce8141f28dd6ff207e7fc27fa4c5ce6607bfe5de5487e0c5796bbe70d65", Statement::HasHistory),
    ("349366e47649b677fdcf63f70ef91bf73e3531916d6644dc1026497e65e3eaaf", Statement::AppliedMigrations),
];

/// The texts of this build, so that a digest is computed once for each and not for each message.
static BY_TEXT: LazyLock<BTreeMap<&[u8], Statement>> = LazyLock::new(|| {
    let known =
        OF_A_WORKER.iter().filter_map(|(_, text)| Some((text.as_bytes(), of_digest(text.as_bytes()).ok()?)));
    known.collect()
});

/// The statement of a text, or the text's digest.
fn of_digest(text: &[u8]) -> Result<Statement, String> {
    let digest: String = Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect();
    let found = BY_DIGEST.iter().find(|(known, _)| *known == digest);
    found.map(|(_, statement)| *statement).ok_or(digest)
}

impl Statement {
    /// The statement of a text.
    ///
    /// # Panics
    /// When SimPostgres does not know it.
    pub(super) fn recognise(text: &[u8]) -> Self {
        if let Some(statement) = BY_TEXT.get(text) {
            return *statement;
        }
        of_digest(text).unwrap_or_else(|digest| {
            let text = String::from_utf8_lossy(text);
            let first = text.lines().next().unwrap_or_default();
            panic!("SimPostgres does not know the statement with digest {digest}: {first}")
        })
    }

    /// Whether it is one of those that a failed transaction still takes.
    pub(super) fn ends_a_transaction(self) -> bool {
        matches!(self, Self::Commit | Self::Rollback)
    }

    /// Whether a standby refuses it.
    pub(super) fn needs_a_primary(self) -> bool {
        match self {
            Self::CreateNamespace
            | Self::CreatePartitions
            | Self::Lock
            | Self::Claim
            | Self::InsertEvidence
            | Self::UpsertHeads
            | Self::UpsertPositions
            | Self::InsertOutbox
            | Self::Advance => true,
            Self::SetUp
            | Self::FindNamespace
            | Self::Begin
            | Self::Limits
            | Self::Read
            | Self::Commit
            | Self::Status
            | Self::Rollback
            | Self::Heads
            | Self::Positions
            | Self::HasHistory
            | Self::AppliedMigrations => false,
        }
    }

    /// The types of its parameters, as the store declares them.
    pub(super) fn parameters(self) -> &'static [Type] {
        const TEXT: Type = Type::TEXT;
        const TEXTS: Type = Type::TEXT_ARRAY;
        const INT4: Type = Type::INT4;
        const INT8: Type = Type::INT8;
        const INT8S: Type = Type::INT8_ARRAY;
        const DATES: Type = Type::DATE_ARRAY;
        const BYTES: Type = Type::BYTEA;
        const BYTE_ARRAYS: Type = Type::BYTEA_ARRAY;
        match self {
            Self::SetUp => const { &[TEXT, TEXT, TEXT, TEXT, TEXT] },
            Self::CreateNamespace => const { &[TEXT, TEXT, TEXT, TEXT, TEXT, BYTES] },
            Self::FindNamespace | Self::Status | Self::HasHistory => const { &[TEXT] },
            Self::CreatePartitions | Self::Lock | Self::Read => const { &[TEXT, INT4] },
            Self::Begin | Self::Commit | Self::Rollback | Self::AppliedMigrations => &[],
            Self::Limits => const { &[TEXT, TEXT, TEXT] },
            Self::Claim => const { &[TEXT, INT4, INT8, TEXT] },
            Self::Heads => const { &[TEXT, INT4, TEXTS] },
            Self::Positions => const { &[TEXT, TEXTS, TEXTS, DATES, DATES, INT8] },
            Self::InsertEvidence => {
                const { &[TEXT, INT4, INT8S, TEXTS, TEXTS, INT8S, BYTE_ARRAYS, BYTE_ARRAYS, INT8] }
            }
            Self::UpsertHeads => const { &[TEXT, INT4, TEXTS, INT8S, TEXTS, TEXTS, DATES, INT8S] },
            Self::UpsertPositions => const { &[TEXT, TEXTS, TEXTS, DATES, INT8S, INT8S, INT8S, TEXTS] },
            Self::InsertOutbox => {
                const { &[TEXT, INT4, INT8S, DATES, TEXTS, TEXTS, INT8S, INT8S, TEXTS, TEXTS, INT8S, TEXTS] }
            }
            Self::Advance => const { &[TEXT, INT4, INT8, Type::UUID, INT8, INT8, INT8, INT8] },
        }
    }

    /// The columns of its rows; none when it returns no rows.
    pub(super) fn columns(self) -> &'static [(&'static str, Type)] {
        const TEXT: Type = Type::TEXT;
        const INT8: Type = Type::INT8;
        const SET: (&str, Type) = ("set_config", TEXT);
        const SHOWN: (&str, Type) = ("current_setting", TEXT);
        match self {
            Self::SetUp => {
                const {
                    &[
                        SET, SHOWN, SHOWN, SET, SET, SET, SET, SET, SET, SET, SET, SET, SET, SET, SET, SET,
                        SET, SET, SET, SET, SET,
                    ]
                }
            }
            Self::Limits => const { &[SET, SET, SET] },
            Self::FindNamespace => {
                const {
                    &[
                        ("uuid", Type::UUID),
                        ("sink", TEXT),
                        ("source_topic", TEXT),
                        ("config", TEXT),
                        ("digest", Type::BYTEA),
                    ]
                }
            }
            Self::Lock => const { &[("?column?", Type::INT4)] },
            Self::Read => {
                const {
                    &[
                        ("pg_current_xact_id", TEXT),
                        SHOWN,
                        ("uuid", Type::UUID),
                        ("sink", TEXT),
                        ("source_topic", TEXT),
                        ("incarnation", TEXT),
                        ("digest", Type::BYTEA),
                        ("epoch", INT8),
                        ("claim_id", Type::UUID),
                        ("next_offset", INT8),
                    ]
                }
            }
            Self::Status => const { &[("pg_xact_status", TEXT)] },
            Self::Claim => const { &[("epoch", INT8), ("claim_id", Type::UUID), ("next_offset", INT8)] },
            Self::Heads => {
                const {
                    &[
                        ("transaction_id", TEXT),
                        ("revision", INT8),
                        ("item", TEXT),
                        ("location", TEXT),
                        ("business_date", Type::DATE),
                        ("quantity", INT8),
                    ]
                }
            }
            Self::Positions => {
                const {
                    &[
                        ("want", INT8),
                        ("item", TEXT),
                        ("location", TEXT),
                        ("business_date", Type::DATE),
                        ("version", INT8),
                        ("live", INT8),
                        ("balance", INT8),
                        ("state", TEXT),
                    ]
                }
            }
            Self::HasHistory => const { &[("?column?", Type::BOOL)] },
            Self::AppliedMigrations => {
                const { &[("version", Type::INT4), ("name", Type::VARCHAR), ("checksum", Type::VARCHAR)] }
            }
            Self::CreateNamespace
            | Self::CreatePartitions
            | Self::Begin
            | Self::Commit
            | Self::Rollback
            | Self::InsertEvidence
            | Self::UpsertHeads
            | Self::UpsertPositions
            | Self::InsertOutbox
            | Self::Advance => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_text_of_a_worker_is_known() {
        for (name, text) in OF_A_WORKER {
            let statement = of_digest(text.as_bytes());
            assert!(statement.is_ok(), "{name} has the digest {statement:?}");
        }
    }
}
