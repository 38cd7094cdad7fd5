//! Tests of plans: against the paper's tables and formulas, and against every other way to do the same.

use super::*;
use crate::index::StripePosition;
use crate::position_set::PositionSet;
use crate::units::VolumeOffset;

const HEALTHY: StripeState = StripeState { is_read: PositionSet::NONE, missing: PositionSet::NONE, list_rotation: 0 };

/// Every shape of at most `slots_max` positions with a data chunk or more.
fn shapes(slots_max: usize) -> impl Iterator<Item = Shape> {
    (1..=slots_max).flat_map(move |data| (0..=slots_max - data).map(move |parity| Shape { data, parity }))
}

/// Every subset of a set, including itself and the empty set.
fn subsets(set: PositionSet) -> impl Iterator<Item = PositionSet> {
    let positions: Vec<_> = set.iter().collect();
    (0..1u32 << positions.len()).map(move |bits| {
        positions.iter().enumerate().filter(|(at, _)| bits >> at & 1 == 1).map(|(_, &position)| position).collect()
    })
}

/// Every non-empty set of wanted data chunks of a stripe, with every set of missing positions.
fn wants(shape: Shape) -> impl Iterator<Item = (PositionSet, PositionSet)> {
    let wanted = subsets(shape.data_set()).filter(|wanted| !wanted.is_empty());
    wanted.flat_map(move |wanted| subsets(PositionSet::range(0, shape.width())).map(move |missing| (wanted, missing)))
}

/// A write of whole chunks.
fn write(touched: PositionSet) -> Want {
    Want::Write { touched, partial: PositionSet::NONE }
}

/// I/Os of a healthy stripe; `is_first`: none of its chunks were read since they were written, else all were.
fn ios(scheme: Scheme, shape: Shape, want: Want, is_first: bool) -> usize {
    let is_read = if is_first { PositionSet::NONE } else { shape.data_set() };
    plan(scheme, shape, want, StripeState { is_read, ..HEALTHY }).expect("nothing is missing").ios()
}

/// A cell of Li & Lee 2014, Table II, extended by this project's `Stamp`: the I/Os that a scheme adds when `tau` chunks are touched.
fn table_2(scheme: Scheme, mode: PlanMode, tau: usize, data: usize, is_first: bool) -> usize {
    let first = usize::from(is_first);
    match (scheme, mode) {
        (Scheme::None, _) => 0,
        (Scheme::Pure, PlanMode::Read) => usize::from(tau < data),
        (Scheme::Hybrid1 | Scheme::Stamp, PlanMode::Read) => first,
        (Scheme::Hybrid2, PlanMode::Read) => {
            if tau < data {
                first
            } else {
                0
            }
        }
        (Scheme::Pure, PlanMode::ReadModifyWrite) => 1,
        (Scheme::Hybrid2, PlanMode::ReadModifyWrite) => 2,
        (Scheme::Hybrid1 | Scheme::Stamp, PlanMode::ReadModifyWrite) => 0,
        (Scheme::Pure, PlanMode::ReconstructWrite) => 2,
        (Scheme::Hybrid1, PlanMode::ReconstructWrite) => tau + first,
        (Scheme::Hybrid2, PlanMode::ReconstructWrite) => 1 + first,
        (Scheme::Stamp, PlanMode::ReconstructWrite) => first,
        (Scheme::Hybrid1, PlanMode::FullStripe) => data,
        (Scheme::Pure | Scheme::Hybrid2 | Scheme::Stamp, PlanMode::FullStripe) => 0,
        (_, PlanMode::Reconstruct) => unreachable!("nothing is missing"),
    }
}

