//! Crashes in the middle of writes: every combination of sectors that reached the disks, reconciled, and read.
//!
//! Nothing was flushed since the first of the writes. So each row's content is that of before, of any write since, or a
//! mixture; and so is its appendix, except that it is a single sector and never a mixture.

use super::describe::describe_write;
use super::disks::ModelFault;
use super::operate::{ModelOp, operate};
use super::setup::{DATA_MAX, ModelSetup};
use super::sight::RowsSeen;
use super::step::writes;
use super::stripe::{DataRow, FOREIGN, ModelRow, ModelStripe, NONSENSE, ParityHead, ParityRow};
use scrubjay_core::index::StripePosition;
use scrubjay_core::position_set::PositionSet;
use scrubjay_core::volume::integrity::reconcile::{Reconciliation, reconcile};
use scrubjay_core::volume::integrity::tag::RowStatus;
use scrubjay_core::volume::plan::StripeState;

/// The result of all crashes.
#[derive(Clone, Debug, Default)]
pub struct Crashes {
    /// States of the disks after a crash.
    pub cases: u64,
    /// States in which a chunk was wrong: an unwritten chunk changed, or a written one was neither its old content, nor
    /// a written one, nor a mixture of these.
    pub wrong: u64,
    /// States in which a chunk could not be read any more.
    pub errors: u64,
    /// The first case of each of these two.
    pub stories: Vec<Vec<String>>,
}

/// Crashes during up to `writes_max` successive writes, with every set of up to `missing_max` members missing.
pub fn crash(setup: &ModelSetup, writes_max: usize, missing_max: usize) -> Crashes {
    let mut crashes = Crashes::default();
    let slots = setup.shape.width();
    let sets = (0..1usize << slots).map(|bits| {
        StripePosition::first(slots).filter(|position| bits >> position.get() & 1 == 1).collect::<PositionSet>()
    });
    for missing in sets.filter(|missing| missing.count() <= missing_max) {
        let mut stripe = ModelStripe::new(setup);
        missing.iter().for_each(|position| stripe.put(setup, position, None));
        let mut generations = vec![stripe];
        write_next(setup, &mut generations, &mut Vec::new(), writes_max, &mut crashes);
    }
    crashes
}

/// Does every possible next write, and the crashes after it.
fn write_next(
    setup: &ModelSetup,
    generations: &mut Vec<ModelStripe>,
    history: &mut Vec<String>,
    left: usize,
    crashes: &mut Crashes,
) {
    if left == 0 {
        return;
    }
    let stripe = generations[generations.len() - 1];
    let state = StripeState { is_read: PositionSet::NONE, missing: stripe.missing(setup), list_rotation: 0 };
    for (touched, is_partial, plan) in writes(setup, state) {
        if is_partial {
            continue; // It writes the same rows as the whole write.
        }
        let done =
            operate(setup, stripe, ModelOp::Write { touched, is_partial, is_older: false, plan }, ModelFault::None);
        if done.answer.is_err() {
            continue; // The plan is at fault, which is not the subject here.
        }
        generations.push(done.stripe);
        history.push(describe_write(setup, touched, plan).to_string());
        visit_crash_states(setup, generations, history, crashes);
        write_next(setup, generations, history, left - 1, crashes);
        generations.pop();
        history.pop();
    }
}

/// Visits every state that the disks can be in after a crash.
fn visit_crash_states(setup: &ModelSetup, generations: &[ModelStripe], history: &[String], crashes: &mut Crashes) {
    let all = PositionSet::range(0, setup.shape.width()) - generations[0].missing(setup);
    let choices: Vec<(StripePosition, Vec<CrashRow>)> =
        all.iter().map(|position| (position, crash_rows(setup, generations, position))).collect();
    let mut chosen = vec![0; choices.len()];
    let mut stripe = generations[0];
    loop {
        for (&(position, ref rows), &choice) in choices.iter().zip(&chosen) {
            stripe.put(setup, position, Some(rows[choice].row));
        }
        crashes.cases += 1;
        let found = recovered(setup, generations, &stripe);
        for (count, is_found, message) in [
            (&mut crashes.wrong, found == CrashFinding::Wrong, "something is not what it must be"),
            (&mut crashes.errors, found == CrashFinding::Error, "something cannot be read any more"),
        ] {
            *count += u64::from(is_found);
            if is_found && *count == 1 {
                let rows = choices.iter().zip(&chosen).map(|((_, rows), &choice)| rows[choice].text.clone());
                let lines = history.iter().cloned().chain(rows.filter(|row| !row.is_empty()));
                crashes.stories.push(lines.chain([message.into()]).collect());
            }
        }
        let Some(next) = (0..chosen.len()).find(|&index| chosen[index] + 1 < choices[index].1.len()) else { break };
        chosen[..next].fill(0);
        chosen[next] += 1;
    }
}

/// A row that can be in a position after the crash.
struct CrashRow {
    row: ModelRow,
    text: String,
}

