//! Tests of the layouts: every kind on every small array, the formulas of Linux, the tables of the papers.

use super::*;
use LayoutKind::*;

/// Every array of at most `disks_max` disks.
fn arrays(disks_max: usize) -> Vec<Layout> {
    let mut arrays = Vec::new();
    for kind in LayoutKind::ALL {
        for disks in 0..=disks_max {
            for data in 0..=disks {
                for parity in 0..=disks {
                    arrays.extend(Layout::new(kind, Shape { data, parity }, disks));
                }
            }
        }
    }
    arrays
}

/// The array of a kind that has only one shape on `disks` disks.
fn array(kind: LayoutKind, disks: usize) -> Layout {
    let shape = match kind {
        Raid0 | ZigZag => Shape { data: disks, parity: 0 },
        Raid1 | Chained | Near => Shape { data: 1, parity: 1 },
        Raid6Md | Raid6Pq => Shape { data: disks - 2, parity: 2 },
        _ => Shape { data: disks - 1, parity: 1 },
    };
    Layout::new(kind, shape, disks).expect("the kind takes this")
}

#[test]
fn each_kind_accepts_the_shapes_that_it_describes() {
    let count = |kind| arrays(16).iter().filter(|array| array.kind() == kind).count();
    assert_eq!([Raid0, ZigZag].map(count), [16, 16]);
    assert_eq!([Raid1, Chained, Near].map(count), [8, 15, 7], "pairs; two disks or more; odd numbers");
    assert_eq!([Raid5Ls, Raid5La, Raid5Rs, Raid5Ra].map(count), [15; 4]);
    assert_eq!([Raid6Md, Raid6Pq].map(count), [14; 2]);
    assert_eq!(count(Rotating), (1..=16).sum(), "any number of parities that leaves a data chunk");

    let error = Layout::new(Raid5Ls, Shape { data: 3, parity: 2 }, 5).unwrap_err();
    let words = "raid5-ls takes one parity and a disk for each chunk of a stripe, not 3 data and 2 redundant chunks on 5 \
                 disks";
    assert_eq!(error.to_string(), words);
    let too_many = Layout::new(Raid0, Shape { data: 257, parity: 0 }, 257);
    assert_eq!(too_many, Err(LayoutError::TooManyDisks(257)));
    assert!(Layout::new(Rotating, Shape { data: 200, parity: 56 }, 256).is_ok());
    assert!(Layout::new(Rotating, Shape { data: 1, parity: usize::MAX }, 0).is_err());
}

#[test]
fn names_are_distinct_and_found_again() {
    for kind in LayoutKind::ALL {
        assert_eq!(LayoutKind::by_name(kind.name()), Some(kind));
    }
    assert_eq!(LayoutKind::by_name("raid7"), None);
}

/// The chunks of the first stripes fill the first rows: each place once, no two chunks of a stripe on one disk, and
/// both directions agree.
#[test]
fn every_map_is_a_bijection() {
    for array in arrays(16) {
        let rows = 4 * array.disks() as u64;
        let stripes = array.stripes(rows);
        assert_eq!(array.rows(stripes), rows, "{array:?}");
        let mut is_used = vec![false; rows as usize * array.disks()];
        for stripe in 0..stripes {
            let mut disks = crate::position_set::IndexSet::NONE;
            for slot in 0..array.shape().width() {
                let place = array.place(stripe, slot);
                assert_eq!(array.chunk_at(place.disk, place.row), Some((stripe, slot)), "{array:?}");
                let used = &mut is_used[place.row as usize * array.disks() + place.disk];
                assert!(!*used, "{array:?} {place:?}");
                *used = true;
                disks.insert(place.disk);
            }
            assert_eq!(disks.count(), array.shape().width());
        }
        assert!(is_used.into_iter().all(|used| used), "{array:?}");
        assert_eq!(array.chunk_at(array.disks(), 0), None);
    }
}

/// Stripes and rows of numbers that do not divide evenly: as many stripes as fit, and no more rows than needed.
#[test]
fn stripes_fit_their_rows() {
    for array in arrays(9) {
        for rows in 0..9 {
            let fits = |stripe| (0..array.shape().width()).all(|slot| array.place(stripe, slot).row < rows);
            let stripes = (0..).take_while(|&stripe| fits(stripe)).count() as u64;
            assert_eq!(array.stripes(rows), stripes, "{array:?} {rows}");
            let least = (0..).find(|&least| array.stripes(least) >= stripes);
            assert_eq!(Some(array.rows(stripes)), least, "{array:?} {stripes}");
        }
    }
}

