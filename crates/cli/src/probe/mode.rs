//! The table of probers.

use crate::args::{How, Mode};
use scrubjay_core::probe::bench::{Budget, Device, Prober};
use scrubjay_core::probe::fast::{Options, fast};
use scrubjay_core::probe::known::Known;
use scrubjay_core::probe::paper::{Growth, Parameters, paper};

/// The one that was asked for.
pub fn prober(how: &How, device: Device, budget: Budget, allow_writes: bool) -> Prober<Known> {
    match how.mode {
        Mode::Fast => fast(
            device,
            Options { pattern_bytes_max: how.max_pattern.0, seed: how.seed, budget, allows_writes: allow_writes },
        ),
        Mode::Paper => {
            let block = how.block.0.next_multiple_of(device.block);
            let parameters = Parameters {
                requests: how.requests,
                repeats: how.repeats,
                block_bytes: block,
                step_bytes: block,
                pattern_bytes_max: how.max_pattern.0,
                writes: allow_writes.then_some(Growth::Doubling),
                seed: how.seed,
                ..Parameters::PUBLISHED
            };
            paper(device, parameters, budget)
        }
    }
}
