//! The study of Shear: the figures of the paper, by the published prober, on modelled arrays.
//!
//! Denehy, Bent, Popovici, Arpaci-Dusseau & Arpaci-Dusseau, "Deconstructing Storage Arrays" (TR 1506, Wisconsin, 2004);
//! the prober is [`scrubjay_core::probe::paper`].
//!
//! | of the paper | here |
//! |---|---|
//! | Figures 3, 9 and the first graphs of 8, 11, 12, 13: the pattern's size | [`patterns`] |
//! | Figures 5, 19 and the second graphs of 8, 11, 12, 13, 18: boundaries | [`bounds`] |
//! | Figures 6, 10, 13, 17, 18: which chunks lie together | [`layouts`] |
//! | Figure 7: the number of requests | [`counts`] |
//! | Figures 14, 15, 16: the cost of writes | [`writes`] |
//! | Figure 20: files in whole stripes | [`align`] |
//! | section 3 in one table | [`verdicts`] |
//! | not in it: how often it is right under noise, compared with another prober | [`versus`] |
//!
//! Compare ratios, not seconds: the paper gives neither N nor R. The seconds of Figure 8 depend on an elevator: 500
//! reads of one disk take 2.3 s behind one, 4.8 s in order of arrival, and 2.0 s in the paper.

pub mod align;
pub mod bounds;
pub mod counts;
mod draw;
mod effort;
pub mod layouts;
mod page;
pub mod patterns;
pub mod rig;
pub mod verdicts;
pub mod versus;
pub mod writes;

pub use effort::Effort;
pub use page::{PIECES, StudyPiece, page};
