//! The paths in a source file: in `use` items, flattened, and inline.

use super::code;
use std::collections::BTreeSet;

/// The modules and paths in one file.
#[derive(Debug, Default)]
pub struct Paths {
    /// The modules that it declares to be in files of their own (`mod x;`), at its top level.
    pub children: BTreeSet<String>,
    /// Every path that starts in this crate, in the order of the file.
    pub uses: Vec<UsePath>,
}

/// One path.
#[derive(Debug, PartialEq, Eq)]
pub struct UsePath {
    /// Its segments; `*` for everything in a module.
    pub segments: Vec<String>,
    /// The name that a `use` binds it to here; empty for an inline path.
    pub name: String,
    /// The inline modules around it, outermost first.
    pub enclosing: Vec<String>,
    /// Line, from 1.
    pub line: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'a> {
    Word(&'a str),
    /// `::`
    Join,
    Mark(u8),
}

impl Paths {
    /// Parses a file's text, without its tests.
    pub fn of(text: &str) -> Paths {
        let code = code::without_tests(&code::without_prose(text));
        let tokens = tokens(&code);
        let mut paths = Paths { children: children(&tokens), uses: Vec::new() };
        // The open braces; those of an inline module with its name.
        let mut braces: Vec<Option<&str>> = Vec::new();
        let mut at = 0;
        while at < tokens.len() {
            let (token, line) = tokens[at];
            let start = at;
            at += 1;
            let mut found: Vec<(Vec<String>, String)> = Vec::new();
            match token {
                Token::Mark(b'{') => braces.push(inline_module(&tokens, start)),
                Token::Mark(b'}') => drop(braces.pop()),
                Token::Word("use") if tokens.get(at).is_some_and(|(next, _)| *next != Token::Mark(b'<')) => {
                    at = use_tree(&tokens, at, &[], &mut found);
                }
                Token::Word(_) if tokens.get(at).is_some_and(|(next, _)| *next == Token::Join) => {
                    let path;
                    (path, at) = inline_path(&tokens, start);
                    found.extend(path.map(|path| (path, String::new())));
                }
                _ => {}
            }
            let enclosing: Vec<String> = braces.iter().flatten().map(|&name| name.to_owned()).collect();
            found.retain(|(path, _)| {
                matches!(path[0].as_str(), "crate" | "self" | "super") || paths.children.contains(&path[0])
            });
            paths.uses.extend(found.into_iter().map(|(segments, name)| UsePath {
                segments,
                name,
                enclosing: enclosing.clone(),
                line,
            }));
        }
        paths
    }
}

fn tokens(code: &str) -> Vec<(Token<'_>, usize)> {
    let bytes = code.as_bytes();
    let (mut tokens, mut at, mut line) = (Vec::new(), 0, 1);
    while at < bytes.len() {
        let len = bytes[at..].iter().take_while(|&&byte| code::is_word(byte)).count();
        if len > 0 {
            tokens.push((Token::Word(&code[at..at + len]), line));
        } else if bytes[at..].starts_with(b"::") {
            tokens.push((Token::Join, line));
            at += 1;
        } else if bytes[at] == b'\n' {
            line += 1;
        } else if !bytes[at].is_ascii_whitespace() {
            tokens.push((Token::Mark(bytes[at]), line));
        }
        at += len.max(1);
    }
    tokens
}

/// The names in `mod NAME;`.
fn children(tokens: &[(Token, usize)]) -> BTreeSet<String> {
    let declared = tokens.windows(3).filter_map(|window| match window {
        [(Token::Word("mod"), _), (Token::Word(name), _), (Token::Mark(b';'), _)] => Some((*name).to_owned()),
        _ => None,
    });
    declared.collect()
}

/// The name of the inline module whose brace opens at `at`.
fn inline_module<'a>(tokens: &[(Token<'a>, usize)], at: usize) -> Option<&'a str> {
    match tokens[at.saturating_sub(2)..at] {
        [(Token::Word("mod"), _), (Token::Word(name), _)] => Some(name),
        _ => None,
    }
}