/// Every run of chunks in every stripe of 3 to 12 positions that can have a buddy: the plan is the cheaper of the two
/// ways, each with what Table II adds to it, formulas (1) to (6).
#[test]
fn table_2_cell_by_cell() {
    let mut cells = std::collections::HashSet::new();
    for shape in shapes(12).filter(|shape| shape.data >= 2 && shape.parity >= 1) {
        let (data, parity) = (shape.data, shape.parity);
        for (start, tau) in (0..data).flat_map(|start| (1..=data).map(move |tau| (start, tau))) {
            let run: PositionSet = (start..start + tau).map(|number| StripePosition(number % data)).collect();
            for (scheme, is_first) in Scheme::ALL.into_iter().flat_map(|scheme| [(scheme, true), (scheme, false)]) {
                let is_read = if is_first { PositionSet::NONE } else { shape.data_set() };
                let state = StripeState { is_read, missing: PositionSet::NONE, list_rotation: start };
                let adds = |mode| table_2(scheme, mode, tau, data, is_first);

                let read = plan(scheme, shape, Want::Read(run), state).unwrap();
                assert_eq!(read.ios(), tau + adds(PlanMode::Read), "{scheme} {shape:?} {run:?}");
                cells.insert((scheme, PlanMode::Read as u8, tau == data, is_first));

                let ways = match tau == data {
                    true => vec![(shape.width() + adds(PlanMode::FullStripe), PlanMode::FullStripe)],
                    false => vec![
                        (2 * (tau + parity) + adds(PlanMode::ReadModifyWrite), PlanMode::ReadModifyWrite),
                        (shape.width() + adds(PlanMode::ReconstructWrite), PlanMode::ReconstructWrite),
                    ],
                };
                let &(ios, mode) = ways.iter().min_by_key(|(ios, _)| ios).expect("the first of the least");
                let planned = plan(scheme, shape, write(run), state).unwrap();
                assert_eq!((planned.ios(), planned.mode), (ios, mode), "{scheme} {shape:?} {run:?} {is_first}");
                cells.insert((scheme, mode as u8, tau == data, is_first));
            }
        }
    }
    // Reads of some and of all chunks, two ways to write some, one to write all; each first and later; five schemes.
    assert_eq!(cells.len(), 5 * 2 * 5, "no cell was left out");
}

/// Figure 6 of the paper, n = 8: the additional cost of writes of 1 to k chunks, in percent, by formula (4).
#[test]
fn figure_6_to_the_digit() {
    let percents = |scheme, parity, is_first| -> Vec<String> {
        let shape = Shape { data: 8 - parity, parity };
        let percent = |tau| {
            let want = write(PositionSet::range(0, tau));
            let bare = ios(Scheme::None, shape, want, is_first);
            let more = ios(scheme, shape, want, is_first) - bare;
            format!("{:.1}", 100.0 * more as f64 / bare as f64)
        };
        (1..=shape.data).map(percent).collect()
    };
    let rows = [
        (Scheme::Pure, 1, [true, false].as_slice(), "25.0 16.7 12.5 25.0 25.0 25.0 0.0"),
        (Scheme::Hybrid1, 1, &[true, false], "0.0 0.0 0.0 25.0 50.0 75.0 87.5"),
        (Scheme::Hybrid2, 1, &[true], "50.0 33.3 25.0 25.0 25.0 25.0 0.0"),
        (Scheme::Hybrid2, 1, &[false], "50.0 33.3 12.5 12.5 12.5 12.5 0.0"),
        (Scheme::Pure, 2, &[true, false], "16.7 12.5 25.0 25.0 25.0 0.0"),
        (Scheme::Hybrid1, 2, &[true], "0.0 0.0 25.0 50.0 75.0 75.0"),
        (Scheme::Hybrid1, 2, &[false], "0.0 0.0 25.0 50.0 62.5 75.0"),
        (Scheme::Hybrid2, 2, &[true], "33.3 25.0 25.0 25.0 25.0 0.0"),
        (Scheme::Hybrid2, 2, &[false], "33.3 12.5 12.5 12.5 12.5 0.0"),
        (Scheme::Stamp, 2, &[false], "0.0 0.0 0.0 0.0 0.0 0.0"),
    ];
    for (scheme, parity, firsts, row) in rows {
        for &is_first in firsts {
            assert_eq!(percents(scheme, parity, is_first).join(" "), row, "{scheme} m={parity} first={is_first}");
        }
    }
}

