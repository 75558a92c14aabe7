//! Knows the file of a worker's steps: who may write it, and how a run begins in it.

use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use amends_core::journal::{HEADER_BEGINS, Header, Step};
use amends_core::lifecycle::Settings;

/// A file of steps, one JSON line each, behind a header that tells how the worker was started.
pub struct Journal {
    file: BufWriter<File>,
    path: PathBuf,
}

impl Journal {
    /// Appends to the file: the same command starts a stopped worker again, and its journal goes on.
    ///
    /// # Errors
    /// When the file cannot be opened or written, for people.
    pub fn open(path: &Path, settings: &Settings) -> Result<Self, String> {
        let could_not =
            |why: &dyn std::fmt::Display| format!("could not open the journal {}: {why}", path.display());
        let file = OpenOptions::new().create(true).append(true).read(true).open(path);
        let mut file = file.map_err(|error| could_not(&error))?;
        // Two workers in one file would replay to nonsense.
        file.try_lock().map_err(|_| could_not(&"another worker writes to it"))?;
        let is_torn = end_of_journal(&mut file).map_err(|error| could_not(&error))?;
        let is_torn =
            is_torn.ok_or_else(|| could_not(&"it is not empty and no journal; nothing was written to it"))?;
        let mut file = BufWriter::new(file);
        let begin = |file: &mut BufWriter<File>| -> std::io::Result<()> {
            if is_torn {
                file.write_all(b"\n")?;
            }
            serde_json::to_writer(&mut *file, &Header::new(settings.clone()))?;
            file.write_all(b"\n")?;
            file.flush()
        };
        begin(&mut file).map_err(|error| could_not(&error))?;
        Ok(Self { file, path: path.to_owned() })
    }

    /// Writes one step, into memory first.
    ///
    /// # Errors
    /// When the file takes no more.
    pub fn write(&mut self, step: &Step<'_>) -> std::io::Result<()> {
        serde_json::to_writer(&mut self.file, step)?;
        self.file.write_all(b"\n")
    }

    /// Hands what was written to the file.
    ///
    /// # Errors
    /// When the file takes no more.
    pub fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }

    /// Which file it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Whether the journal's last line has no end, as a killed worker leaves it; `None` when the file is no journal.
fn end_of_journal(file: &mut File) -> std::io::Result<Option<bool>> {
    let mut begins = Vec::new();
    file.seek(SeekFrom::Start(0))?;
    let length = u64::try_from(HEADER_BEGINS.len()).unwrap_or(u64::MAX);
    Read::by_ref(file).take(length).read_to_end(&mut begins)?;
    if begins.is_empty() {
        return Ok(Some(false));
    }
    if begins != HEADER_BEGINS.as_bytes() {
        return Ok(None);
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(Some(last != *b"\n"))
}
