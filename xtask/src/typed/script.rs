//! The shell script that types what belongs to one scene, and the answers that it prints.

use super::commands::TypedCommand;
use super::substitutions::typed;
use super::table::Scene;
use std::fmt::Write;

/// Begins each line by which the script reports: which command is next, and with which status it ended.
const MARK: &str = "@@typed";

/// A piece of a document or of a help page, whose commands are typed one after the other in a folder of their own.
#[derive(Clone, Debug)]
pub struct Piece {
    /// Where it stands, for people.
    pub place: String,
    /// What a person does first, as shell commands.
    pub before: &'static str,
    /// Its commands.
    pub commands: Vec<TypedCommand>,
    /// The exit statuses that each of its commands may have.
    pub statuses: &'static [i32],
}

/// What a command did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Its exit status; `None`: the script ended before it did.
    pub status: Option<i32>,
    /// How long it took, in milliseconds.
    pub millis: u64,
    /// What it printed, both streams.
    pub printed: String,
}

/// The script that types these pieces in a scene. Run with bash in the root of the repository, it prints what [`answers`] reads.
pub fn script(scene: Scene, pieces: &[Piece]) -> String {
    let mut script = format!("exec 2>&1\nscene={0}\n. tests/typed/typed.sh\n. tests/typed/{0}.sh\n", scene.name());
    for (index, piece) in pieces.iter().enumerate() {
        let _ = writeln!(script, "piece {index}");
        if !piece.before.is_empty() {
            let _ = writeln!(script, "{}", piece.before);
        }
        for (number, command) in piece.commands.iter().enumerate() {
            let typed = typed(&command.line);
            let _ = writeln!(script, "\nbegins {index} {number}");
            // In this shell, so that folders and variables stay. What goes on in the background is awaited until it serves.
            let _ = match typed.strip_suffix('&').filter(|line| !line.ends_with('&')) {
                Some(line) => writeln!(script, "{line}</dev/null &\nserves $!"),
                None => writeln!(script, "eval \"$(cat <<'TYPED_END'\n{typed}\nTYPED_END\n)\" </dev/null"),
            };
            script.push_str("ended $?\n");
        }
    }
    script.push_str("\nleave\n");
    script
}

/// What each command of the pieces did, by what the script printed.
pub fn answers(pieces: &[Piece], printed: &str) -> Vec<Vec<Answer>> {
    let mut answers: Vec<Vec<Answer>> = pieces
        .iter()
        .map(|piece| vec![Answer { status: None, millis: 0, printed: String::new() }; piece.commands.len()])
        .collect();
    let mut current: Option<(usize, usize)> = None;
    for line in printed.lines() {
        // A command may end without a line break.
        let (text, report) = match line.find(MARK) {
            Some(at) => (&line[..at], Some(line[at + MARK.len()..].trim())),
            None => (line, None),
        };
        let answer = current.and_then(|(piece, command)| answers.get_mut(piece)?.get_mut(command));
        if let Some(answer) = answer {
            if !text.is_empty() || report.is_none() {
                answer.printed.push_str(text);
                answer.printed.push('\n');
            }
            if let Some(status) = report.and_then(|report| report.strip_prefix("= ")) {
                let (status, millis) = status.split_once(' ').unwrap_or((status, "0"));
                (answer.status, answer.millis) = (status.parse().ok(), millis.parse().unwrap_or(0));
                current = None;
            }
        }
        if let Some((piece, command)) = report.and_then(|report| report.split_once(' '))
            && let (Ok(piece), Ok(command)) = (piece.parse(), command.parse())
        {
            current = Some((piece, command));
        }
    }
    answers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_answer_has_its_status_and_what_was_printed() {
        let command = |line: &str| TypedCommand { line: line.to_owned(), shown: Vec::new() };
        let piece = |lines: &[&str]| Piece {
            place: "a.md".to_owned(),
            before: "",
            commands: lines.iter().map(|line| command(line)).collect(),
            statuses: &[0],
        };
        let pieces = [piece(&["one", "two"]), piece(&["three"])];
        let printed =
            format!("noise\n{MARK} 0 0\nout{MARK} = 0 12\n{MARK} 0 1\na\nb\n{MARK} = 3 0\nlater\n{MARK} 1 0\nhangs\n");
        let answer = |status, millis, printed: &str| Answer { status, millis, printed: printed.to_owned() };
        assert_eq!(
            answers(&pieces, &printed),
            [vec![answer(Some(0), 12, "out\n"), answer(Some(3), 0, "a\nb\n")], vec![answer(None, 0, "hangs\n")]]
        );
        let script = script(Scene::Files, &pieces);
        assert!(script.contains("piece 1\n") && script.ends_with("leave\n"), "{script}");
    }
}
