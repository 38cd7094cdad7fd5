//! What can be sent at each age, and what comes of it: bytes read, and the time that others wait.

use super::super::ages::{Ages, Spot, Weighted};
use crate::scrub::idle::DiskHead;
use crate::scrub::idle::service::{ServiceCase, ServiceEstimate};
use crate::units::Bytes;

/// Requests are sent anywhere in a cell; these places, as shares of its width, stand for all.
pub(super) const PLACES: [f64; 3] = [1.0 / 6.0, 3.0 / 6.0, 5.0 / 6.0];
/// But one place does where a request lasts for longer than so many widths of the cell.
pub(super) const MIDDLE: [f64; 1] = [1.0 / 2.0];
pub(super) const NARROW: f64 = 8.0;

/// One request that could be sent at some age.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::scrub::idle::budget) struct PlannedRequest {
    /// Its size.
    pub(in crate::scrub::idle::budget) size: Bytes,
    /// How long it takes, by where the head is; none: it must not be sent.
    pub(in crate::scrub::idle::budget) services: [Option<ServiceEstimate>; 2],
    /// Which of them take longer than anybody may lose, and by how much, likewise.
    pub(in crate::scrub::idle::budget) over: [ServiceCase; 2],
}

/// What can be sent.
#[derive(Clone, Debug)]
pub(super) struct PlanSide {
    pub(super) choices: Vec<Choice>,
    /// By cell and choice; none for the last cell, in which nothing is sent.
    pub(super) outcomes: Vec<CellOutcome>,
}

/// A request that may be sent.
#[derive(Clone, Debug)]
pub(super) struct Choice {
    /// Of the requests.
    pub(super) index: u8,
    pub(super) bytes: f64,
    pub(super) service: ServiceEstimate,
    /// Which take longer than anybody may lose; `share` is their share times the penalty for one who meets them, in seconds.
    pub(super) over: ServiceCase,
    /// The ends of intervals, each counted as often as somebody loses what the request costs.
    pub(super) ends: Weighted,
}

/// What comes of a request that is sent in a cell: over all intervals, from its middle.
#[derive(Clone, Copy, Debug)]
pub(super) struct CellOutcome {
    /// Bytes read.
    pub(super) gain: f64,
    /// The expected delay of those who end an interval, and `broken`, in seconds.
    pub(super) cost: f64,
    /// The penalty within `cost` for breaking the max goal.
    pub(super) broken: f64,
    /// Where the next one is sent.
    pub(super) then: AgePlace,
}

/// In which cells what was sent at an age ended: what is sent at the next ends near them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Hints {
    /// On average.
    pub(super) then: usize,
    /// By place and case.
    pub(super) ends: [[usize; 2]; PLACES.len()],
}

/// An age as told by cells: in the middle of one, or so far from it to the middle of the next, as a share of the way.
#[derive(Clone, Copy, Debug)]
pub(super) struct AgePlace {
    pub(super) cell: usize,
    pub(super) share: f64,
}

impl AgePlace {
    /// What holds there, if it holds in the middle of each cell.
    pub(super) fn of(self, values: impl Fn(usize) -> f64) -> f64 {
        let (near, far) = (values(self.cell), values(self.cell + 1));
        near + (far - near) * self.share
    }
}

/// The middle of a cell; the beginning of the last one.
pub(super) fn middle(ages: &Ages, cell: usize) -> f64 {
    let cells = ages.cells();
    cells.get(cell + 1).map_or(cells[cell].start, |next| 0.5 * (cells[cell].start + next.start))
}

/// Where an age lies.
pub(super) fn place(ages: &Ages, Spot { age, cell: at, .. }: Spot) -> AgePlace {
    let cell = if age < middle(ages, at) { at.saturating_sub(1) } else { at };
    if cell + 1 >= ages.cells().len() {
        return AgePlace { cell, share: 0.0 };
    }
    let (near, far) = (middle(ages, cell), middle(ages, cell + 1));
    AgePlace { cell, share: ((age - near) / (far - near)).clamp(0.0, 1.0) }
}

impl PlanSide {
    pub(super) fn new(
        ages: &Ages,
        requests: &[PlannedRequest],
        each: f64,
        head: DiskHead,
        behind: &impl Fn(f64, f64) -> f64,
    ) -> PlanSide {
        let choices = (0..).zip(requests).filter_map(|(index, request)| {
            let service = request.services[head as usize]?;
            let ends = ages.weighted(|age| behind(age, service.mean));
            let ServiceCase { service: by, share } = request.over[head as usize];
            let over = ServiceCase { service: by, share: share * each };
            Some(Choice { index, bytes: request.size.0 as f64, service, over, ends })
        });
        let choices: Vec<Choice> = choices.collect();
        let mut hints = vec![Hints::default(); choices.len()];
        // Nothing is known of ages beyond the last cell.
        let inner = ages.cells().len().saturating_sub(1);
        let mut outcomes = Vec::with_capacity(inner * choices.len());
        for cell in 0..inner {
            let of = |(choice, hints)| CellOutcome::of(ages, cell, choice, head, hints);
            outcomes.extend(choices.iter().zip(&mut hints).map(of));
        }
        PlanSide { outcomes, choices }
    }

