//! Notes on a trace that was read, in words: Python issues them as warnings.

use scrubjay_core::quantity::{show_count, show_time};
use scrubjay_research::workload::{ISSUED_ONLY, TraceNote};

/// Each note as one line.
pub fn texts(notes: &[TraceNote]) -> Vec<String> {
    notes.iter().map(text).collect()
}

fn text(note: &TraceNote) -> String {
    match note {
        TraceNote::Malformed(malformed) => {
            let first = malformed.examples.first();
            let first =
                first.map_or(String::new(), |first| format!("; the first at {}: {}", first.place, first.reason));
            format!("records not understood and left out: {}{first}", show_count(malformed.count))
        }
        TraceNote::SizesInDoubt { format } => format!(
            "every size in this trace is a multiple of 256 KiB when it is read as {format}: if it counts bytes, say block=1"
        ),
        TraceNote::TimesInDoubt { format, rate } => format!(
            "read as {format} this trace has {} requests a second: if its times count another unit, say time_unit=\"us\" or \"ms\"",
            show_count(rate.round() as u64)
        ),
        TraceNote::IssuedOnly => ISSUED_ONLY.to_owned(),
        TraceNote::DiskTooSlow { load, traced, played, is_unit_in_doubt } => {
            let units = if *is_unit_in_doubt { ", time_unit= if its times count something else" } else { "" };
            format!(
                "{load}: the requests of {} keep the model disk busy for {}: choose a faster one with disk=, or \
                 service=\"recorded\"{units}",
                show_time(*traced),
                show_time(*played)
            )
        }
    }
}
