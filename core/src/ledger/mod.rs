//! Decides what each record does to the ledger.
