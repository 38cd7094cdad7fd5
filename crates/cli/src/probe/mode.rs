//! The table of probers.

use crate::args::{PROBE_BLOCK as BLOCK, ProbeMethodArgs, ProbeMode};
use scrubjay_core::probe::fast::{ProbeOptions, fast};
use scrubjay_core::probe::io::{ProbeBudget, ProbedDevice, Prober};
use scrubjay_core::probe::known::KnownArray;
use scrubjay_core::probe::paper::{TrialParameters, WriteGrowth, paper};

/// The prober that was asked for.
pub fn prober(
    method: &ProbeMethodArgs,
    device: ProbedDevice,
    budget: ProbeBudget,
    allow_writes: bool,
) -> Prober<KnownArray> {
    match method.mode {
        ProbeMode::Fast => fast(
            device,
            ProbeOptions {
                pattern_bytes_max: method.max_pattern.0,
                seed: method.seed,
                budget,
                allows_writes: allow_writes,
            },
        ),
        ProbeMode::Paper => {
            let block = method.block.unwrap_or(BLOCK).0.next_multiple_of(device.block);
            let parameters = TrialParameters {
                requests: method.requests.unwrap_or(TrialParameters::PUBLISHED.requests),
                repeats: method.repeats.unwrap_or(TrialParameters::PUBLISHED.repeats),
                block_bytes: block,
                step_bytes: block,
                pattern_bytes_max: method.max_pattern.0,
                writes: allow_writes.then_some(WriteGrowth::Doubling),
                seed: method.seed,
                ..TrialParameters::PUBLISHED
            };
            paper(device, parameters, budget)
        }
    }
}
