//! The study of Shear: the figures of Denehy, Bent, Popovici, Arpaci-Dusseau & Arpaci-Dusseau, "Deconstructing Storage
//! Arrays" (TR 1506, Wisconsin, 2004), by the published prober ([`scrubjay_core::probe::paper`]) on modelled arrays.
//!
//! | of the paper | here |
//! |---|---|
//! | Figures 3, 9 and the first graphs of 8, 11, 12, 13: the pattern's size | [`patterns`] |
//! | Figures 5, 19 and the second graphs of 8, 11, 12, 13, 18: boundaries | [`bounds`] |
//! | Figures 6, 10, 13, 17, 18: which chunks lie together | [`layouts`] |
//! | Figure 7: what it costs | [`counts`] |
//! | Figures 14, 15, 16: what writes cost | [`writes`] |
//! | Figure 20: files in whole stripes | [`align`] |
//! | section 3 in one table | [`verdicts`] |
//! | not in it: how often it is right under noise, beside another prober | [`versus`] |
//!
//! Ratios are to be compared, not seconds: the paper gives neither N nor R. What decides the seconds of Figure 8 is an
//! elevator: 500 reads of one disk take 2.3 s behind one, 4.8 s in turn, and 2.0 s there.

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
