//! Runs independent pieces of work on all cores.

use crate::ResearchError;
use crate::job_control::JobControl;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Runs `work` on each of `pieces` and returns the results in their order; a free thread takes the next piece.
///
/// # Panics
/// When `work` does.
pub fn share<'p, P: Sync, R: Send>(pieces: &'p [P], work: impl Fn(&'p P) -> R + Sync) -> Vec<R> {
    share_on(thread::available_parallelism().map_or(1, usize::from), pieces, work)
}

/// Does what [`share`] does, on as many threads as `control` names, until `control` stops it.
///
/// # Errors
/// The job was stopped.
///
/// # Panics
/// When `work` does.
pub fn share_under<'p, P: Sync, R: Send>(
    control: &JobControl,
    pieces: &'p [P],
    work: impl Fn(&'p P) -> R + Sync,
) -> Result<Vec<R>, ResearchError> {
    let controlled_work = |piece| {
        (!control.is_stopped()).then(|| {
            let result = work(piece);
            control.piece_done();
            result
        })
    };
    control.expect_pieces(pieces.len() as u64);
    let results = share_on(control.threads(), pieces, controlled_work);
    results.into_iter().collect::<Option<Vec<R>>>().ok_or(ResearchError::Stopped)
}

fn share_on<'p, P: Sync, R: Send>(threads: usize, pieces: &'p [P], work: impl Fn(&'p P) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut done = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(piece) = pieces.get(index) else { return done };
            done.push((index, work(piece)));
        }
    };
    let mut all: Vec<(usize, R)> = thread::scope(|scope| {
        let workers: Vec<_> = (1..threads.min(pieces.len())).map(|_| scope.spawn(worker)).collect();
        let mut all = worker();
        for handle in workers {
            all.extend(handle.join().unwrap_or_else(|fault| std::panic::resume_unwind(fault)));
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

    #[test]
    fn a_stopped_job_gives_no_result_and_a_running_job_reports_its_progress() {
        let pieces: Vec<u64> = (0..100).collect();
        let control = JobControl::on_threads(3);
        assert_eq!(share_under(&control, &pieces, |piece| piece + 1).unwrap().len(), 100);
        assert_eq!((control.progress().pieces, control.progress().pieces_expected), (100, 100));
        let stopped = share_under(&control, &pieces, |&piece| {
            // Those behind it wait for it: otherwise other threads may be through with all before it stops the job.
            match piece {
                50 => control.stop(),
                51.. => {
                    while !control.is_stopped() {
                        std::thread::yield_now();
                    }
                }
                _ => {}
            }
        });
        assert!(matches!(stopped, Err(ResearchError::Stopped)), "{stopped:?}");
    }
}