/// Reads: 100 / tau percent more for Pure and for first reads (formula (2)), nothing for later ones; a read of the full
/// stripe costs more only in Hybrid-1 and Stamp, 100 / k.
#[test]
fn reads_cost_what_formula_2_says() {
    for shape in [Shape { data: 7, parity: 1 }, Shape { data: 6, parity: 2 }] {
        for tau in 1..=shape.data {
            let more = |scheme, is_first| ios(scheme, shape, Want::Read(PositionSet::range(0, tau)), is_first) - tau;
            let some = usize::from(tau < shape.data);
            assert_eq!([true, false].map(|is_first| more(Scheme::Pure, is_first)), [some, some]);
            assert_eq!([true, false].map(|is_first| more(Scheme::Hybrid1, is_first)), [1, 0]);
            assert_eq!([true, false].map(|is_first| more(Scheme::Hybrid2, is_first)), [some, 0]);
            assert_eq!([true, false].map(|is_first| more(Scheme::Stamp, is_first)), [1, 0]);
        }
    }
}

/// In every cell of Figure 6, n = 8 or not, the better hybrid is no worse than Pure.
#[test]
fn the_better_hybrid_beats_pure() {
    for shape in shapes(14).filter(|shape| shape.data >= 2 && shape.parity >= 1) {
        for (tau, is_first) in (1..=shape.data).flat_map(|tau| [(tau, true), (tau, false)]) {
            let [pure, hybrid1, hybrid2, stamp] = [Scheme::Pure, Scheme::Hybrid1, Scheme::Hybrid2, Scheme::Stamp]
                .map(|scheme| ios(scheme, shape, write(PositionSet::range(0, tau)), is_first));
            assert!(hybrid1.min(hybrid2) <= pure, "{shape:?} {tau}");
            assert!(stamp <= hybrid1 && stamp <= hybrid2);
        }
    }
}

/// Runs round the ring of data chunks: each has its own buddy; when all chunks but one are touched, that one is the buddy.
#[test]
fn each_run_has_its_buddy() {
    let shape = Shape { data: 6, parity: 4 };
    let buddies = |touched: &[usize]| {
        let planned =
            plan(Scheme::Hybrid2, shape, write(touched.iter().copied().map(StripePosition).collect()), HEALTHY)
                .unwrap();
        planned.write_appendices.iter().map(StripePosition::get).collect::<Vec<_>>()
    };
    assert_eq!(buddies(&[0, 2, 4]), [1, 3, 5]);
    assert_eq!(buddies(&[0, 1, 5]), [2], "a run that goes round");
    assert_eq!(buddies(&[1, 3, 4]), [2, 5]);
    assert_eq!(buddies(&[0, 1, 3, 4, 5]), [2]);
    assert_eq!(buddies(&[5]), [0]);
    let mirror = Shape { data: 1, parity: 2 };
    for scheme in Scheme::ALL {
        let planned = plan(scheme, mirror, write(PositionSet::one(StripePosition(0))), HEALTHY).unwrap();
        assert_eq!(planned.write_appendices, PositionSet::NONE, "one data chunk has no neighbour");
        let lists = usize::from(scheme != Scheme::None);
        assert_eq!(ios(scheme, mirror, Want::Read(PositionSet::one(StripePosition(0))), true), 1 + lists);
        assert_eq!(
            ios(scheme, mirror, Want::Read(PositionSet::one(StripePosition(0))), false),
            1 + usize::from(scheme == Scheme::Pure)
        );
    }
}

/// The rotation goes round the remaining parities.
#[test]
fn the_parities_lists_are_read_in_turn() {
    let shape = Shape { data: 3, parity: 3 };
    let list_read = |missing: &[usize], list_rotation| {
        let state = StripeState {
            is_read: PositionSet::NONE,
            missing: missing.iter().copied().map(StripePosition).collect(),
            list_rotation,
        };
        plan(Scheme::Stamp, shape, Want::Read(PositionSet::one(StripePosition(1))), state)
            .unwrap()
            .read_appendices
            .first()
            .map(StripePosition::get)
    };
    assert_eq!([0, 1, 2, 3, 4].map(|rotation| list_read(&[], rotation)), [3, 4, 5, 3, 4].map(Some));
    assert_eq!([0, 1, 2, 3].map(|rotation| list_read(&[4], rotation)), [3, 5, 3, 5].map(Some));
    assert_eq!(list_read(&[3, 4, 5], 1), None, "none is left to ask");
}

