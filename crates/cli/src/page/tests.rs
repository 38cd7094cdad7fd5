//! Pages written into folders that may have other files.

use super::write;
use scrubjay_chart::{Exhibit, Page, Table};
use std::fs;
use std::path::Path;

fn study() -> Page {
    let (name, title, caption) = ("disks".to_owned(), "The disks".to_owned(), String::new());
    let table = Table { name, title, caption, head: vec!["disk".to_owned()], rows: vec![vec!["sda".to_owned()]] };
    Page { title: "A study".to_owned(), exhibits: vec![Exhibit::Table(table)], ..Page::default() }
}

fn read(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join(name)).unwrap()
}

#[test]
fn a_folder_holds_the_files_of_the_page_and_no_others() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("a/b");
    let written = write(&study(), &folder, &[]).unwrap();
    assert_eq!(written, ["index.html", "disks.csv"].map(|name| folder.join(name)));
    assert_eq!(fs::read_dir(&folder).unwrap().count(), written.len(), "no temporary files are left");
    assert_eq!(read(&folder, "disks.csv"), "disk\nsda\n");
}

#[test]
fn a_page_that_cannot_be_named_leaves_the_folder_empty() {
    let place = tempfile::tempdir().unwrap();
    let mut page = study();
    page.exhibits.push(page.exhibits[0].clone());
    assert!(write(&page, place.path(), &[]).is_err());
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
}

#[test]
fn a_page_replaces_itself_and_nothing_else() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("study");
    write(&study(), &folder, &[]).unwrap();
    fs::write(folder.join("notes.txt"), "mine").unwrap();
    write(&Page { title: "Again".to_owned(), ..study() }, &folder, &[]).unwrap();
    assert!(read(&folder, "index.html").contains("<title>Again</title>"));
    assert_eq!(read(&folder, "notes.txt"), "mine");
}

#[test]
fn foreign_files_and_wrong_paths_are_refused() {
    let place = tempfile::tempdir().unwrap();
    let refused = |path: &Path| format!("{:#}", write(&study(), path, &[]).unwrap_err());
    let file = place.path().join("file");
    fs::write(&file, "").unwrap();
    assert_eq!(refused(&file), format!("{} is a file, not a folder", file.display()));
    assert!(refused(&file.join("below")).contains(&file.join("below").display().to_string()));
    for name in ["index.html", "disks.csv"] {
        let folder = place.path().join(name.replace('.', "-"));
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join(name), "somebody's").unwrap();
        assert!(refused(&folder).contains(&folder.join(name).display().to_string()));
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        assert_eq!(read(&folder, name), "somebody's");
    }
}
