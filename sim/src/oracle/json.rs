//! Knows JSON by its grammar alone, without a library: one value, no name twice, no lone surrogate, sixteen levels.

/// The most levels of objects and arrays, the outermost being the first.
const LEVELS: usize = 16;

/// A value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Json {
    /// `null`, `true`, `false` or an array: nothing of ours is one.
    Other,
    /// A number without fraction and exponent that is not `-0`; `None` when it has more than 64 bits.
    Whole(Option<i64>),
    /// Any other number.
    Fraction,
    Text(String),
    Object(Vec<(String, Json)>),
}

/// Reads a whole text; `None` when it is anything else.
pub(super) fn read(bytes: &[u8]) -> Option<Json> {
    std::str::from_utf8(bytes).ok()?;
    let mut reader = Reader { rest: bytes };
    let json = reader.value(LEVELS)?;
    reader.blank();
    reader.rest.is_empty().then_some(json)
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl Reader<'_> {
    fn blank(&mut self) {
        let blanks = self.rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')).count();
        self.rest = &self.rest[blanks..];
    }

    fn next(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    fn eat(&mut self, word: &[u8]) -> Option<()> {
        self.rest = self.rest.strip_prefix(word)?;
        Some(())
    }

    /// Whether the next byte is this one, after blanks; then it is eaten.
    fn has(&mut self, byte: u8) -> bool {
        self.blank();
        self.eat(&[byte]).is_some()
    }

    fn value(&mut self, levels: usize) -> Option<Json> {
        self.blank();
        match *self.rest.first()? {
            b'n' => self.eat(b"null").map(|()| Json::Other),
            b't' => self.eat(b"true").map(|()| Json::Other),
            b'f' => self.eat(b"false").map(|()| Json::Other),
            b'"' => self.text().map(Json::Text),
            b'[' => self.array(levels.checked_sub(1)?),
            b'{' => self.object(levels.checked_sub(1)?),
            _ => self.number(),
        }
    }

    fn array(&mut self, levels: usize) -> Option<Json> {
        self.eat(b"[")?;
        if self.has(b']') {
            return Some(Json::Other);
        }
        loop {
            self.value(levels)?;
            if self.has(b']') {
                return Some(Json::Other);
            }
            self.eat(b",")?;
        }
    }

    fn object(&mut self, levels: usize) -> Option<Json> {
        self.eat(b"{")?;
        let mut members: Vec<(String, Json)> = Vec::new();
        if self.has(b'}') {
            return Some(Json::Object(members));
        }
        loop {
            self.blank();
            let name = self.text()?;
            self.blank();
            self.eat(b":")?;
            let value = self.value(levels)?;
            if members.iter().any(|(known, _)| *known == name) {
                return None;
            }
            members.push((name, value));
            if self.has(b'}') {
                return Some(Json::Object(members));
            }
            self.eat(b",")?;
        }
    }

    fn text(&mut self) -> Option<String> {
        self.eat(b"\"")?;
        let mut bytes = Vec::new();
        loop {
            match self.next()? {
                b'"' => return String::from_utf8(bytes).ok(),
                b'\\' => {
                    let escaped = self.escaped()?;
                    bytes.extend_from_slice(escaped.encode_utf8(&mut [0; 4]).as_bytes());
                }
                0..=0x1f => return None,
                byte => bytes.push(byte),
            }
        }
    }

    fn escaped(&mut self) -> Option<char> {
        Some(match self.next()? {
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let unit = self.four_digits()?;
                // A high surrogate needs its low one; `from_u32` refuses each alone.
                if !(0xd800..0xdc00).contains(&unit) {
                    return char::from_u32(unit);
                }
                self.eat(b"\\u")?;
                let low = self.four_digits()?.checked_sub(0xdc00).filter(|low| *low < 0x400)?;
                return char::from_u32(0x1_0000 + ((unit - 0xd800) << 10) + low);
            }
            _ => return None,
        })
    }

    fn four_digits(&mut self) -> Option<u32> {
        (0..4).try_fold(0, |unit, _| Some(unit * 16 + char::from(self.next()?).to_digit(16)?))
    }

    fn digits(&mut self) -> Option<usize> {
        let count = self.rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.rest = &self.rest[count..];
        (count > 0).then_some(count)
    }

    fn number(&mut self) -> Option<Json> {
        let begin = self.rest;
        let is_negative = self.eat(b"-").is_some();
        let leads_with_zero = self.rest.first() == Some(&b'0');
        if self.digits()? > 1 && leads_with_zero {
            return None;
        }
        let whole = &begin[..begin.len() - self.rest.len()];
        let mut is_whole = !(is_negative && leads_with_zero);
        if self.eat(b".").is_some() {
            self.digits()?;
            is_whole = false;
        }
        if self.eat(b"e").or_else(|| self.eat(b"E")).is_some() {
            if self.eat(b"-").is_none() {
                let _ = self.eat(b"+");
            }
            self.digits()?;
            is_whole = false;
        }
        if !is_whole {
            return Some(Json::Fraction);
        }
        Some(Json::Whole(std::str::from_utf8(whole).ok()?.parse().ok()))
    }
}
