//! Completions for shells: clap's own, and values that depend on the machine: in bash devices and files, in all volumes.

use clap::{Arg, Command, ValueHint};
use clap_complete::Shell;
use std::fmt::Write;

/// Completes devices, files and volumes, by the table in [`values`].
const BASH: &str = include_str!("completions.bash");

/// The names of served volumes in zsh; of each line of JSON, the name is the first string of that key.
const ZSH: &str = r#"
(( $+functions[_scrubjay_volumes] )) ||
_scrubjay_volumes() {
    local -a names
    names=(${(f)"$(timeout 2 scrubjay volume status --json 2>/dev/null | sed -n 's/^[^{]*{"schema":[0-9]*,"name":"\([^"\\]*\)".*/\1/p')"})
    compadd -a names
}

(( $+functions[_scrubjay_targets] )) ||
_scrubjay_targets() {
    _alternative 'volumes:volume:_scrubjay_volumes' 'files:device or file:_files'
}
"#;

/// The same in fish.
const FISH: &str = r#"
function __scrubjay_volumes
    timeout 2 scrubjay volume status --json 2>/dev/null | string match -r -g '^\{"schema":[0-9]+,"name":"([^"\\\\]+)"'
end
complete -c scrubjay -n "__fish_scrubjay_using_subcommand scrub" -a "(__scrubjay_volumes)"
"#;

/// The script for a shell.
pub fn script(shell: Shell, mut command: Command) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, "scrubjay", &mut script);
    let script = String::from_utf8(script).expect("a script is text");
    match shell {
        Shell::Bash => {
            let mut table = String::new();
            values(&command, "scrubjay", &mut table);
            format!("{script}\ndeclare -gA _scrubjay_values=(\n{table})\n{BASH}")
        }
        Shell::Zsh => {
            let is_volume = |line: &str| line.contains(":VOLUME:_default") || line.starts_with("'::volume -- ");
            let lines = script.lines().map(|line| match line {
                _ if is_volume(line) => line.replace(":_default", ":_scrubjay_volumes"),
                _ if line.starts_with("'*::targets -- ") => line.replace(":_files", ":_scrubjay_targets"),
                _ => line.to_owned(),
            });
            let script = lines.collect::<Vec<_>>().join("\n") + "\n";
            // It ends by running the function, when the shell loads it in its place.
            script.replacen("\n_scrubjay() {", &format!("{ZSH}\n_scrubjay() {{"), 1)
        }
        Shell::Fish => {
            let lines = script.lines().map(|line| match line.contains(" -l volume ") {
                true => format!("{line} -f -a \"(__scrubjay_volumes)\""),
                false => line.to_owned(),
            });
            lines.collect::<Vec<_>>().join("\n") + FISH
        }
        _ => script,
    }
}

/// Adds a row for the command, one for each of its options that takes a value, and those of the commands below it.
fn values(command: &Command, path: &str, table: &mut String) {
    let mut row = |key: &str, kinds: &str| writeln!(table, "    [\"{key}\"]=\"{kinds}\"").expect("room in memory");
    let arguments: Vec<&str> = command.get_positionals().map(argument_kinds).collect();
    // Where nothing is known of the arguments, there are options or commands to offer.
    let is_known = arguments.iter().any(|kinds| *kinds != "none") && !arguments.contains(&"words");
    row(path, &if is_known { arguments.join(" ") } else { "words".to_owned() });
    for option in command.get_opts() {
        let names = option.get_long().map(|name| format!("--{name}")).into_iter();
        for name in names.chain(option.get_short().map(|name| format!("-{name}"))) {
            // An option whose value comes after `=` alone is followed by something else.
            let is_followed = !option.is_require_equals_set();
            if is_followed {
                row(&format!("{path} {name}"), kinds(option));
            }
        }
    }
    for below in command.get_subcommands() {
        values(below, &format!("{path} {}", below.get_name()), table);
    }
}

/// What an argument may be; `words`: one of the known values, which clap offers; `none`: nobody knows.
fn argument_kinds(argument: &Arg) -> &'static str {
    match value_name(argument) {
        "TARGET" => "volumes devices files",
        "DEVICE" | "DEV" | "DISK" => "devices",
        "MEMBER" | "WITH" | "PATH" | "DISK|FILE" => "devices files",
        _ => kinds(argument),
    }
}

/// The same of the value of an option.
fn kinds(argument: &Arg) -> &'static str {
    let is_path = matches!(argument.get_value_hint(), ValueHint::AnyPath | ValueHint::FilePath | ValueHint::DirPath);
    match value_name(argument) {
        _ if argument.get_value_parser().possible_values().is_some() => "words",
        "VOLUME" => "volumes",
        _ if is_path => "files",
        _ => "none",
    }
}

fn value_name(argument: &Arg) -> &str {
    argument.get_value_names().and_then(<[_]>::first).map_or("", |name| name.as_str())
}
