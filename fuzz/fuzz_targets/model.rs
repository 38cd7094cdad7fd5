//! Fuzzes the parameters of the generator: what is read is written and read again, and generates.

#![no_main]

use scrubjay_trace::generate::{Generator, Model};

/// So many records show what a model does.
const RECORDS: usize = 2000;
/// A stretch is entered up to a day after its beginning: of models that are slower than this, in requests a second, it
/// does not take long.
const RATE_MAX: f64 = 5.0;

libfuzzer_sys::fuzz_target!(|text: &str| {
    let Ok(model) = Model::from_json(text, None) else { return };
    let again = Model::from_json(&model.to_json(), Some(model.name())).expect("it was just written");
    assert_eq!(again, model);
    generate(&model, model.hours());
    if model.rate() < RATE_MAX {
        generate(&model, model.hours() / 2.0);
    }
});

/// The first records of a run.
fn generate(model: &Model, hours: f64) {
    let records: Vec<_> = Generator::new(model, hours, 1).take(RECORDS).collect();
    assert!(records.is_sorted_by_key(|record| record.arrival), "in the order of arrival");
    for record in records {
        assert!(record.length.0 > 0 && record.offset.0.checked_add(record.length.0).is_some());
    }
}
