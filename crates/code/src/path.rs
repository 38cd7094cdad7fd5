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
    /// NEON and the CRC32 instructions of 64-bit Arm.
    Neon,
}

/// All paths, of each architecture the best one last.
const ALL: [Path; 4] = [Path::Scalar, Path::Avx2, Path::Avx512, Path::Neon];

impl Path {
    /// Whether this machine has the instructions of the path.
    pub fn is_available(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        let (avx2, avx512, neon) = (
            is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("sse4.2")
                && is_x86_feature_detected!("pclmulqdq"),
            is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("gfni")
                && is_x86_feature_detected!("vpclmulqdq"),
            false,
        );
        #[cfg(target_arch = "aarch64")]
        let (avx2, avx512, neon) = (
            false,
            false,
            std::arch::is_aarch64_feature_detected!("neon") && std::arch::is_aarch64_feature_detected!("crc"),
        );
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        let (avx2, avx512, neon) = (false, false, false);
        match self {
            Path::Scalar => true,
            Path::Avx2 => avx2,
            Path::Avx512 => avx2 && avx512,
            Path::Neon => neon,
        }
    }
}

/// The paths of this machine, the best one last.
pub fn paths() -> Vec<Path> {
    ALL.into_iter().filter(|path| path.is_available()).collect()
}

/// The best path of this machine; determined at the first call.
pub fn path() -> Path {
    static BEST: OnceLock<Path> = OnceLock::new();
    *BEST.get_or_init(|| *ALL.iter().rfind(|path| path.is_available()).unwrap_or(&Path::Scalar))
}
