//! Boolean functions as Liberty writes them: parsing, inputs, and how an output follows each input.

use super::liberty::Sense;

/// A parsed function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Function {
    /// Constant.
    Const(bool),
    /// An input, by its place in [`Parsed::inputs`].
    Input(usize),
    /// Complement.
    Not(Box<Function>),
    /// Conjunction.
    And(Box<Function>, Box<Function>),
    /// Disjunction.
    Or(Box<Function>, Box<Function>),
    /// Exclusive or.
    Xor(Box<Function>, Box<Function>),
}

/// A function and the names of its inputs in order of appearance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parsed {
    /// The function.
    pub function: Function,
    /// Input names.
    pub inputs: Vec<String>,
}

/// Deepest expression accepted.
const MAX_DEPTH: usize = 64;
/// Most inputs for which [`Parsed::sense`] enumerates all values.
const MAX_INPUTS: usize = 12;

impl Parsed {
    /// Parses e.g. `!((A1 & A2) | B)`; `'` after an operand complements it, juxtaposition and `*` are AND, `+` is OR.
    /// `None` if the text is no such expression.
    pub fn parse(text: &str) -> Option<Self> {
        let mut p = Parser {
            s: text.as_bytes(),
            at: 0,
            inputs: Vec::new(),
        };
        let function = p.or(0)?;
        p.space();
        (p.at == p.s.len()).then_some(Self {
            function,
            inputs: p.inputs,
        })
    }

    /// Value for the inputs given as bits, input `i` in bit `i`.
    pub fn eval(&self, bits: u32) -> bool {
        fn go(f: &Function, bits: u32) -> bool {
            match f {
                Function::Const(c) => *c,
                Function::Input(i) => bits >> i & 1 == 1,
                Function::Not(a) => !go(a, bits),
                Function::And(a, b) => go(a, bits) && go(b, bits),
                Function::Or(a, b) => go(a, bits) || go(b, bits),
                Function::Xor(a, b) => go(a, bits) != go(b, bits),
            }
        }
        go(&self.function, bits)
    }

    /// How the output follows the named input: `None` if it does not.
    pub fn sense(&self, input: &str) -> Option<Sense> {
        let i = self.inputs.iter().position(|n| n == input)?;
        if self.inputs.len() > MAX_INPUTS {
            return Some(Sense::Non);
        }
        let (mut up, mut down) = (false, false);
        for bits in 0..1u32 << self.inputs.len() {
            if bits >> i & 1 == 0 {
                match (self.eval(bits), self.eval(bits | 1 << i)) {
                    (false, true) => up = true,
                    (true, false) => down = true,
                    _ => {}
                }
            }
        }
        match (up, down) {
            (true, true) => Some(Sense::Non),
            (true, false) => Some(Sense::Positive),
            (false, true) => Some(Sense::Negative),
            (false, false) => None,
        }
    }
}

struct Parser<'a> {
    s: &'a [u8],
    at: usize,
    inputs: Vec<String>,
}

impl Parser<'_> {
    fn space(&mut self) {
        while self.s.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
    }

    fn eat(&mut self, any: &[u8]) -> bool {
        self.space();
        let hit = self.s.get(self.at).is_some_and(|c| any.contains(c));
        self.at += usize::from(hit);
        hit
    }

    fn or(&mut self, depth: usize) -> Option<Function> {
        let mut a = self.and(depth)?;
        while self.eat(b"|+") {
            a = Function::Or(Box::new(a), Box::new(self.and(depth)?));
        }
        Some(a)
    }

    fn and(&mut self, depth: usize) -> Option<Function> {
        let mut a = self.xor(depth)?;
        loop {
            let explicit = self.eat(b"&*");
            self.space();
            let operand = self
                .s
                .get(self.at)
                .is_some_and(|&c| c == b'(' || c == b'!' || word(c));
            if !explicit && !operand {
                return Some(a);
            }
            a = Function::And(Box::new(a), Box::new(self.xor(depth)?));
        }
    }

    fn xor(&mut self, depth: usize) -> Option<Function> {
        let mut a = self.unary(depth)?;
        while self.eat(b"^") {
            a = Function::Xor(Box::new(a), Box::new(self.unary(depth)?));
        }
        Some(a)
    }

    fn unary(&mut self, depth: usize) -> Option<Function> {
        if depth > MAX_DEPTH {
            return None;
        }
        let mut a = if self.eat(b"!") {
            Function::Not(Box::new(self.unary(depth + 1)?))
        } else if self.eat(b"(") {
            let a = self.or(depth + 1)?;
            if !self.eat(b")") {
                return None;
            }
            a
        } else {
            self.space();
            let start = self.at;
            while self.s.get(self.at).is_some_and(|&c| word(c)) {
                self.at += 1;
            }
            match &self.s[start..self.at] {
                b"" => return None,
                b"0" => Function::Const(false),
                b"1" => Function::Const(true),
                name => {
                    let name = String::from_utf8_lossy(name).into_owned();
                    let i = self.inputs.iter().position(|n| *n == name).unwrap_or_else(|| {
                        self.inputs.push(name);
                        self.inputs.len() - 1
                    });
                    Function::Input(i)
                }
            }
        };
        while self.eat(b"'") {
            a = Function::Not(Box::new(a));
        }
        Some(a)
    }
}

fn word(c: u8) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, b'_' | b'[' | b']')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operators_and_their_order() {
        let table = |t: &str| {
            let p = Parsed::parse(t).unwrap();
            (0..1 << p.inputs.len())
                .map(|b| u32::from(p.eval(b)) << b)
                .sum::<u32>()
        };
        assert_eq!(table("A & B"), 0b1000);
        assert_eq!(table("A B"), 0b1000);
        assert_eq!(table("!(A+B)"), 0b0001);
        assert_eq!(table("A' * B'"), 0b0001);
        assert_eq!(table("A ^ B"), 0b0110);
        // A | (B & C), inputs A B C in bits 0, 1, 2.
        assert_eq!(table("A | B & C"), 0b1110_1010);
        for bad in ["", "A &", "(A", "A)", "!"] {
            assert_eq!(Parsed::parse(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn senses() {
        let p = Parsed::parse("(!S & A) | (S & B)").unwrap();
        assert_eq!(p.sense("S"), Some(Sense::Non));
        assert_eq!(p.sense("A"), Some(Sense::Positive));
        assert_eq!(
            Parsed::parse("!(A & B)").unwrap().sense("B"),
            Some(Sense::Negative)
        );
        assert_eq!(p.sense("X"), None);
    }
}
