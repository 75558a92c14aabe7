//! Knows which package may depend on which, and that every library has its reason on a page.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

use crate::none;
use crate::repository::{read, root};

const CORE: &str = "amends-core";
const STORE: &str = "amends-store";
const WORKER: &str = "amends";
const SIM: &str = "amends-sim";

/// Each package, its word in `docs/decisions`, and which of ours it may depend on.
const ARROWS: [(&str, &str, &[&str]); 4] = [
    (CORE, "core", &[]),
    (STORE, "store", &[CORE]),
    (WORKER, "worker", &[CORE, STORE]),
    (SIM, "sim", &[CORE, STORE]),
];

/// All that core may be built from, and all that it may be tested with.
const CORES: [&str; 5] = ["serde", "serde_json", "serde_json_canonicalizer", "sha2", "time"];
const CORES_TESTS: [&str; 5] = ["criterion", "insta", "proptest", "rand", "rand_chacha"];

/// Package → (library, whether it is for tests or builds only).
type Direct = BTreeMap<String, BTreeSet<(String, bool)>>;

fn direct() -> Direct {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--no-deps", "--locked", "--offline", "--format-version", "1"])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let list = |value: &Value| value.as_array().expect("a list").clone();
    let libraries = |package: &Value| {
        let each = list(&package["dependencies"]);
        each.iter().map(|library| (text(&library["name"]), !library["kind"].is_null())).collect()
    };
    list(&metadata["packages"]).iter().map(|package| (text(&package["name"]), libraries(package))).collect()
}

/// Everything that the package is built and tested from, by `Cargo.lock`.
fn graph(package: &str) -> BTreeSet<String> {
    let lock = read("Cargo.lock");
    // `name version`, and what it needs: `name`, or `name version` when there are several.
    let mut edges = BTreeMap::<String, Vec<String>>::new();
    for entry in lock.split("[[package]]\n").skip(1) {
        let value = |key: &str| {
            let line = entry.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = \""));
            line.and_then(|rest| rest.strip_suffix('"')).expect("name and version").to_owned()
        };
        let needs = entry.split_once("dependencies = [").map_or("", |(_, rest)| rest);
        let needs = needs.split_once(']').map_or("", |(list, _)| list).split('"').skip(1).step_by(2);
        let name = value("name");
        // What the lock file does not tell: this edge is for builds without the simulation flag.
        let is_built = |need: &&str| name != "madsim-rdkafka" || *need != "rdkafka-sys";
        let needs = needs.filter(is_built).map(str::to_owned).collect();
        edges.insert(format!("{name} {}", value("version")), needs);
    }
    let resolve = |need: &str| {
        let is_it = |id: &&String| *id == need || id.split(' ').next() == Some(need);
        edges.keys().find(is_it).unwrap_or_else(|| panic!("{need} is not in Cargo.lock")).clone()
    };
    let (mut reached, mut open) = (BTreeSet::new(), vec![resolve(package)]);
    while let Some(id) = open.pop() {
        if reached.insert(id.clone()) {
            open.extend(edges[&id].iter().map(|need| {
                let mut parts = need.split(' ');
                let (name, version) = (parts.next().unwrap_or_default(), parts.next());
                version.map_or_else(|| resolve(name), |version| resolve(&format!("{name} {version}")))
            }));
        }
    }
    reached
}

fn assert_graph_lacks(package: &str, prefix: &str, why: &str) {
    let found: Vec<String> = graph(package).into_iter().filter(|id| id.starts_with(prefix)).collect();
    none(&found, &format!("{package} reaches {prefix}, see `cargo tree -p {package} -i`: {why}"));
}

#[test]
fn arrows_between_packages_run_one_way() {
    let ours: BTreeSet<&str> = ARROWS.iter().map(|(package, ..)| *package).collect();
    let mut wrong = Vec::new();
    for (package, libraries) in direct() {
        let Some((_, _, allowed)) = ARROWS.iter().find(|(name, ..)| *name == package) else {
            wrong.push(format!("{package} has no row in ARROWS"));
            continue;
        };
        for (library, _) in libraries {
            if ours.contains(library.as_str()) && !allowed.contains(&library.as_str()) {
                wrong.push(format!("{package} → {library}"));
            }
        }
    }
    none(
        &wrong,
        "an arrow that docs/architecture.md does not draw; move the line to the package that may know both, or draw the \
         arrow there and in core/tests/tidy/packages.rs",
    );
}

#[test]
fn no_broker_client_under_the_store_or_the_simulator() {
    for package in [CORE, STORE, SIM] {
        assert_graph_lacks(package, "rdkafka", "what speaks to a broker lives in adapters/worker");
    }
}

#[test]
fn production_depends_on_nothing_of_the_simulator() {
    for package in [CORE, STORE, WORKER] {
        assert_graph_lacks(
            package,
            "madsim",
            "simulated time and network are sim's; stand under Environment instead",
        );
    }
}

#[test]
fn the_simulated_records_travel_through_madsims_broker() {
    let carrier = read("sim/src/member/carrier.rs");
    for part in ["SimBroker::default().serve", "BaseProducer", "BaseConsumer"] {
        assert!(
            carrier.contains(part),
            "sim/src/member/carrier.rs carries records without {part} of madsim-rdkafka"
        );
    }
}

#[test]
fn core_depends_on_what_it_is_allowed_to() {
    let cores = &direct()[CORE];
    let of = |for_tests: bool| -> BTreeSet<&str> {
        cores
            .iter()
            .filter(|(_, is_for_tests)| *is_for_tests == for_tests)
            .map(|(name, _)| name.as_str())
            .collect()
    };
    let cure = "core's libraries are a list that is agreed on: change core/Cargo.toml back, or change the list in \
                core/tests/tidy/packages.rs together with docs/decisions/0007";
    assert_eq!(of(false), BTreeSet::from(CORES), "{cure}");
    assert_eq!(of(true), BTreeSet::from(CORES_TESTS), "{cure}");
}

#[test]
fn every_library_has_its_reason() {
    let page = "docs/decisions/0007-which-libraries-and-why.md";
    // Library and the words of the packages that use it, from the first two cells of each row.
    let text = read(page);
    let rows = text.lines().filter_map(|row| {
        let mut cells = row.strip_prefix('|')?.split('|').map(str::trim);
        Some((cells.next()?, cells.next()?))
    });
    let words = |cell: &str| -> Vec<String> {
        cell.split(',').filter_map(|part| part.split_whitespace().next().map(str::to_owned)).collect()
    };
    let mut told = BTreeSet::new();
    for (libraries, packages) in rows.filter(|(library, _)| !matches!(*library, "library" | "–" | "---")) {
        let names = words(libraries).into_iter().filter(|name| !name.starts_with('`'));
        told.extend(
            names.flat_map(|name| words(packages).into_iter().map(move |package| (package, name.clone()))),
        );
    }
    let mut used = BTreeSet::new();
    for (package, libraries) in direct() {
        let word =
            ARROWS.iter().find(|(name, ..)| *name == package).map_or(package.as_str(), |(_, word, _)| word);
        let others =
            libraries.into_iter().filter(|(library, _)| !ARROWS.iter().any(|(ours, ..)| ours == library));
        used.extend(others.map(|(library, _)| (word.to_owned(), library)));
    }
    let missing =
        used.difference(&told).map(|(package, library)| format!("{library}, used by {package}, has no row"));
    let stale =
        told.difference(&used).map(|(package, library)| format!("{library} is not used by {package}"));
    let wrong: Vec<String> = missing.chain(stale).collect();
    none(&wrong, &format!("say in {page} what it is for and what was not taken, or drop the library"));
}
