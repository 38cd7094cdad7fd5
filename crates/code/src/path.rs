//! Paths: the instruction sets that the kernels are written for, and the best one that the machine has.

use std::sync::OnceLock;

/// The instruction set that the work is done with. All paths give the same bytes and the same sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// Table look-ups only: runs everywhere, and is the reference for the other paths.
    Scalar,
    /// AVX2, the CRC32 instruction of SSE4.2, and PCLMULQDQ.
    Avx2,
    /// AVX-512 (F, BW, VL), GFNI and VPCLMULQDQ.
    Avx512,
}

impl Path {
    /// Whether this machine has the instructions of the path.
    pub fn is_available(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        let (avx2, avx512) = (
            is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("sse4.2")
                && is_x86_feature_detected!("pclmulqdq"),
            is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("gfni")
                && is_x86_feature_detected!("vpclmulqdq"),
        );
        #[cfg(not(target_arch = "x86_64"))]
        let (avx2, avx512) = (false, false);
        match self {
            Path::Scalar => true,
            Path::Avx2 => avx2,
            Path::Avx512 => avx2 && avx512,
        }
    }
}

/// The paths of this machine, the best one last.
pub fn paths() -> Vec<Path> {
    [Path::Scalar, Path::Avx2, Path::Avx512].into_iter().filter(|path| path.is_available()).collect()
}

/// The best path of this machine; determined at the first call.
pub fn path() -> Path {
    static BEST: OnceLock<Path> = OnceLock::new();
    *BEST.get_or_init(
        || if Path::Avx512.is_available() { Path::Avx512 } else { *paths().last().unwrap_or(&Path::Scalar) },
    )
}
