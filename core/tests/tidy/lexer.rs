//! Knows which bytes of a Rust source are code, which are comments and which are strings; no more of the language.

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Code,
    Comment,
    Text,
}

/// The source with everything but code blanked out, so that offsets and lines stay.
pub fn code(source: &str) -> String {
    keep(source, |kind| kind == Kind::Code)
}

/// The source without its comments; strings stay.
pub fn without_comments(source: &str) -> String {
    keep(source, |kind| kind != Kind::Comment)
}

/// The same, without what is compiled for tests only: `#[cfg(test)] mod …`.
pub fn without_tests(source: &str, view: &str) -> String {
    let mut view = view.as_bytes().to_vec();
    for (from, to) in test_modules(&code(source)).1 {
        view[from..to].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
    }
    String::from_utf8(view).expect("whole modules are cut")
}

/// The modules of this source that are files of their own and compiled for tests only.
pub fn test_files(source: &str) -> Vec<String> {
    test_modules(&code(source)).0
}

fn test_modules(code: &str) -> (Vec<String>, Vec<(usize, usize)>) {
    let (mut files, mut bodies) = (Vec::new(), Vec::new());
    for (at, attribute) in code.match_indices("#[cfg(test)]") {
        let rest = &code[at + attribute.len()..];
        let mut seen = words(rest).map(|(_, word)| word).skip_while(|word| *word != "mod");
        let item = rest.find([';', '{']).map(|end| (end, rest.as_bytes()[end]));
        let is_module = item.is_some_and(|(end, _)| words(&rest[..end]).any(|(_, word)| word == "mod"));
        match (is_module, item) {
            (true, Some((_, b';'))) => files.extend(seen.nth(1).map(str::to_owned)),
            (true, Some((end, _))) => bodies.push((at, at + attribute.len() + end + block(&rest[end..]))),
            _ => {}
        }
    }
    (files, bodies)
}

/// The length of the block that begins with the first byte, a brace.
pub fn block(code: &str) -> usize {
    let mut depth = 0;
    for (at, byte) in code.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    code.len()
}

/// Each identifier, keyword and number, with where it begins.
pub fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let mut at = 0;
    std::iter::from_fn(move || {
        at += text[at..].find(is_part)?;
        let from = at;
        at += text[from..].find(|c| !is_part(c)).unwrap_or(text.len() - from);
        Some((from, &text[from..at]))
    })
}

/// The line, from 1, of an offset.
pub fn line(text: &str, offset: usize) -> usize {
    1 + text.as_bytes()[..offset].iter().filter(|byte| **byte == b'\n').count()
}

fn keep(source: &str, is_kept: impl Fn(Kind) -> bool) -> String {
    let kinds = kinds(source);
    let kept = source.char_indices().map(|(at, c)| if is_kept(kinds[at]) || c == '\n' { c } else { ' ' });
    // A blank is as long as what it stands for.
    let lengths = source.chars().map(char::len_utf8);
    kept.zip(lengths)
        .flat_map(|(c, length)| std::iter::repeat_n(c, if c == ' ' { length } else { 1 }))
        .collect()
}

/// The kind of each byte.
fn kinds(source: &str) -> Vec<Kind> {
    let bytes = source.as_bytes();
    let mut kinds = vec![Kind::Code; bytes.len()];
    let mut at = 0;
    while at < bytes.len() {
        let (kind, to) = token(source, at);
        kinds[at..to].fill(kind);
        at = to;
    }
    kinds
}

/// What begins here, and where it ends.
fn token(source: &str, at: usize) -> (Kind, usize) {
    let rest = &source[at..];
    if rest.starts_with("//") {
        return (Kind::Comment, at + rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return (Kind::Comment, at + rest.find("*/").map_or(rest.len(), |end| end + 2));
    }
    let is_inside_word = source[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
    let raw = RAW.iter().filter(|_| !is_inside_word).find_map(|prefix| rest.strip_prefix(prefix));
    if let Some(body) = raw {
        let hashes = body.bytes().take_while(|byte| *byte == b'#').count();
        if body[hashes..].starts_with('"') {
            let close = format!("\"{}", "#".repeat(hashes));
            let from = rest.len() - body.len() + hashes + 1;
            let end = rest[from..].find(&close).map_or(rest.len(), |end| from + end + close.len());
            return (Kind::Text, at + end);
        }
    }
    if rest.starts_with('"') {
        return (Kind::Text, at + quoted(rest, '"'));
    }
    if let Some(after) = rest.strip_prefix('\'') {
        let mut chars = after.chars();
        let is_char = chars.next() == Some('\\') || chars.next() == Some('\'');
        if is_char {
            return (Kind::Text, at + quoted(rest, '\''));
        }
    }
    (Kind::Code, at + rest.chars().next().map_or(1, char::len_utf8))
}

/// What begins a raw string.
const RAW: [&str; 3] = ["r", "br", "cr"];

fn quoted(rest: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        if c == quote && !is_escaped {
            return at + 1;
        }
        is_escaped = c == '\\' && !is_escaped;
    }
    rest.len()
}

#[test]
fn strings_and_comments_are_told_from_code() {
    let source = r##"let a = "x \" // y"; // z "q"
let b = r#"raw " /* "#; let c = '"'; let d: &'static str = b"e"; /* f */ g('\'', 'ß', "h");"##;
    let code = code(source);
    assert_eq!(code.len(), source.len());
    let words: Vec<_> = words(&code).map(|(_, word)| word).collect();
    assert_eq!(words, ["let", "a", "let", "b", "let", "c", "let", "d", "static", "str", "b", "g"]);
    assert!(without_comments(source).contains("raw \" /*") && !without_comments(source).contains("z \"q\""));
}

#[test]
fn what_is_compiled_for_tests_only_is_left_out() {
    let source =
        "fn a() {}\n#[cfg(test)]\nmod table;\n#[cfg(test)]\nmod tests { fn b() { c() } }\nfn d() {}\n";
    assert_eq!(test_files(source), ["table"]);
    let left = without_tests(source, &code(source));
    let words: Vec<_> = words(&left).map(|(_, word)| word).collect();
    assert_eq!(words, ["fn", "a", "cfg", "test", "mod", "table", "fn", "d"]);
}
