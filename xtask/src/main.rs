//! The project's own chores: `cargo xtask VERB`. One verb is one module and one row in the table below.

mod bench;
mod dist;
mod licences;
mod messages;
mod msrv;
mod place;
mod seeds;
mod test;
mod tidy;
mod tree;
mod typed;

use anyhow::{Result, bail};
use std::process::ExitCode;

/// A chore.
struct Chore {
    name: &'static str,
    arguments: &'static str,
    help: &'static str,
    /// Runs it, with the arguments behind the verb; returns whether there were no findings.
    run: fn(&[String]) -> Result<bool>,
}

const VERBS: &[Chore] = &[
    Chore {
        name: "tidy",
        arguments: "[--map]",
        help: "checks the project's lint rules, which no compiler checks; --map: the layers of crates and their dependencies",
        run: tidy::run,
    },
    Chore {
        name: "test",
        arguments: "[smoke | lab-long] [WORD]",
        help: "runs all tests, or the steps with WORD in their name; smoke: a short selection; lab-long: those that take hours",
        run: test::run,
    },
    Chore {
        name: "typed",
        arguments: "[SCENE | --list]",
        help: "types what documents and help pages tell people to type, in scenes (tests/typed); --list: who types what",
        run: typed::run,
    },
    Chore {
        name: "licences",
        arguments: "",
        help: "what we are made of may be used, comes from crates.io, and is in NOTICES",
        run: licences::run,
    },
    Chore {
        name: "messages",
        arguments: "",
        help: "writes docs/messages.md: every sentence, with an example",
        run: messages::run,
    },
    Chore {
        name: "msrv",
        arguments: "",
        help: "checks what ships with the oldest Rust that is promised",
        run: msrv::run,
    },
    Chore {
        name: "notices",
        arguments: "",
        help: "writes NOTICES: the licences of what is shipped",
        run: licences::write,
    },
    Chore {
        name: "deb",
        arguments: "[--test]",
        help: "the Debian package, in target/debian: cargo-deb makes it (target/tools has one if you have none); --test: tries it",
        run: dist::deb::run,
    },
    Chore {
        name: "dist",
        arguments: "[--target TRIPLE]... [--only PRODUCT]... [--sign KEY]",
        help: "all that users are given, for x86-64 and 64-bit Arm, in target/dist: deb, rpm, wheel, archive, image",
        run: dist::run,
    },
    Chore {
        name: "bench",
        arguments: "[FILE]",
        help: "scrub speed beside fio's, on FILE, a block device, or 4 GiB made for it",
        run: bench::scrub::run,
    },
    Chore {
        name: "bench-budget",
        arguments: "[--seconds N] [--disk WORD] [--load WORD] [--goal MS] [--detector NAME] [--busy] | --sensitivity [WORD]",
        help: "what a scrub costs a program that reads the same disk, and what it reads meanwhile; as root",
        run: bench::budget::run,
    },
    Chore {
        name: "bench-traces",
        arguments: "[--hours H] [--millions N] [--keep DIR]",
        help: "reading, simulating and tuning traces; reading beside polars",
        run: bench::traces::run,
    },
    Chore {
        name: "seeds",
        arguments: "[--profile NAME] N | --seed S [--trace] | --planted",
        help: "the volume in N simulated storms, or in one of them",
        run: seeds::run,
    },
    Chore {
        name: "years",
        arguments: "[--profile NAME] N | --seed S | --planted",
        help: "the watch in N years of modelled hosts, or in one of them",
        run: seeds::years,
    },
];

fn main() -> ExitCode {
    match dispatch(&std::env::args().skip(1).collect::<Vec<_>>()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(arguments: &[String]) -> Result<bool> {
    let Some((name, rest)) =
        arguments.split_first().filter(|(name, _)| !matches!(name.as_str(), "help" | "--help" | "-h"))
    else {
        for verb in VERBS {
            println!("cargo xtask {:<14} {}", format!("{} {}", verb.name, verb.arguments), verb.help);
        }
        return Ok(true);
    };
    let Some(verb) = VERBS.iter().find(|verb| verb.name == name) else { bail!("no verb {name}: see cargo xtask help") };
    // All chores use paths relative to the root of the repository.
    std::env::set_current_dir(place::root())?;
    (verb.run)(rest)
}
