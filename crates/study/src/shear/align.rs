//! Figure 20: files written to RAID-5 in whole stripes, or as Linux 2.4 sends them.

use super::effort::Effort;
use super::rig::{KIB, array};
use scrubjay_chart::{Axis, Exhibit, Figure, Series, Style};
use scrubjay_core::layout::LayoutKind;
use scrubjay_core::probe::io::{ProbeAccess, ProbeBatch, ProbeRequest};
use scrubjay_core::rng::Rng;
use scrubjay_sim::array::Array;
use scrubjay_sim::array::setup::ArraySetup;

/// The number of files in a run.
const FILES: usize = 100;

/// The largest request of Linux 2.4 in bytes: 255 sectors, of which 31 blocks of 4 KiB are whole.
const REQUEST_MAX: u64 = 31 * 4096;

/// How a file's blocks become requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestSplit {
    /// In requests as large as possible.
    AsLargeAsPossible,
    /// In requests that do not cross the end of a stripe.
    ByStripe,
}

/// The array: four disks behind a controller without a cache, chunks of 32 KiB. (The paper does not give the size.)
pub fn setup() -> ArraySetup {
    array(LayoutKind::Raid5La, 4, 32)
}

/// The bandwidth in MB/s of writing 100 files one after another, each of 0.5 to 1.5 times the mean size. The writes of
/// a file are sent together, as by a flush; the next file begins when they are done.
pub fn bandwidth(mean_bytes: u64, split: RequestSplit, seed: u64) -> f64 {
    let setup = setup();
    let stripe = setup.chunk_bytes * setup.map.data() as u64;
    let (mut array, mut rng) = (Array::new(setup), Rng::new(seed));
    let (mut at, mut bytes, mut seconds) = (0, 0, 0.0);
    for _ in 0..FILES {
        let blocks = ((0.5 + rng.uniform()) * mean_bytes as f64 / 4096.0).round().max(1.0) as u64;
        let end = at + blocks * 4096;
        let requests = requests(at, end, stripe, split);
        seconds += array.run(&ProbeBatch { requests }).makespan().as_secs_f64();
        (at, bytes) = (end, bytes + blocks * 4096);
    }
    bytes as f64 / seconds / 1e6
}

fn requests(start: u64, end: u64, stripe: u64, split: RequestSplit) -> Vec<ProbeRequest> {
    let (mut at, mut requests) = (start, Vec::new());
    while at < end {
        let len = match split {
            RequestSplit::AsLargeAsPossible => REQUEST_MAX,
            RequestSplit::ByStripe => stripe - at % stripe,
        };
        let len = len.min(end - at);
        requests.push(ProbeRequest { kind: ProbeAccess::Rewrite, ..ProbeRequest::read(at, len) });
        at += len;
    }
    requests
}

/// Figure 20.
pub fn figure_20(effort: Effort) -> Vec<Exhibit> {
    let sizes: Vec<u64> = (2..=12).map(|power| (1 << power) * KIB).collect();
    let curve = |name: &str, split| {
        let point = |&size: &u64| ((size / KIB) as f64, bandwidth(size, split, effort.seed));
        Series::new(name, Style::Line, sizes.iter().map(point))
    };
    let series =
        vec![curve("by stripe", RequestSplit::ByStripe), curve("as they come", RequestSplit::AsLargeAsPossible)];
    let gain = |at: usize| series[0].points[at].y / series[1].points[at].y;
    let caption = format!(
        "Files of 4 MiB are written {:.2} times as fast in whole stripes, files of 4 KiB {:.2} times (there more than 2 for larger \
         files). A whole stripe of four disks takes four writes for three chunks, a chunk alone two reads and two writes: \
         three times as much; more where one stripe is written in two parts, each with its parity.",
        gain(sizes.len() - 1),
        gain(0)
    );
    vec![Exhibit::Figure(Figure {
        name: "shear-fig20".into(),
        title: "Files written by stripe: RAID-5, 4 disks, 32 KiB (its Figure 20)".into(),
        caption,
        x: Axis::log("mean size of a file (KiB)"),
        y: Axis::linear("bandwidth (MB/s)"),
        series,
    })]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_is_sent_once_and_none_across_stripes() {
        let stripe = 96 * KIB;
        for split in [RequestSplit::AsLargeAsPossible, RequestSplit::ByStripe] {
            let requests = requests(8192, 1 << 20, stripe, split);
            let mut at = 8192;
            for request in &requests {
                assert_eq!(request.offset, at);
                at += request.len;
                let is_inside = request.offset / stripe == (at - 1) / stripe;
                assert!(is_inside || split == RequestSplit::AsLargeAsPossible, "{request:?}");
            }
            assert_eq!(at, 1 << 20);
        }
    }
}