/// For a missing chunk are read: the remaining data, then parities, then the lists of all other parities.
#[test]
fn a_missing_chunk_is_decoded_from_k_others() {
    let shape = Shape { data: 4, parity: 3 };
    let numbers = |set: PositionSet| set.iter().map(StripePosition::get).collect::<Vec<_>>();
    let read = |scheme, missing: &[usize]| {
        let state = StripeState { missing: missing.iter().copied().map(StripePosition).collect(), ..HEALTHY };
        let planned = plan(scheme, shape, Want::Read(PositionSet::one(StripePosition(1))), state)?;
        Some((planned.mode, numbers(planned.read_chunks), numbers(planned.read_appendices)))
    };
    let reconstruct =
        |chunks: &[usize], lists: &[usize]| Some((PlanMode::Reconstruct, chunks.to_vec(), lists.to_vec()));
    assert_eq!(read(Scheme::Stamp, &[1]), reconstruct(&[0, 2, 3, 4], &[5, 6]));
    assert_eq!(read(Scheme::None, &[1]), reconstruct(&[0, 2, 3, 4], &[]));
    assert_eq!(read(Scheme::Pure, &[1, 3, 4]), reconstruct(&[0, 2, 5, 6], &[]));
    assert_eq!(read(Scheme::Hybrid2, &[1, 4]), reconstruct(&[0, 2, 3, 5], &[6]));
    assert_eq!(read(Scheme::Stamp, &[0, 1, 2, 3]), None);
    assert_eq!(read(Scheme::None, &[0, 2, 3, 4]), Some((PlanMode::Read, vec![1], vec![])), "what is there can be read");
}

/// A write that fills a stripe except for a few bytes reads the partly overwritten chunk first.
#[test]
fn a_partly_overwritten_chunk_is_read_first() {
    let shape = Shape { data: 3, parity: 1 };
    let partial = PositionSet::one(StripePosition(2));
    let planned = |scheme, is_read| {
        let want = Want::Write { touched: shape.data_set(), partial };
        plan(scheme, shape, want, StripeState { is_read, ..HEALTHY }).unwrap()
    };
    let bare = planned(Scheme::None, PositionSet::NONE);
    assert_eq!((bare.mode, bare.read_chunks, bare.ios()), (PlanMode::ReconstructWrite, partial, 5));
    let more = |scheme, is_read| planned(scheme, is_read).ios() - bare.ios();
    assert_eq!(
        [Scheme::Pure, Scheme::Hybrid1, Scheme::Hybrid2, Scheme::Stamp].map(|s| more(s, PositionSet::NONE)),
        [1, 3, 1, 1]
    );
    assert_eq!([Scheme::Pure, Scheme::Hybrid1, Scheme::Hybrid2, Scheme::Stamp].map(|s| more(s, partial)), [1, 2, 0, 0]);
    assert_eq!(planned(Scheme::Hybrid1, PositionSet::NONE).mode, PlanMode::ReadModifyWrite, "of two alike");
}

/// Can the new content of every chunk to be written be computed from what is read? Any k chunks give all others; a
/// parity follows from all new data, or from its old content and the old content of all chunks that change.
fn suffices(shape: Shape, touched: PositionSet, partial: PositionSet, missing: PositionSet, read: PositionSet) -> bool {
    let all = PositionSet::range(0, shape.width());
    let old = if read.count() >= shape.data { all } else { read };
    let new = (touched - partial) | (old & shape.data_set());
    let has_parity = |parity| shape.data_set().is_subset(new) || (touched | PositionSet::one(parity)).is_subset(old);
    (touched - missing).is_subset(new) && (shape.parity_set() - missing).iter().all(has_parity)
}

