//! SPDX licence expressions, resolved into choices: `A OR B`, `A AND B`, `A WITH X`, brackets, and the old `A/B`.

use std::collections::BTreeSet;

/// Licences that apply together. A `WITH` is part of the name.
pub type Choice = BTreeSet<String>;

/// All choices, in the order of the expression; `None`: the text is no such expression.
pub fn choices(text: &str) -> Option<Vec<Choice>> {
    let spaced = text.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let mut words = spaced.split_whitespace().peekable();
    let choices = any(&mut words)?;
    words.next().is_none().then_some(choices)
}

type Words<'a> = std::iter::Peekable<std::str::SplitWhitespace<'a>>;

fn any(words: &mut Words) -> Option<Vec<Choice>> {
    let mut choices = all(words)?;
    while words.next_if_eq(&"OR").is_some() {
        choices.extend(all(words)?);
    }
    Some(choices)
}

fn all(words: &mut Words) -> Option<Vec<Choice>> {
    let mut choices = one(words)?;
    while words.next_if_eq(&"AND").is_some() {
        let others = one(words)?;
        choices = choices.iter().flat_map(|choice| others.iter().map(move |other| choice | other)).collect();
    }
    Some(choices)
}

fn one(words: &mut Words) -> Option<Vec<Choice>> {
    let word = words.next().filter(|word| !["OR", "AND", "WITH", ")"].contains(word))?;
    if word == "(" {
        let choices = any(words)?;
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

    fn told(text: &str) -> Option<Vec<String>> {
        let name = |choice: &Choice| choice.iter().cloned().collect::<Vec<_>>().join("+");
        choices(text).map(|choices| choices.iter().map(name).collect())
    }

    #[test]
    fn what_may_be_chosen_is_told_in_its_order() {
        let told = |text| told(text).unwrap();
        assert_eq!(told("MIT"), ["MIT"]);
        assert_eq!(told("MIT/Apache-2.0"), ["MIT", "Apache-2.0"]);
        assert_eq!(told("(MIT OR Apache-2.0) AND Unicode-3.0"), ["MIT+Unicode-3.0", "Apache-2.0+Unicode-3.0"]);
        assert_eq!(told("Apache-2.0 AND ISC OR MIT"), ["Apache-2.0+ISC", "MIT"]);
        let llvm = "Apache-2.0 WITH LLVM-exception";
        assert_eq!(told(&format!("{llvm} OR MIT")), [llvm, "MIT"]);
    }

    #[test]
    fn what_is_no_expression_is_told() {
        for text in ["", "OR", "MIT OR", "MIT MIT", "(MIT", "MIT)", "MIT WITH", "AND MIT"] {
            assert_eq!(told(text), None, "{text}");
        }
    }
}
