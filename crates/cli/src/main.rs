//! The `scrubjay` command.

fn main() -> std::process::ExitCode {
    scrubjay_cli::main()
}
