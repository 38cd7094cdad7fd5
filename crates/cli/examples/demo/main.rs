//! `make demo`: a disk that is scrubbed while its owner is busy, then a volume that repairs itself. With the word `scrub` or
//! `volume` only that half.

mod client;
mod faults;
mod scrub;
mod served;
mod volume;

/// A half of the demo: its word, and what runs it.
type Half = (&'static str, fn() -> anyhow::Result<()>);

const HALVES: [Half; 2] = [("scrub", scrub::run), ("volume", volume::run)];

fn main() -> anyhow::Result<()> {
    let word = std::env::args().nth(1);
    let chosen: Vec<Half> =
        HALVES.into_iter().filter(|(name, _)| word.as_deref().is_none_or(|word| word == *name)).collect();
    anyhow::ensure!(!chosen.is_empty(), "the demo has two halves: scrub and volume");
    for (index, (_, run)) in chosen.iter().enumerate() {
        if index > 0 {
            println!();
        }
        run()?;
    }
    Ok(())
}