/// Parses one tree of a `use` item from `at` on, behind `prefix`; returns where it ends.
fn use_tree(
    tokens: &[(Token, usize)],
    mut at: usize,
    prefix: &[String],
    found: &mut Vec<(Vec<String>, String)>,
) -> usize {
    let mut path = prefix.to_vec();
    let mut alias = None;
    while let Some(&(token, _)) = tokens.get(at) {
        at += 1;
        match token {
            // `use ::other_crate::x`
            Token::Join if path.is_empty() => path.push(String::new()),
            Token::Join => {}
            Token::Mark(b'{') => {
                while tokens.get(at).is_some_and(|(token, _)| *token != Token::Mark(b'}')) {
                    at = use_tree(tokens, at, &path, found);
                    at += usize::from(tokens.get(at).is_some_and(|(token, _)| *token == Token::Mark(b',')));
                }
                return at + 1;
            }
            Token::Word("as") => {
                alias = tokens
                    .get(at)
                    .and_then(|(token, _)| if let Token::Word(name) = token { Some(*name) } else { None });
                at += 1;
            }
            // `a::{self, b}`: `a` itself
            Token::Word("self") if !path.is_empty() => {}
            Token::Word(name) => path.push(name.to_owned()),
            Token::Mark(b'*') => path.push("*".to_owned()),
            Token::Mark(_) => {
                at -= 1; // the caller handles `,` `}` `;`
                break;
            }
        }
    }
    if let Some(last) = path.last() {
        let name = alias.unwrap_or(last).to_owned();
        found.push((path, name));
    }
    at
}

/// Parses `a::b::c` from `at` on. Returns it, unless it starts outside the crate, and where it ends.
fn inline_path(tokens: &[(Token, usize)], at: usize) -> (Option<Vec<String>>, usize) {
    let mut path = Vec::new();
    let mut end = at;
    while let Some(&(Token::Word(name), _)) = tokens.get(end) {
        path.push(name.to_owned());
        end += 1;
        if tokens.get(end).is_none_or(|(token, _)| *token != Token::Join) {
            break;
        }
        end += 1;
    }
    // `::a::b` and `<T>::b` start elsewhere; `pub(in crate::a)` is not a use.
    let before = at.checked_sub(1).map(|before| tokens[before].0);
    let is_visibility = before == Some(Token::Word("in")) && at >= 2 && tokens[at - 2].0 == Token::Mark(b'(');
    ((before != Some(Token::Join) && !is_visibility).then_some(path), end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uses(text: &str) -> Vec<String> {
        Paths::of(text).uses.iter().map(|found| found.segments.join("::")).collect()
    }

    #[test]
    fn use_trees_are_flattened() {
        assert_eq!(
            uses("use crate::a::{b, c::{D as E, self}, f::*};"),
            ["crate::a::b", "crate::a::c::D", "crate::a::c", "crate::a::f::*"]
        );
        assert_eq!(uses("pub(crate) use self::a::B; use super::super::c;"), ["self::a::B", "super::super::c"]);
        assert_eq!(uses("use {crate::a, std::fmt};\nuse std::io; use ::crate_like::x;"), ["crate::a"]);
        assert_eq!(uses("mod x; pub use x::Y;\nuse y::Z;"), ["x::Y"]);
    }

    #[test]
    fn inline_paths_count_and_visibility_does_not() {
        assert_eq!(
            uses("mod v; fn f() -> crate::a::B { v::g::<u8>(super::c()) + Self::d() }"),
            ["crate::a::B", "v::g", "super::c"]
        );
        assert_eq!(uses("pub(in crate::a) fn f() {} pub(crate) fn g() { <u8>::max() }"), [""; 0]);
    }

    #[test]
    fn prose_and_tests_do_not_count_and_lines_do() {
        let text =
            "// crate::a\nmod b;\n/// [`crate::c`]\nuse crate::d;\n#[cfg(test)]\nmod tests {\n    use super::*;\n}\n";
        let paths = Paths::of(text);
        assert_eq!(paths.children.iter().collect::<Vec<_>>(), ["b"]);
        let d = UsePath { segments: vec!["crate".into(), "d".into()], name: "d".into(), enclosing: vec![], line: 4 };
        assert_eq!(paths.uses, [d]);
    }

    #[test]
    fn inline_modules_are_remembered() {
        let paths = Paths::of("mod inner { fn f() { super::g() } } fn h() { self::g() }");
        assert_eq!(paths.uses[0].enclosing, ["inner"]);
        assert!(paths.uses[1].enclosing.is_empty());
    }
}