#[test]
fn the_last_stripe_and_the_last_row_have_no_overflow() {
    for array in arrays(16) {
        for slot in 0..array.shape().width() {
            let place = array.place(u64::MAX, slot);
            assert_eq!(array.chunk_at(place.disk, place.row), Some((u64::MAX, slot)), "{array:?}");
        }
        for disk in 0..array.disks() {
            for row in [u64::MAX - 1, u64::MAX] {
                if let Some((stripe, slot)) = array.chunk_at(disk, row) {
                    assert_eq!(array.place(stripe, slot), ChunkPlace { disk, row });
                }
            }
        }
        assert!(array.stripes(u64::MAX) > u64::MAX / 2 && array.rows(u64::MAX) > 0);
    }
}

/// The period is the least number of stripes after which all slots repeat.
#[test]
fn periods_are_the_least() {
    for array in arrays(12) {
        let disks =
            |stripe| -> Vec<_> { (0..array.shape().width()).map(|slot| array.place(stripe, slot).disk).collect() };
        let long = 4 * array.disks() as u64;
        let repeats = |&period: &u64| (0..long).all(|stripe| disks(stripe) == disks(stripe + period));
        assert_eq!((1..).find(repeats), Some(array.period()), "{array:?}");
    }
}

/// Pattern sizes in chunks of Denehy et al. (2004), section 3, and the periods of data and parities. The sizes are corrected
/// where the paper's text and its map disagree (six disks, left-asymmetric: chunk 25 lies on disk 1, not with chunk 0).
#[test]
fn patterns_are_those_of_the_paper() {
    for disks in 3..=16u64 {
        let pattern = |kind| array(kind, disks as usize).pattern();
        let period = |kind| array(kind, disks as usize).period() * array(kind, disks as usize).shape().data as u64;
        assert_eq!((pattern(Raid0), period(Raid0)), (disks, disks));
        assert_eq!((pattern(ZigZag), period(ZigZag)), (2 * disks, 2 * disks));
        assert_eq!((pattern(Chained), period(Chained)), (disks, disks));
        if !disks.is_multiple_of(2) && disks > 2 {
            assert_eq!((pattern(Near), period(Near)), (disks, disks));
        }
        if disks % 2 == 0 {
            assert_eq!((pattern(Raid1), period(Raid1)), (disks / 2, disks / 2));
        }
        assert_eq!((pattern(Raid5Ls), period(Raid5Ls)), (disks, disks * (disks - 1)));
        for kind in [Raid5La, Raid5Rs, Raid5Ra] {
            assert_eq!((pattern(kind), period(kind)), (disks * (disks - 1), disks * (disks - 1)), "{kind} {disks}");
        }
        let pairs = if disks % 2 == 0 { 2 } else { 1 };
        assert_eq!((pattern(Raid6Pq), period(Raid6Pq)), (disks, disks * (disks - 2) / pairs));
        assert_eq!((pattern(Raid6Md), period(Raid6Md)), (disks * (disks - 2), disks * (disks - 2)));
    }
    let six = array(Raid5La, 6);
    let with_first: Vec<_> = (0..30).filter(|&chunk| six.data_disk(chunk) == 0).collect();
    assert_eq!(with_first, [0, 5, 10, 15, 20]);
    assert_eq!(six.data_disk(25), 1);
}

/// The disks of the first rows' slots: those of the data chunks in order, then those of the parities.
fn rows<const ROWS: usize>(kind: LayoutKind, disks: usize) -> [Vec<usize>; ROWS] {
    let array = array(kind, disks);
    std::array::from_fn(|row| (0..array.shape().width()).map(|slot| array.place(row as u64, slot).disk).collect())
}

