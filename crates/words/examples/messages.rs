//! Prints docs/messages.md.

fn main() {
    print!("{}", scrubjay_words::page());
}
