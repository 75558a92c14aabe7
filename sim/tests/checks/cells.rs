//! The cells of the reducer's table: read from its page, and met by worlds.

use amends_sim::cells::Cells;
use amends_sim::run::{Stage, Tier, live};
use amends_sim::scenario::marked;

#[test]
fn the_table_is_what_the_page_does_not_call_impossible() {
    let table: Vec<String> = Cells::table().without(Cells::default()).collect();
    assert_eq!(u32::try_from(table.len()).unwrap(), Cells::table().count());
    let has = |cell: &str| table.iter().any(|known| known == cell);
    for cell in ["claiming: claim-unknown", "observing: observed", "ending: committed", "running: assigned"] {
        assert!(has(cell), "{cell}");
    }
    // Impossible, and what only an event of the process does to a tenure.
    for cell in ["claiming: committed", "placing: claimed", "running: closed", "polling: revoked"] {
        assert!(!has(cell), "{cell}");
    }
    let page = include_str!("../../../docs/transitions.md");
    let answered =
        page.split("\n## ").filter(|state| !state.contains("×  claim, observe, seek, probe, poll, process"));
    for state in
        answered.skip(1).filter_map(|state| state.lines().next()).filter(|name| *name != "The process")
    {
        assert!(table.iter().any(|cell| cell.starts_with(&format!("{state}: "))), "{state}");
    }
}

#[test]
fn worlds_meet_most_of_the_table_and_nothing_impossible() {
    let mut met = Cells::default();
    for seed in 0..1_000 {
        let lived = live(Tier::A, Stage::Drawn(marked::draw(seed)), false).unwrap();
        assert_eq!(lived.cells.without(Cells::table()).collect::<Vec<_>>(), [""; 0], "seed {seed}");
        met.add(lived.cells);
    }
    assert!(met.count() >= 50, "{}", met.count());
}