#[test]
fn four_disks_look_as_they_are_drawn() {
    assert_eq!(rows(Raid0, 4), [[0, 1, 2, 3], [0, 1, 2, 3]]);
    assert_eq!(rows(ZigZag, 4), [[0, 1, 2, 3], [3, 2, 1, 0], [0, 1, 2, 3]]);
    assert_eq!(rows(Raid5Ls, 4), [[0, 1, 2, 3], [3, 0, 1, 2], [2, 3, 0, 1], [1, 2, 3, 0]]);
    assert_eq!(rows(Raid5La, 4), [[0, 1, 2, 3], [0, 1, 3, 2], [0, 2, 3, 1], [1, 2, 3, 0]]);
    assert_eq!(rows(Raid5Rs, 4), [[1, 2, 3, 0], [2, 3, 0, 1], [3, 0, 1, 2], [0, 1, 2, 3]]);
    assert_eq!(rows(Raid5Ra, 4), [[1, 2, 3, 0], [0, 2, 3, 1], [0, 1, 3, 2], [0, 1, 2, 3]]);
    assert_eq!(rows(Raid6Pq, 4), [[0, 1, 2, 3], [2, 3, 0, 1], [0, 1, 2, 3]]);
    assert_eq!(rows(Raid6Md, 4), [[1, 2, 3, 0], [0, 1, 2, 3], [3, 0, 1, 2], [2, 3, 0, 1]]);
    let places = |kind, count: u64| -> Vec<_> {
        let array = array(kind, 4);
        let places = (0..count).map(|stripe| [0, 1].map(|slot| array.place(stripe, slot)));
        places.map(|pair| pair.map(|place| (place.disk, place.row))).collect()
    };
    assert_eq!(places(Raid1, 3), [[(0, 0), (1, 0)], [(2, 0), (3, 0)], [(0, 1), (1, 1)]]);
    let chained = [[(0, 0), (1, 1)], [(1, 0), (2, 1)], [(2, 0), (3, 1)], [(3, 0), (0, 1)], [(0, 2), (1, 3)]];
    assert_eq!(places(Chained, 5), chained);
    // A B C / A B C -> A A B / B C C (md(4), near copies).
    let near = |stripe| [0, 1].map(|slot| array(Near, 3).place(stripe, slot)).map(|place| (place.disk, place.row));
    assert_eq!([0, 1, 2, 3].map(near), [[(0, 0), (1, 0)], [(2, 0), (0, 1)], [(1, 1), (2, 1)], [(0, 2), (1, 2)]]);
}

/// `raid5_compute_sector` of Linux, transcribed: the disks of the data, P and Q of a stripe.
fn linux(algorithm: LayoutKind, disks: u64, stripe: u64) -> Vec<u64> {
    let left = disks - 1 - stripe % disks;
    let right = stripe % disks;
    match algorithm {
        Raid5La => (0..disks - 1).map(|j| j + u64::from(j >= left)).chain([left]).collect(),
        Raid5Ra => (0..disks - 1).map(|j| j + u64::from(j >= right)).chain([right]).collect(),
        Raid5Ls => (0..disks - 1).map(|j| (left + 1 + j) % disks).chain([left]).collect(),
        Raid5Rs => (0..disks - 1).map(|j| (right + 1 + j) % disks).chain([right]).collect(),
        _ => (0..disks - 2).map(|j| (left + 2 + j) % disks).chain([left, (left + 1) % disks]).collect(),
    }
}

#[test]
fn chunks_lie_where_linux_would_put_them() {
    for disks in 3..=16usize {
        for stripe in 0..40 {
            for kind in [Raid5La, Raid5Ra, Raid5Ls, Raid5Rs, Raid6Md] {
                let array = array(kind, disks);
                let layout_disks: Vec<_> = (0..disks).map(|slot| array.place(stripe, slot).disk as u64).collect();
                assert_eq!(layout_disks, linux(kind, disks as u64, stripe), "{kind} {disks} {stripe}");
            }
        }
    }
}

#[test]
fn the_rotating_layout_is_that_of_linux_for_one_and_two_parities() {
    for disks in 2..=16usize {
        for (parity, kind) in [(1, Raid5Ls), (2, Raid6Md)] {
            let Some(data @ 1..) = disks.checked_sub(parity) else { continue };
            let rotating = Layout::new(Rotating, Shape { data, parity }, disks).unwrap();
            let named = Layout::new(kind, Shape { data, parity }, disks).unwrap();
            for (stripe, slot) in (0..40).flat_map(|stripe| (0..disks).map(move |slot| (stripe, slot))) {
                assert_eq!(rotating.place(stripe, slot), named.place(stripe, slot));
            }
        }
    }
}
