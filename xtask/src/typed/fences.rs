//! The fenced blocks of a Markdown document.

use crate::tree::SourceFile;

/// The languages whose blocks are typed: `sh` has commands only, `console` commands after `$ ` and what they print.
const TYPED: [&str; 3] = ["sh", "console", "python"];

/// A block that a document tells people to type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandBlock {
    /// Path of the document from the root.
    pub document: String,
    /// Line of its opening fence, from 1.
    pub line: usize,
    /// What stands behind the opening fence.
    pub language: String,
    /// Its lines, without the fences and their indent.
    pub lines: Vec<String>,
}

/// The blocks of a document that are typed. A fence that is not closed ends with the document.
pub fn blocks(file: &SourceFile) -> Vec<CommandBlock> {
    let mut blocks = Vec::new();
    let mut open: Option<(CommandBlock, usize)> = None;
    for (number, line) in file.lines() {
        let fence = line.trim_start().strip_prefix("```");
        match (&mut open, fence) {
            (None, Some(language)) => {
                let block = CommandBlock {
                    document: file.path.clone(),
                    line: number,
                    language: language.trim().to_owned(),
                    lines: Vec::new(),
                };
                open = Some((block, line.len() - line.trim_start().len()));
            }
            (Some(_), Some(_)) => blocks.extend(open.take().map(|(block, _)| block)),
            (Some((block, indent)), None) => block.lines.push(line.get(*indent..).unwrap_or_default().to_owned()),
            (None, None) => {}
        }
    }
    blocks.extend(open.map(|(block, _)| block));
    blocks.retain(|block| TYPED.contains(&block.language.as_str()));
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_commands_are_found_also_in_lists() {
        let text = "# A\n```sh\none\n```\n```text\nno\n```\n- so:\n  ```console\n  $ two\n\n  shown\n  ```\n```toml\na = 1\n```\n";
        let file = SourceFile { path: "a.md".to_owned(), text: text.to_owned() };
        let found: Vec<(usize, String, Vec<String>)> =
            blocks(&file).into_iter().map(|block| (block.line, block.language, block.lines)).collect();
        let line = |text: &str| text.to_owned();
        assert_eq!(
            found,
            [(2, line("sh"), vec![line("one")]), (9, line("console"), vec![line("$ two"), line(""), line("shown")])]
        );
    }
}
