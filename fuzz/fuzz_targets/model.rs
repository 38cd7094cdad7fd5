//! Fuzzes the parameters of the generator: a model that can be read survives writing and reading, and generates.

#![no_main]

use scrubjay_trace::generate::{Generator, Model};

/// Records (count) that are enough to check a model.
const RECORDS: usize = 2000;
/// Only models with a lower rate than this, in requests per second, are also run for a part of their hours: up to a day
/// of the model is generated before such a part begins.
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