/// Every write to every stripe of at most 8 positions, whatever is missing: it writes all touched chunks that are
/// present and all present parities, and reads enough for that.
#[test]
fn every_write_writes_all_and_reads_enough() {
    for shape in shapes(8) {
        for (touched, missing) in wants(shape) {
            let ends: PositionSet = touched.first().into_iter().chain(touched.iter().last()).collect();
            for (partial, scheme) in
                [PositionSet::NONE, touched, ends].into_iter().flat_map(|p| Scheme::ALL.map(|s| (p, s)))
            {
                let want = Want::Write { touched, partial };
                let is_read = if missing.contains(StripePosition(0)) { touched } else { shape.data_set() - touched };
                let Some(planned) = plan(scheme, shape, want, StripeState { is_read, missing, list_rotation: 1 })
                else {
                    assert!(missing.count() > shape.parity, "{shape:?} {want:?} {missing:?}");
                    continue;
                };
                let StripePlan { mode, read_chunks, read_appendices, write_chunks, write_appendices } = planned;
                let context = format!("{scheme} {shape:?} {want:?} {missing:?} {planned:?}");
                assert!(missing.count() <= shape.parity, "{context}");
                assert!(suffices(shape, touched, partial, missing, read_chunks), "{context}");
                assert_eq!(write_chunks, (touched | shape.parity_set()) - missing, "{context}");
                assert!(((read_chunks | read_appendices | write_appendices) & missing).is_empty(), "{context}");
                assert!((read_chunks & read_appendices).is_empty() && (write_chunks & write_appendices).is_empty());
                assert_eq!(
                    mode == PlanMode::FullStripe,
                    touched == shape.data_set() && read_chunks.is_empty(),
                    "{context}"
                );
                // A plan that decodes compares all remaining lists.
                let decodes = !(((shape.data_set() - touched) | partial) & missing).is_empty();
                if decodes && mode == PlanMode::ReconstructWrite && scheme.has_appendix() {
                    assert!((shape.parity_set() - missing).is_subset(read_chunks | read_appendices), "{context}");
                }
                if scheme == Scheme::Hybrid2 {
                    assert!(write_appendices.is_subset(read_chunks | read_appendices), "{context}");
                }
                if !scheme.has_appendix() {
                    assert!((read_appendices | write_appendices).is_empty(), "{context}");
                }
            }
        }
    }
}

/// The I/Os of a write of whole chunks, computed from counts: the cheaper of the two ways, with all that the schemes add.
fn least_ios(scheme: Scheme, shape: Shape, touched: PositionSet, missing: PositionSet, is_first: bool) -> usize {
    let (data, untouched) = (shape.data_set(), shape.data_set() - touched);
    let (tau, present) = (touched.count(), (touched - missing).count());
    let parities = (shape.parity_set() - missing).count();
    let follows = |position: StripePosition| touched.contains(shape.before(position));
    let has_buddies = shape.parity > 0 && [Scheme::Pure, Scheme::Hybrid2].contains(&scheme);
    let buddies = (untouched - missing).iter().filter(|&position| has_buddies && follows(position)).count();
    let buddies_read = if scheme == Scheme::Hybrid2 { buddies } else { 0 };
    let writes = present + parities + buddies;
    if parities == 0 {
        // The first chunk of each run is read for the copy that it carries.
        let heads =
            (touched - missing).iter().filter(|&position| !(touched - missing).contains(shape.before(position)));
        let heads_read = if has_buddies && shape.data > 1 { heads.count() } else { 0 };
        return writes + buddies_read + heads_read;
    }
    let modify = (present == tau).then_some(tau + parities + buddies_read);
    let unread = usize::from(is_first && !untouched.is_empty());
    let reconstruct = if !(untouched & missing).is_empty() {
        // k chunks; the parities among them need no separate read of their lists.
        let short = (data & missing).count();
        shape.data + if scheme == Scheme::None { 0 } else { parities - short }
    } else {
        let checks = match scheme {
            Scheme::None => 0,
            Scheme::Pure => untouched.count().min(1),
            Scheme::Hybrid1 => present + unread.max(usize::from(present < tau)),
            Scheme::Hybrid2 | Scheme::Stamp => unread,
        };
        untouched.count() + checks
    };
    writes + modify.map_or(reconstruct, |modify| modify.min(reconstruct))
}

#[test]
fn every_write_takes_the_cheaper_way_whatever_is_missing() {
    for shape in shapes(8) {
        for (touched, missing) in wants(shape).filter(|(_, missing)| missing.count() <= shape.parity) {
            for (scheme, is_first) in Scheme::ALL.into_iter().flat_map(|scheme| [(scheme, true), (scheme, false)]) {
                let is_read = if is_first { PositionSet::NONE } else { shape.data_set() };
                let planned =
                    plan(scheme, shape, write(touched), StripeState { is_read, missing, list_rotation: 2 }).unwrap();
                let least = least_ios(scheme, shape, touched, missing, is_first);
                assert_eq!(planned.ios(), least, "{scheme} {shape:?} {touched:?} {missing:?} {is_first} {planned:?}");
            }
        }
    }
}

