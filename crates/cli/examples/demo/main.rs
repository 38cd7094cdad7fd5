//! `make demo`: a disk that is scrubbed while its owner is busy, then a volume that repairs itself.

mod client;
mod faults;
mod scrub;
mod served;
mod volume;

fn main() -> anyhow::Result<()> {
    scrub::run()?;
    println!();
    volume::run()
}
