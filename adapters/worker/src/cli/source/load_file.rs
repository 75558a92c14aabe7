//! Knows a load file: a regular, finite file, checked as a whole before its first line is used, and never in memory as
//! a whole.

use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Take};
use std::path::{Path, PathBuf};

use amends_core::source::load_file::{Publication, read_line};
use amends_core::source::manifest::Config;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::cli::Failed;

/// A longer line is no record: a broker takes a tenth of it at the most.
const LINE_BYTES: u64 = 64 << 20;

/// A file whose every line is a record for a partition of the manifest.
pub(super) struct LoadFile {
    path: PathBuf,
    file: File,
    bytes: u64,
    lines: usize,
}

impl LoadFile {
    /// Reads the whole file once.
    pub(super) fn check(path: &Path, config: &Config) -> Result<Self, Failed> {
        let unreadable = |why: &dyn std::fmt::Display| {
            Failed::usage(format!("could not read {}: {why}; nothing was published", path.display()))
        };
        // Before it is opened: opening a pipe waits for its writer.
        let kind = fs::metadata(path).map_err(|error| unreadable(&error))?.file_type();
        let file =
            if kind.is_file() { Some(File::open(path).map_err(|error| unreadable(&error))?) } else { None };
        let Some(file) = file else {
            let what = if kind.is_dir() { "a directory" } else { "a pipe or device" };
            return Err(unreadable(&format!("it is {what}, and a load file is a regular file with an end")));
        };
        let mut checked = Self { path: path.to_owned(), file, bytes: u64::MAX, lines: 0 };
        let mut lines = checked.lines().map_err(|error| unreadable(&error))?;
        while lines.next(config).map_err(|failed| failed.so("nothing was published"))?.is_some() {}
        let (bytes, count) = (lines.bytes, lines.number);
        Ok(Self { bytes, lines: count, ..checked })
    }

    /// How many lines it has.
    pub(super) fn count(&self) -> usize {
        self.lines
    }

    /// The lines from the first on; what was appended since the check is not looked at.
    pub(super) fn lines(&mut self) -> io::Result<Lines<'_>> {
        self.file.seek(SeekFrom::Start(0))?;
        let reader = BufReader::with_capacity(256 << 10, &self.file).take(self.bytes);
        Ok(Lines { path: &self.path, reader, buffer: Vec::new(), bytes: 0, number: 0 })
    }
}

/// The lines of a file, one at a time.
pub(super) struct Lines<'a> {
    path: &'a Path,
    reader: Take<BufReader<&'a File>>,
    buffer: Vec<u8>,
    bytes: u64,
    number: usize,
}

impl Lines<'_> {
    /// What the next line publishes.
    pub(super) fn next(&mut self, config: &Config) -> Result<Option<Publication>, Failed> {
        self.buffer.clear();
        let read = (&mut self.reader).take(LINE_BYTES + 1).read_until(b'\n', &mut self.buffer);
        let read = read.map_err(|error| self.refused(&error))?;
        if read == 0 {
            return Ok(None);
        }
        self.number += 1;
        self.bytes = self.bytes.saturating_add(u64::try_from(read).unwrap_or(u64::MAX));
        let line = self.buffer.strip_suffix(b"\n").unwrap_or(&self.buffer);
        if u64::try_from(line.len()).is_ok_and(|length| length > LINE_BYTES) {
            return Err(self.refused(&format!("line {} is longer than {LINE_BYTES} bytes", self.number)));
        }
        let publication = read_line(config, self.number, line, |text| STANDARD.decode(text).ok());
        publication.map(Some).map_err(|refused| self.refused(&refused))
    }

    /// The caller adds what happens now.
    fn refused(&self, why: &dyn std::fmt::Display) -> Failed {
        Failed { exit: 2, code: "load-file", text: format!("could not load {}: {why}", self.path.display()) }
    }
}
