//! Opens the file: makes an absent one, refuses one that is not Scrubjay's, and updates older tables.

use super::error::HistoryError;
use super::schema::{APPLICATION_ID, STEPS};
use rusqlite::{Connection, OpenFlags, TransactionBehavior};
use std::fs::{self, DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

/// How long another process that writes is waited for.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
/// The version of the tables that this program knows.
pub const KNOWN_VERSION: i64 = STEPS.len() as i64;

/// Opens the file for writing.
pub fn writable(path: &Path) -> Result<Connection, HistoryError> {
    make(path).map_err(|source| HistoryError::Make { path: path.to_owned(), source })?;
    let mut connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    check_version(path, &connection)?;
    check_pages(path, &connection)?;
    let to_error = |error| HistoryError::of(path, error);
    connection.pragma_update(None, "journal_mode", "WAL").map_err(to_error)?;
    // A commit is durable before its consequences are acted on.
    connection.pragma_update(None, "synchronous", "FULL").map_err(to_error)?;
    connection.pragma_update(None, "foreign_keys", true).map_err(to_error)?;
    migrate(&mut connection, &STEPS).map_err(to_error)?;
    Ok(connection)
}

/// Opens the file for reading.
pub fn readable(path: &Path) -> Result<Connection, HistoryError> {
    let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let found = check_version(path, &connection)?;
    if found < KNOWN_VERSION {
        return Err(HistoryError::Older { path: path.to_owned(), found, known: KNOWN_VERSION });
    }
    Ok(connection)
}

/// Opens a file whose tables are of an older version, as it is, and says of which one.
pub fn older(path: &Path) -> Option<(Connection, i64)> {
    let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE).ok()?;
    let found = check_version(path, &connection).ok()?;
    (0 < found && found < KNOWN_VERSION).then_some((connection, found))
}

/// Opens a data base without a file.
pub fn in_memory() -> rusqlite::Result<Connection> {
    let mut connection = Connection::open_in_memory()?;
    connection.pragma_update(None, "foreign_keys", true)?;
    migrate(&mut connection, &STEPS)?;
    Ok(connection)
}

/// Makes the file, with access for its owner only (SQLite gives the files beside it the same mode), and its folder.
fn make(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !folder.is_dir() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Ok(_) => fs::File::open(folder)?.sync_all(), // its name survives a power cut, too
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

fn connect(path: &Path, flags: OpenFlags) -> Result<Connection, HistoryError> {
    let opened = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX).and_then(|connection| {
        connection.busy_timeout(BUSY_TIMEOUT)?;
        Ok(connection)
    });
    opened.map_err(|error| HistoryError::of(path, error))
}

/// The version of its tables; 0: there are none yet. Nothing is written before the version is known.
fn check_version(path: &Path, connection: &Connection) -> Result<i64, HistoryError> {
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let count = || connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0));
    let read = || Ok((pragma("application_id")?, pragma("user_version")?, count()?));
    let (application, version, tables) = read().map_err(|error| HistoryError::of(path, error))?;
    if application != APPLICATION_ID && (application, version, tables) != (0, 0, 0) {
        return Err(HistoryError::Foreign { path: path.to_owned() });
    }
    if version > KNOWN_VERSION {
        return Err(HistoryError::Newer { path: path.to_owned(), found: version, known: KNOWN_VERSION });
    }
    Ok(version)
}

/// Checks for damage when the daemon starts, not only when a row is needed.
pub fn check_pages(path: &Path, connection: &Connection) -> Result<(), HistoryError> {
    let result: String = connection
        .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
        .map_err(|error| HistoryError::of(path, error))?;
    match result.as_str() {
        "ok" => Ok(()),
        _ => Err(HistoryError::Damaged { path: path.to_owned(), fault: result.replace('\n', " ") }),
    }
}

/// Runs the remaining steps, each in a transaction.
pub fn migrate(connection: &mut Connection, steps: &[&str]) -> rusqlite::Result<()> {
    loop {
        let step = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let version: i64 = step.pragma_query_value(None, "user_version", |row| row.get(0))?;
        let Some(sql) = usize::try_from(version).ok().and_then(|version| steps.get(version)) else { return Ok(()) };
        step.execute_batch(sql)?;
        step.pragma_update(None, "application_id", APPLICATION_ID)?;
        step.pragma_update(None, "user_version", version + 1)?;
        step.commit()?;
    }
}