fn crash_rows(setup: &ModelSetup, generations: &[ModelStripe], position: StripePosition) -> Vec<CrashRow> {
    let rows: Vec<ModelRow> = generations.iter().filter_map(|stripe| stripe.row(setup, position)).collect();
    let mut crash_rows: Vec<CrashRow> = Vec::new();
    let name = if setup.shape.is_data(position) {
        format!("D{position}")
    } else {
        format!("P{}", position.get() - setup.shape.data)
    };
    for (appendix, content) in
        (0..rows.len()).flat_map(|appendix| (0..=rows.len()).map(move |content| (appendix, content)))
    {
        let row = assembled(setup, &rows, rows.get(content), rows[appendix]);
        if crash_rows.iter().any(|known| known.row == row) {
            continue;
        }
        let from = if content == rows.len() { "a mixture".into() } else { format!("of write {content}") };
        let text = match rows.iter().all(|other| *other == rows[0]) {
            true => String::new(),
            false => format!("on disk: {name} with content {from}, appendix of write {appendix}"),
        };
        crash_rows.push(CrashRow { row, text });
    }
    crash_rows
}

/// A row with one row's content, or a mixture of all, and another row's appendix.
fn assembled(setup: &ModelSetup, all: &[ModelRow], content: Option<&ModelRow>, appendix: ModelRow) -> ModelRow {
    match (appendix, content) {
        (ModelRow::Data(appendix), content) => {
            let mixed = mixture(
                all.iter().map(|row| matches!(row, ModelRow::Data(row) if row.content == appendix.content)),
                appendix.content,
                FOREIGN,
            );
            let content = match content {
                Some(ModelRow::Data(row)) => row.content,
                _ => mixed,
            };
            let sealed = if setup.scheme.checks_itself() { appendix.sealed } else { content };
            ModelRow::Data(DataRow { content, sealed, ..appendix })
        }
        (ModelRow::Parity(appendix), content) => {
            let same = |index: usize| move |row: &ModelRow| matches!(row, ModelRow::Parity(row) if row.columns[index] == appendix.columns[index]);
            let mixed =
                std::array::from_fn(|index| mixture(all.iter().map(same(index)), appendix.columns[index], NONSENSE));
            let columns = match content {
                Some(ModelRow::Parity(row)) => row.columns,
                _ => mixed,
            };
            let is_whole = columns == appendix.columns || !setup.scheme.checks_itself();
            ModelRow::Parity(ParityRow { columns, head: ParityHead { is_whole, ..appendix.head }, ..appendix })
        }
    }
}

/// The result of mixing contents: if all are the same, that content.
fn mixture(mut are_same: impl Iterator<Item = bool>, same: u8, otherwise: u8) -> u8 {
    if are_same.all(|is_same| is_same) { same } else { otherwise }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CrashFinding {
    Right,
    Error,
    Wrong,
}

/// Reconciles a stripe as the volume does when it opens, and reads every chunk.
fn recovered(setup: &ModelSetup, generations: &[ModelStripe], stripe: &ModelStripe) -> CrashFinding {
    let mut seen = RowsSeen::default();
    let all = PositionSet::range(0, setup.shape.width());
    for (position, row) in all.iter().filter_map(|position| Some((position, stripe.row(setup, position)?))) {
        seen.insert(setup, position, row, true);
    }
    let contents = contents_after(setup, &seen, reconcile(&seen.evidence(setup)));
    let is_legal = |index: usize, content: u8| {
        let mut written = generations.iter().map(|stripe| stripe.chunks[index].truth.content);
        let is_touched =
            generations.iter().any(|stripe| stripe.chunks[index].truth != generations[0].chunks[index].truth);
        written.any(|written| written == content) || is_touched && content == FOREIGN
    };
    let data = &contents[..setup.shape.data];
    let is_wrong =
        data.iter().enumerate().any(|(index, content)| content.is_some_and(|content| !is_legal(index, content)));
    match (is_wrong, data.iter().all(Option::is_some)) {
        (true, _) => CrashFinding::Wrong,
        (_, true) => CrashFinding::Right,
        _ => CrashFinding::Error,
    }
}

/// The content of each data chunk after the reconciliation; `None`: lost.
fn contents_after(setup: &ModelSetup, seen: &RowsSeen, mut reconciliation: Reconciliation) -> [Option<u8>; DATA_MAX] {
    let data = setup.shape.data_set();
    let kept = data - reconciliation.rebuilt - reconciliation.lost;
    let mut contents = [None; DATA_MAX];
    for position in kept.iter() {
        contents[position.get()] = seen.data[position.get()].map(|row| row.content);
    }
    let rebuilt = reconciliation.rebuilt;
    let parities = reconciliation
        .parities
        .iter()
        .take(rebuilt.count())
        .map(|position| seen.parities[position.get() - setup.shape.data]);
    let parities: Vec<ParityRow> = parities.flatten().collect();
    for position in rebuilt.iter() {
        let first = parities.first().map_or([NONSENSE; DATA_MAX], |row| row.columns);
        let belongs = |row: &ParityRow| {
            data.iter().all(|index| {
                row.columns[index.get()]
                    == contents[index.get()].filter(|_| kept.contains(index)).unwrap_or(first[index.get()])
            })
        };
        let content = if parities.iter().all(belongs) { first[position.get()] } else { NONSENSE };
        let is_proven = !setup.scheme.lists_sums() || reconciliation.expected[position].sum == u32::from(content);
        match is_proven {
            true => contents[position.get()] = Some(content),
            false => reconciliation.lost.insert(position),
        }
    }
    if !reconciliation.lost.is_empty() && !setup.scheme.has_versions() {
        // The stripe stays undecided: sound rows may be read, nothing is rebuilt.
        for position in data.iter() {
            let is_sound = seen.status(setup, position) == RowStatus::Sound;
            contents[position.get()] = seen.data[position.get()].map(|row| row.content).filter(|_| is_sound);
        }
    }
    contents
}
