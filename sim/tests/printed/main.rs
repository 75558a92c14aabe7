//! Prints `docs/faults-and-checks.md` from the catalogue of faults and the list of checks, and fails when the page is
//! stale.

use std::fmt::Write as _;
use std::path::Path;

use amends_sim::checks::ALL;
use amends_sim::faults::{CATALOGUE, Entry};

const HEAD: &str = "\
# Faults and checks

Printed by a test from `sim/src/faults/catalogue.rs` and `sim/src/checks`; `make bless` prints it again.

## Faults

Each is left out of a world with probability one half. Else it strikes at so many of a thousand opportunities at most, or
it happens once, in so many of a thousand worlds, at a drawn time. `cargo sim --seed N --json` prints what was drawn. In a scenario each is
called by its name.

| # | name | what happens | severity | forms | how often of 1,000 |
|---|---|---|---|---|---|
";

const CHECKS: &str = "
## Checks

Each is on in every world, knows only what services, wires and the boundary of the reducer showed, and has at least two
broken programs that it must catch.

| # | what must hold |
|---|---|
";

fn page() -> String {
    let mut page = HEAD.to_owned();
    for entry in CATALOGUE {
        let Entry { fault, name, what, unit, severity: (least, most), is_incident, per_mille, variants } =
            entry;
        let number = *fault as u8;
        let severity = if unit.is_empty() { String::new() } else { format!("{least} to {most} {unit}") };
        let rate = format!("{} {per_mille}", if *is_incident { "once" } else { "each" });
        let forms = variants.join(", ");
        let _ = writeln!(page, "| F{number:02} | `{name}` | {what} | {severity} | {forms} | {rate} |");
    }
    page.push_str(CHECKS);
    for (name, claim) in ALL {
        let _ = writeln!(page, "| {name} | {claim} |");
    }
    page
}

#[test]
fn the_page_is_what_the_code_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/faults-and-checks.md");
    let page = page();
    if std::env::var_os("AMENDS_BLESS").is_some() {
        std::fs::write(&path, &page).expect("the page can be written");
    }
    let printed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(printed == page, "docs/faults-and-checks.md is stale: look at what changed, then `make bless`");
}
