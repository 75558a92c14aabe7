//! Knows what one record of a source carries; payloads live here and in adapters, never in the reducer.

use crate::ids::Offset;

/// One visible record of a partition: the exact bytes, where an absent part differs from an empty one.
#[derive(Clone, PartialEq, Eq)]
pub struct Record {
    /// Where it lies in its partition.
    pub offset: Offset,
    /// The key's bytes.
    pub key: Option<Vec<u8>>,
    /// The value's bytes.
    pub value: Option<Vec<u8>>,
}

/// Sizes only: a payload is never logged.
impl std::fmt::Debug for Record {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let len = |part: &Option<Vec<u8>>| part.as_ref().map(Vec::len);
        write!(
            f,
            "record {} (key {:?} bytes, value {:?} bytes)",
            self.offset,
            len(&self.key),
            len(&self.value)
        )
    }
}
