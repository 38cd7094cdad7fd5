//! The I/Os of all plans, computed once: a request touches one run of a stripe's chunks, and only three numbers matter.

use scrubjay_core::layout::Shape;
use scrubjay_core::position_set::PositionSet;
use scrubjay_core::volume::integrity::scheme::Scheme;
use scrubjay_core::volume::plan::{PlanMode, StripeState, Want, plan};

/// The I/Os of one plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PlanCost {
    pub mode: PlanMode,
    /// All I/Os.
    pub ios: u32,
    /// Of these I/Os, those of appendices alone.
    pub appendix_ios: u32,
}

/// Chunks of a run that are touched in part, at most: its first and its last.
const PARTIAL_MAX: usize = 2;

/// The I/Os of every plan of a healthy stripe, by the length of the run, the number of its chunks that are touched in
/// part, and whether a chunk that is read was not read since it was written.
#[derive(Debug)]
pub(super) struct Costs {
    /// By the length of the run, less one; then `[later, first]`.
    reads: Vec<[PlanCost; 2]>,
    writes: Vec<[[PlanCost; 2]; PARTIAL_MAX + 1]>,
}

impl Costs {
    pub fn new(scheme: Scheme, shape: Shape) -> Costs {
        // The position of the run does not matter: buddies form a ring.
        let run = |length| PositionSet::range(0, length);
        let both = |want| [false, true].map(|is_first| cost(scheme, shape, want, is_first));
        let write = |length: usize, partial: usize| {
            both(Want::Write { touched: run(length), partial: run(partial.min(length)) })
        };
        Costs {
            reads: (1..=shape.data).map(|length| both(Want::Read(run(length)))).collect(),
            writes: (1..=shape.data).map(|length| [0, 1, 2].map(|partial| write(length, partial))).collect(),
        }
    }

    /// The cost of reading a run of `length` chunks; `is_first`: one of them was not read since it was written.
    pub fn read(&self, length: usize, is_first: bool) -> PlanCost {
        self.reads[length - 1][usize::from(is_first)]
    }

    /// The cost of writing a run of `length` chunks, `partial` of them in part; `is_first`: a chunk outside the run, or
    /// touched in part, was not read since it was written.
    pub fn write(&self, length: usize, partial: usize, is_first: bool) -> PlanCost {
        self.writes[length - 1][partial][usize::from(is_first)]
    }
}

fn cost(scheme: Scheme, shape: Shape, want: Want, is_first: bool) -> PlanCost {
    let is_read = if is_first { PositionSet::NONE } else { shape.data_set() };
    let plan =
        plan(scheme, shape, want, StripeState { is_read, ..StripeState::default() }).expect("nothing is missing");
    let appendix_ios = plan.read_appendices.count() + plan.write_appendices.count();
    PlanCost { mode: plan.mode, ios: plan.ios() as u32, appendix_ios: appendix_ios as u32 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scrubjay_core::index::StripePosition;

    /// Compares the table with the plan of every run and every state of every bit, in stripes of up to 7 chunks.
    #[test]
    fn a_plans_cost_depends_only_on_length_partial_chunks_and_first_reads() {
        for (data, parity) in (1..=5).flat_map(|data| (0..=2).map(move |parity| (data, parity))) {
            let shape = Shape { data, parity };
            for scheme in Scheme::ALL {
                let costs = Costs::new(scheme, shape);
                for (start, end) in (0..data).flat_map(|start| (start + 1..=data).map(move |end| (start, end))) {
                    let (touched, length) = (PositionSet::range(start, end), end - start);
                    let ends = [
                        PositionSet::NONE,
                        PositionSet::one(StripePosition(start)),
                        PositionSet::one(StripePosition(end - 1)),
                        PositionSet::one(StripePosition(start)) | PositionSet::one(StripePosition(end - 1)),
                    ];
                    for bits in 0u32..1 << data {
                        let is_read: PositionSet =
                            StripePosition::first(data).filter(|position| bits >> position.get() & 1 == 1).collect();
                        let state = StripeState { is_read, list_rotation: 7, ..StripeState::default() };
                        let planned = |want| {
                            let planned = plan(scheme, shape, want, state).unwrap();
                            (planned.mode, planned.ios() as u32)
                        };
                        let cost = costs.read(length, !touched.is_subset(is_read));
                        assert_eq!((cost.mode, cost.ios), planned(Want::Read(touched)), "{scheme} {shape:?}");
                        for partial in ends {
                            let needed = (shape.data_set() - touched) | partial;
                            let cost = costs.write(length, partial.count(), !needed.is_subset(is_read));
                            let want = Want::Write { touched, partial };
                            assert_eq!((cost.mode, cost.ios), planned(want), "{scheme} {shape:?} {want:?}");
                        }
                    }
                }
            }
        }
    }
}
