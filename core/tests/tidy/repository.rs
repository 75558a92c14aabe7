//! Knows the files of the repository.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::lexer;

/// What is built, downloaded or kept by git itself.
const NOT_OURS: [&str; 4] = [".git", ".services", "artifacts", "target"];

/// One file.
pub struct Text {
    /// From the top of the repository, with `/`.
    pub path: String,
    /// What it says.
    pub text: String,
}

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("core lies in the repository").to_owned()
}

/// The text of a file that must be there.
pub fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("could not read {path}: {error}"))
}

/// Every text file whose path is wanted, in order.
pub fn texts(is_wanted: impl Fn(&str) -> bool) -> Vec<Text> {
    let mut paths = Vec::new();
    walk(&root(), "", &mut paths);
    paths.sort();
    let wanted = paths.into_iter().filter(|path| is_wanted(path));
    let read =
        wanted.filter_map(|path| Some(Text { text: fs::read_to_string(root().join(&path)).ok()?, path }));
    read.collect()
}

fn walk(folder: &Path, prefix: &str, paths: &mut Vec<String>) {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("could not read {prefix}: {error}"));
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{prefix}{name}");
        // A file that went away meanwhile is none.
        let Ok(kind) = entry.file_type() else { continue };
        // In a second worktree `.git` is a file.
        if NOT_OURS.contains(&name.as_str()) {
            continue;
        }
        if kind.is_dir() {
            walk(&entry.path(), &format!("{path}/"), paths);
        } else if kind.is_file() {
            paths.push(path);
        }
    }
}

/// Every Rust file.
pub fn rust() -> Vec<Text> {
    texts(|path| path.ends_with(".rs"))
}

/// The Rust files of what is shipped, without those that are compiled for tests only.
pub fn production() -> Vec<Text> {
    let files: Vec<Text> = rust().into_iter().filter(|file| is_production(&file.path)).collect();
    let tests: BTreeSet<String> = files
        .iter()
        .flat_map(|file| {
            let children = children(&file.path);
            lexer::test_files(&file.text).into_iter().map(move |name| format!("{children}{name}"))
        })
        .collect();
    let is_test = |path: &str| {
        let stem = path.strip_suffix(".rs").unwrap_or(path);
        tests.iter().any(|test| stem == test || path.starts_with(&format!("{test}/")))
    };
    files.into_iter().filter(|file| !is_test(&file.path)).collect()
}

/// `core/src/…`, `adapters/worker/src/…`.
pub fn is_production(path: &str) -> bool {
    let inner = path.strip_prefix("adapters/").unwrap_or(path);
    inner.split('/').nth(1) == Some("src")
}

/// Where the modules of a file lie.
fn children(path: &str) -> String {
    let (folder, name) = path.rsplit_once('/').expect("a source lies in a folder");
    match name {
        "mod.rs" | "lib.rs" | "main.rs" => format!("{folder}/"),
        _ => format!("{}/", path.strip_suffix(".rs").unwrap_or(path)),
    }
}