/// No smaller set of reads than the plan's suffices, in a bare array of at most 6 positions: every set is tried.
#[test]
fn bare_writes_read_the_least_that_suffices() {
    for shape in shapes(6) {
        let all = PositionSet::range(0, shape.width());
        for missing in subsets(all).filter(|missing| missing.count() <= shape.parity) {
            for touched in subsets(shape.data_set()).filter(|touched| !touched.is_empty()) {
                for partial in subsets(touched) {
                    let want = Want::Write { touched, partial };
                    let planned = plan(Scheme::None, shape, want, StripeState { missing, ..HEALTHY }).unwrap();
                    let least = subsets(all - missing)
                        .filter(|&read| suffices(shape, touched, partial, missing, read))
                        .map(PositionSet::count)
                        .min();
                    assert_eq!(Some(planned.read_chunks.count()), least, "{shape:?} {want:?} {missing:?}");
                }
            }
        }
    }
}

/// Every read of every stripe of at most 8 positions: it reads the wanted chunks, or k chunks that give them.
#[test]
fn every_read_reads_enough_and_checks_it() {
    for shape in shapes(8) {
        for (wanted, missing) in wants(shape) {
            for scheme in Scheme::ALL {
                let lost = wanted & missing;
                let Some(planned) = plan(scheme, shape, Want::Read(wanted), StripeState { missing, ..HEALTHY }) else {
                    assert!(!lost.is_empty() && missing.count() > shape.parity);
                    continue;
                };
                let StripePlan { mode, read_chunks, read_appendices, write_chunks, write_appendices } = planned;
                assert!((write_chunks | write_appendices).is_empty() && (read_chunks & read_appendices).is_empty());
                assert!(
                    ((read_chunks | read_appendices) & missing).is_empty() && (wanted - missing).is_subset(read_chunks)
                );
                assert_eq!(mode == PlanMode::Reconstruct, !lost.is_empty());
                let lists = shape.parity_set() - missing;
                match mode {
                    PlanMode::Reconstruct => {
                        assert_eq!(read_chunks.count(), shape.data);
                        assert!(!scheme.has_appendix() || lists.is_subset(read_chunks | read_appendices));
                    }
                    // No chunk was read before: every read needs a list, except a full stripe with buddies.
                    _ => {
                        let is_full = shape.data > 1 && wanted == shape.data_set() && scheme.has_buddies();
                        let needs_list = scheme.has_appendix() && !is_full && !lists.is_empty();
                        assert_eq!((read_chunks, read_appendices.count()), (wanted, usize::from(needs_list)));
                        assert!(read_appendices.is_subset(lists));
                    }
                }
            }
        }
    }
}

/// Byte by byte: every small request on three small arrays.
#[test]
fn a_request_is_cut_at_the_stripes() {
    for shape in [Shape { data: 1, parity: 1 }, Shape { data: 3, parity: 2 }, Shape { data: 4, parity: 0 }] {
        for (offset, len) in (0..30).flat_map(|offset| (0..40).map(move |len| (offset, len))) {
            let mut expected: Vec<(u64, PositionSet, PositionSet)> = Vec::new();
            for byte in offset..offset + len {
                let (chunk, stripe) = (byte / 3, byte / 3 / shape.data as u64);
                let position = (chunk % shape.data as u64) as usize;
                if expected.last().is_none_or(|(last, ..)| *last != stripe) {
                    expected.push((stripe, PositionSet::NONE, PositionSet::NONE));
                }
                let (_, touched, partial) = expected.last_mut().expect("pushed just now");
                touched.insert(StripePosition(position));
                if chunk * 3 < offset || chunk * 3 + 3 > offset + len {
                    partial.insert(StripePosition(position));
                }
            }
            let parts: Vec<_> = split(shape, 3, VolumeOffset(offset), len)
                .map(|part| (part.stripe.get(), part.touched(), part.partial()))
                .collect();
            assert_eq!(parts, expected, "{shape:?} {offset} {len}");
        }
    }
    let shape = Shape { data: 3, parity: 1 };
    let last: Vec<_> = split(shape, 4096, VolumeOffset(u64::MAX - 4095), 4095).collect();
    assert_eq!((last.len(), last[0].partial().count()), (1, 1), "up to the last number");
}