    /// Of the choices in a cell.
    pub(super) fn outcomes(&self, cell: usize) -> &[CellOutcome] {
        &self.outcomes[cell * self.choices.len()..][..self.choices.len()]
    }

    /// What becomes of a choice in a cell, if one is made.
    pub(super) fn outcome(&self, cell: usize, act: u8) -> Option<(&Choice, &CellOutcome)> {
        Some((self.choices.get(usize::from(act))?, &self.outcomes(cell)[usize::from(act)]))
    }
}

impl Choice {
    /// What is lost when it is sent at an age, summed up over all intervals.
    pub(super) fn lost(&self, ages: &Ages, at: Spot, hints: &mut [usize; 2]) -> f64 {
        let cases = self.service.cases.iter().zip(hints).filter(|(case, _)| case.share > 0.0);
        let lost = |(case, hint): (&ServiceCase, &mut usize)| {
            let rest = ages.rest(&self.ends, at, ages.spot_near(at.age + case.service, hint));
            let passed = self.service.passed(case.service);
            let beyond = if passed > 0.0 { ages.rest(&self.ends, at, ages.spot(at.age + passed)) } else { 0.0 };
            case.share * (rest - beyond)
        };
        cases.map(lost).sum()
    }

    /// The expected penalty, in seconds, for those who lose more than the max goal.
    pub(super) fn broken(&self, ages: &Ages, at: Spot) -> f64 {
        match self.over.share > 0.0 {
            true => self.over.share * ages.ends(&self.ends, at, ages.spot(at.age + self.over.service)),
            false => 0.0,
        }
    }

    /// What one who meets it loses on average, wherever in it he comes: longer ones are met more often.
    pub(super) fn rest(&self) -> f64 {
        let all = |of: &dyn Fn(f64) -> f64| -> f64 {
            self.service.cases.iter().map(|case| case.share * of(case.service)).sum()
        };
        let lost = |service: f64| 0.5 * (service.powi(2) - self.service.passed(service).powi(2));
        all(&lost) / all(&|service| service)
    }
}

impl CellOutcome {
    pub(super) fn of(ages: &Ages, cell: usize, choice: &Choice, head: DiskHead, hints: &mut Hints) -> CellOutcome {
        let cells = ages.cells();
        let (start, width) = (cells[cell].start, cells[cell + 1].start - cells[cell].start);
        let next = AgePlace { cell: cell + 1, share: 0.0 };
        let (bytes, service) = (choice.bytes * ages.reach(middle(ages, cell)), choice.service.mean);
        let then = place(ages, ages.spot_near(middle(ages, cell) + service, &mut hints.then));
        if service < width {
            // Who ends an interval in the cell meets one of as many as there is room for; or perhaps the only one.
            let over = choice.over.share * choice.over.service / service;
            let met = |each: f64| (ages.reach(start) - ages.reach(start + width)) * choice.ends.weight(cell) * each;
            let [cost, broken] = [choice.rest() + over, over].map(met);
            return match head {
                DiskHead::There => CellOutcome { gain: bytes * width / service, cost, broken, then: next },
                DiskHead::Away => {
                    let [cost, broken] = [cost, broken].map(|of_all| of_all * service / width);
                    CellOutcome { gain: bytes, cost, broken, then }
                }
            };
        }
        // Where the cell is narrow beside the request, its middle stands for all of it.
        let places = if service > NARROW * width { &MIDDLE[..] } else { &PLACES };
        let costs = places.iter().zip(&mut hints.ends).map(|(place, hints)| {
            let at = Spot { age: start + place * width, cell, into: place * width };
            [choice.lost(ages, at, hints), choice.broken(ages, at)]
        });
        let sums = costs.fold([0.0; 2], |sums, costs| [sums[0] + (costs[0] + costs[1]), sums[1] + costs[1]]);
        let [cost, broken] = sums.map(|sum| sum / places.len() as f64);
        // A request makes way, or it would follow itself for ever.
        let then = if then.cell > cell { then } else { next };
        CellOutcome { gain: bytes, cost, broken, then }
    }
}
