//! SPDX licence expressions, resolved into choices: `A OR B`, `A AND B`, `A WITH X`, brackets, and the old `A/B`.

use std::collections::BTreeSet;

/// Licences that apply together. A `WITH` is part of the name.
pub type Choice = BTreeSet<String>;

/// All choices, in the order of the expression; `None`: the text is no such expression.
pub fn choices(text: &str) -> Option<Vec<Choice>> {
    let spaced = text.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let mut words = spaced.split_whitespace().peekable();
    let choices = alternatives(&mut words)?;
    words.next().is_none().then_some(choices)
}

type Words<'a> = std::iter::Peekable<std::str::SplitWhitespace<'a>>;

fn alternatives(words: &mut Words) -> Option<Vec<Choice>> {
    let mut choices = conjunction(words)?;
    while words.next_if_eq(&"OR").is_some() {
        choices.extend(conjunction(words)?);
    }
    Some(choices)
}

fn conjunction(words: &mut Words) -> Option<Vec<Choice>> {
    let mut choices = term(words)?;
    while words.next_if_eq(&"AND").is_some() {
        let factors = term(words)?;
        choices = choices.iter().flat_map(|choice| factors.iter().map(move |other| choice | other)).collect();
    }
    Some(choices)
}

fn term(words: &mut Words) -> Option<Vec<Choice>> {
    let word = words.next().filter(|word| !["OR", "AND", "WITH", ")"].contains(word))?;
    if word == "(" {
        let choices = alternatives(words)?;
        return words.next_if_eq(&")").map(|_| choices);
    }
    let name = match words.next_if_eq(&"WITH") {
        Some(with) => format!("{word} {with} {}", words.next()?),
        None => word.to_owned(),
    };
    Some(vec![Choice::from([name])])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(text: &str) -> Option<Vec<String>> {
        let name = |choice: &Choice| choice.iter().cloned().collect::<Vec<_>>().join("+");
        choices(text).map(|choices| choices.iter().map(name).collect())
    }

    #[test]
    fn choices_are_listed_in_the_order_of_the_expression() {
        let listed = |text| listed(text).unwrap();
        assert_eq!(listed("MIT"), ["MIT"]);
        assert_eq!(listed("MIT/Apache-2.0"), ["MIT", "Apache-2.0"]);
        assert_eq!(listed("(MIT OR Apache-2.0) AND Unicode-3.0"), ["MIT+Unicode-3.0", "Apache-2.0+Unicode-3.0"]);
        assert_eq!(listed("Apache-2.0 AND ISC OR MIT"), ["Apache-2.0+ISC", "MIT"]);
        let llvm = "Apache-2.0 WITH LLVM-exception";
        assert_eq!(listed(&format!("{llvm} OR MIT")), [llvm, "MIT"]);
    }

    #[test]
    fn an_invalid_expression_has_no_choices() {
        for text in ["", "OR", "MIT OR", "MIT MIT", "(MIT", "MIT)", "MIT WITH", "AND MIT"] {
            assert_eq!(listed(text), None, "{text}");
        }
    }
}
