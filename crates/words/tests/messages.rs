//! docs/messages.md is what the tables say.

use scrubjay_words::{catalogue, page};
use std::collections::BTreeSet;
use std::path::Path;

#[test]
fn the_page_of_messages_is_what_the_tables_say() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/messages.md");
    let kept = std::fs::read_to_string(path).unwrap_or_default();
    assert_eq!(kept, page(), "docs/messages.md is out of date: cargo xtask messages");
}

#[test]
fn every_table_is_listed_once_and_no_sentence_stands_in_two_of_its_rows() {
    let chapters = catalogue();
    let about: BTreeSet<&str> = chapters.iter().map(|chapter| chapter.about).collect();
    assert_eq!(about.len(), chapters.len());
    for chapter in &chapters {
        let texts: BTreeSet<&str> = chapter.rows.iter().map(|(text, _)| *text).collect();
        assert_eq!(texts.len(), chapter.rows.len(), "{}", chapter.about);
    }
}
