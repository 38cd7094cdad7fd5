//! Work that falls into independent pieces, on all cores.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// `work` of each of `pieces`, in their order; who is free takes the next.
///
/// # Panics
/// When `work` does.
pub fn share<'p, P: Sync, R: Send>(pieces: &'p [P], work: impl Fn(&'p P) -> R + Sync) -> Vec<R> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicUsize::new(0);
    let member = || {
        let mut done = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(piece) = pieces.get(index) else { return done };
            done.push((index, work(piece)));
        }
    };
    let mut all: Vec<(usize, R)> = thread::scope(|scope| {
        let members: Vec<_> = (1..cores.min(pieces.len())).map(|_| scope.spawn(member)).collect();
        let mut all = member();
        for one in members {
            all.extend(one.join().unwrap_or_else(|fault| std::panic::resume_unwind(fault)));
        }
        all
    });
    all.sort_unstable_by_key(|(index, _)| *index);
    all.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_keep_the_order_of_the_pieces() {
        let pieces: Vec<u64> = (0..1000).collect();
        assert_eq!(share(&pieces, |piece| piece * 2), pieces.iter().map(|piece| piece * 2).collect::<Vec<_>>());
        assert!(share(&[0u8; 0], |_| ()).is_empty());
    }
}
