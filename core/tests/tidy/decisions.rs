//! Knows how decisions and migrations are numbered, and what a decision says.

use crate::none;
use crate::repository::texts;

#[test]
fn decisions_are_numbered_densely_and_say_what_they_cost() {
    let mut wrong = Vec::new();
    for (index, page) in texts(|path| path.starts_with("docs/decisions/")).into_iter().enumerate() {
        let number = format!("{:04}", index + 1);
        let name = page.path.rsplit('/').next().unwrap_or_default();
        if !name.starts_with(&format!("{number}-")) || !name.ends_with(".md") {
            wrong.push(format!(
                "{}: the next number is {number}, as {number}-the-sentence-itself.md",
                page.path
            ));
            continue;
        }
        let head = page.text.lines().next().unwrap_or_default();
        if !head.starts_with(&format!("# {number}: ")) {
            wrong.push(format!("{}: it begins with `# {number}: its sentence`", page.path));
        }
        let sections: Vec<&str> = page.text.lines().filter_map(|line| line.strip_prefix("## ")).collect();
        let wanted = ["Context", "Decision", "What it costs"];
        if sections != wanted {
            wrong.push(format!("{}: its sections are {sections:?}", page.path));
        }
    }
    none(&wrong, "a decision has the next number and the sections Context, Decision, What it costs");
}

#[test]
fn migrations_are_numbered_densely() {
    let mut names: Vec<String> =
        texts(|path| path.starts_with("migrations/")).into_iter().map(|file| file.path).collect();
    let number = |path: &String| {
        let name = path.strip_prefix("migrations/V")?.strip_suffix(".sql")?;
        let (number, rest) = name.split_once("__")?;
        let is_name = !rest.is_empty()
            && rest.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
        number.parse::<usize>().ok().filter(|number| is_name && !number.to_string().is_empty())
    };
    names.sort_by_key(number);
    let wrong = names.iter().enumerate().filter(|(index, name)| number(name) != Some(index + 1));
    let wrong: Vec<String> =
        wrong.map(|(index, name)| format!("{name}: the next is V{}__name.sql", index + 1)).collect();
    none(
        &wrong,
        "migrations are V1__name.sql and so on without a hole; a merged one is never renamed or edited",
    );
}
