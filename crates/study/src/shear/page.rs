//! The figures in the order of the paper, each an independent piece of work, and the page of them.

use super::effort::Effort;
use super::{align, bounds, counts, layouts, patterns, verdicts, versus, writes};
use scrubjay_chart::{Exhibit, Page};
use scrubjay_core::layout::LayoutKind;

/// An independent piece of the study.
#[derive(Clone, Copy, Debug)]
pub struct StudyPiece {
    /// Its place on the page.
    place: usize,
    work: fn(Effort) -> Vec<Exhibit>,
}

/// All pieces, the longest first.
pub const PIECES: [StudyPiece; 18] = [
    StudyPiece { place: 16, work: verdicts::table },
    StudyPiece { place: 17, work: |effort| vec![versus::table(&versus::rows(effort))] },
    StudyPiece { place: 6, work: layouts::figure_10 },
    StudyPiece { place: 3, work: counts::figure_7 },
    StudyPiece { place: 12, work: layouts::figure_17 },
    StudyPiece { place: 5, work: patterns::figure_9 },
    StudyPiece { place: 14, work: bounds::figure_19 },
    StudyPiece { place: 2, work: layouts::figure_6 },
    StudyPiece { place: 13, work: layouts::figure_18 },
    StudyPiece {
        place: 9,
        work: |effort| [six("13", LayoutKind::Chained, "chained", effort), vec![layouts::figure_13(effort)]].concat(),
    },
    StudyPiece { place: 0, work: patterns::figure_3 },
    StudyPiece { place: 1, work: bounds::figure_5 },
    StudyPiece { place: 4, work: |effort| six("08", LayoutKind::Raid0, "RAID-0", effort) },
    StudyPiece { place: 7, work: |effort| six("11", LayoutKind::Raid6Pq, "P+Q", effort) },
    StudyPiece { place: 8, work: |effort| six("12", LayoutKind::Raid1, "RAID-1", effort) },
    StudyPiece { place: 10, work: writes::figure_14 },
    StudyPiece { place: 11, work: |effort| [writes::figure_15(effort), writes::figure_16(effort)].concat() },
    StudyPiece { place: 15, work: align::figure_20 },
];

impl StudyPiece {
    /// Runs the piece.
    pub fn work(&self, effort: Effort) -> Vec<Exhibit> {
        (self.work)(effort)
    }
}

/// The first two graphs of Figures 8, 11, 12 and 13.
fn six(figure: &str, kind: LayoutKind, name: &str, effort: Effort) -> Vec<Exhibit> {
    vec![patterns::of_six(figure, kind, name, effort), bounds::of_six(figure, kind, name, effort)]
}

/// The page of the exhibits of all [`PIECES`], in their order.
///
/// # Panics
/// If there is not one entry for each piece.
pub fn page(found: Vec<Vec<Exhibit>>, effort: Effort) -> Page {
    assert_eq!(found.len(), PIECES.len(), "one for each piece");
    let mut placed: Vec<(usize, Vec<Exhibit>)> = PIECES.iter().map(|piece| piece.place).zip(found).collect();
    placed.sort_by_key(|&(place, _)| place);
    let source = format!(
        "The figures of Denehy et al., \"Deconstructing Storage Arrays\" (2004), by the prober as it was published, on modelled \
         arrays of modelled disks: IBM 9LZX, 6 ms a turn, behind an elevator. N = {} requests a trial, R = {} trials a point, \
         which the paper leaves out. \"Its Figure\" is the paper's, and \"there\" is in it.",
        effort.requests, effort.repeats
    );
    let advice = "To find out how an array is laid out, run \"scrubjay probe DEVICE\": it needs a hundredth of the requests. This page \
                  shows how the published method does it, and where it fails.";
    let idea = "The idea: reads of one disk wait for each other, reads of two do not. So a size is the pattern's if \
               reads that far apart are slow; a place is a boundary if it and its neighbour are fast; two chunks lie \
               together if they are slow; and what a write costs tells the redundancy.";
    Page {
        title: "How an unknown array is laid out".into(),
        paragraphs: vec![advice.to_owned(), idea.to_owned(), source],
        exhibits: placed.into_iter().flat_map(|(_, exhibits)| exhibits).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_piece_has_its_own_place() {
        let mut places: Vec<usize> = PIECES.iter().map(|piece| piece.place).collect();
        places.sort_unstable();
        assert_eq!(places, (0..PIECES.len()).collect::<Vec<_>>());
    }
}
