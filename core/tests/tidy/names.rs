//! Knows which words name nothing here.

use crate::lexer::{code, line, words};
use crate::none;
use crate::repository::{production, rust};

/// A file of this name holds what nobody found a place for.
const NO_HOME: [&str; 6] = ["common", "helpers", "misc", "types", "util", "utils"];

/// What declares a name.
const DECLARES: [&str; 10] =
    ["const", "enum", "fn", "mod", "static", "struct", "trait", "type", "union", "macro_rules"];

#[test]
fn no_module_without_a_home() {
    let mut wrong = Vec::new();
    for file in rust() {
        let is_homeless = |part: &str| NO_HOME.contains(&part.trim_end_matches(".rs"));
        if file.path.split('/').any(is_homeless) {
            wrong.push(file.path.clone());
        }
        let modules = declared(&code(&file.text)).into_iter().filter(|(what, ..)| what == "mod");
        let homeless = modules.filter(|(_, _, name)| NO_HOME.contains(&name.as_str()));
        wrong.extend(homeless.map(|(_, line, name)| format!("{}:{line}: mod {name}", file.path)));
    }
    none(&wrong, "name it after what it knows; a line without a home means that a question was not asked");
}

#[test]
fn names_say_what_a_thing_is() {
    let mut wrong = Vec::new();
    for file in rust() {
        for (what, line, name) in declared(&code(&file.text)) {
            let parts = parts(&name);
            let is_banned = match what.as_str() {
                "fn" => matches!(parts.first().map(String::as_str), Some("get" | "do")) && parts.len() > 1,
                _ => {
                    parts.iter().any(|part| part == "manager" || part == "handler")
                        || matches!(parts.last().map(String::as_str), Some("info" | "data"))
                            && parts.len() > 1
                }
            };
            if is_banned {
                wrong.push(format!("{}:{line}: {what} {name}", file.path));
            }
        }
    }
    none(&wrong, "no Manager, Handler, …Info, …Data, get_…, do_…: name the thing, or what comes back");
}

#[test]
fn the_banned_word_for_ownership_is_not_used() {
    let banned = ["lea", "se"].concat();
    let mut wrong = Vec::new();
    for file in production() {
        // Comments as well: whoever reads one believes it.
        let found = words(&file.text)
            .filter(|(_, word)| parts(word).iter().any(|part| part.trim_end_matches(['s', 'd']) == banned));
        wrong.extend(found.map(|(at, word)| format!("{}:{}: {word}", file.path, line(&file.text, at))));
    }
    none(
        &wrong,
        "it promises time, and a token promises nothing but its comparison: say claim, token or tenure",
    );
}

/// Each declaration: by which word, on which line, of which name.
fn declared(code: &str) -> Vec<(String, usize, String)> {
    let all: Vec<(usize, &str)> = words(code).collect();
    let pairs = all.windows(2).filter(|pair| DECLARES.contains(&pair[0].1));
    // `fn(` and `type` in a path declare nothing: the name follows after one blank or `! `.
    let declared = pairs.filter(|pair| {
        let between = &code[pair[0].0 + pair[0].1.len()..pair[1].0];
        !between.is_empty() && between.chars().all(|c| c == ' ' || c == '!')
    });
    declared.map(|pair| (pair[0].1.to_owned(), line(code, pair[1].0), pair[1].1.to_owned())).collect()
}

/// The words of `snake_case` and `CamelCase`, in lower case.
fn parts(name: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut was_lower = false;
    for c in name.chars() {
        if c == '_' || c.is_uppercase() && was_lower {
            parts.push(String::new());
        }
        was_lower = c.is_lowercase() || c.is_numeric();
        if c != '_'
            && let Some(part) = parts.last_mut()
        {
            part.extend(c.to_lowercase());
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

#[test]
fn names_are_taken_apart() {
    assert_eq!(parts("TopicInfo"), ["topic", "info"]);
    assert_eq!(parts("get_release_ms"), ["get", "release", "ms"]);
    assert_eq!(parts("MAX_ATTEMPTS"), ["max", "attempts"]);
    let found =
        declared("struct A { handler: fn(u8) } impl A { pub fn get_b(&self) {} } type C = r#type::D;");
    let names: Vec<&str> = found.iter().map(|(_, _, name)| name.as_str()).collect();
    assert_eq!(names, ["A", "get_b", "C"]);
}
