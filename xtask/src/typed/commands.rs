//! The commands of a block or an example: what is typed, and what the document shows that it prints.

use super::fences::CommandBlock;

/// A command line as printed, and the output shown below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypedCommand {
    /// The command, without prompt and comment. Lines that end with a backslash, or inside of quotation marks, are joined.
    pub line: String,
    /// The lines shown; `...` stands for any. Empty: none are shown, and any may be printed.
    pub shown: Vec<String>,
}

/// The commands of a block. Of `sh` each line is one, of `console` each that begins with `$ `.
pub fn commands(block: &CommandBlock) -> Vec<TypedCommand> {
    let is_console = block.language == "console";
    let mut commands: Vec<TypedCommand> = Vec::new();
    let mut is_continued = false;
    for line in &block.lines {
        let typed = if is_console && !is_continued { line.strip_prefix("$ ") } else { Some(line.as_str()) };
        match (typed, commands.last_mut()) {
            (Some(typed), Some(last)) if is_continued => match last.line.strip_suffix('\\') {
                Some(begun) => last.line = format!("{begun}{}", typed.trim_start()),
                None => last.line = format!("{}\n{typed}", last.line),
            },
            (Some(typed), _) => commands.push(TypedCommand { line: typed.to_owned(), shown: Vec::new() }),
            (None, Some(last)) => last.shown.push(line.clone()),
            (None, None) => {}
        }
        let goes_on = |line: &str| line.ends_with('\\') || line.matches('"').count() % 2 == 1;
        is_continued = commands.last().is_some_and(|last| last.shown.is_empty() && goes_on(&last.line));
    }
    for command in &mut commands {
        command.line = without_comment(&command.line).to_owned();
    }
    commands.retain(|command| !command.line.is_empty());
    commands
}

/// A command line without the comment behind it: ` # ` and what follows, or all of a line that begins with `#`.
pub fn without_comment(line: &str) -> &str {
    let end = if line.starts_with('#') { 0 } else { line.find(" #").unwrap_or(line.len()) };
    line[..end].trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(language: &str, text: &str) -> Vec<(String, Vec<String>)> {
        let lines = text.lines().map(str::to_owned).collect();
        let block = CommandBlock { document: "a.md".to_owned(), line: 1, language: language.to_owned(), lines };
        commands(&block).into_iter().map(|command| (command.line, command.shown)).collect()
    }

    #[test]
    fn each_line_of_sh_is_a_command_and_comments_are_left_out() {
        let text = "# all of it\none --a   # why\n\ntwo \\\n    --b  # c\n";
        assert_eq!(of("sh", text), [("one --a".to_owned(), vec![]), ("two --b".to_owned(), vec![])]);
    }

    #[test]
    fn what_follows_a_prompt_is_shown() {
        let text = "$ one\n$ two   # c\nthis\n...\n# that\n";
        let shown = ["this", "...", "# that"].map(str::to_owned).to_vec();
        assert_eq!(of("console", text), [("one".to_owned(), vec![]), ("two".to_owned(), shown)]);
    }
}
