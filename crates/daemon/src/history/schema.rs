//! The tables, as steps from each version to the next. A published step never changes; a new one is added.

/// "SJay": identifies the program in the file's header.
pub const APPLICATION_ID: i64 = 0x534a_6179;

/// The steps: the first makes version 1 of an empty file.
pub const STEPS: [&str; 3] = [VERSION_1, VERSION_2, VERSION_3];

/// What pools of ZFS say of themselves, and volumes of lost stripes; which file this is, and how often it was written: the same stands in a file beside it.
const VERSION_3: &str = "
ALTER TABLE array ADD COLUMN pool TEXT;
ALTER TABLE array ADD COLUMN lost_stripes INTEGER;
ALTER TABLE disk ADD COLUMN place TEXT;
ALTER TABLE host ADD COLUMN history_lost TEXT;
ALTER TABLE channel ADD COLUMN refused TEXT NOT NULL DEFAULT '[]';
CREATE TABLE instance (
    one INTEGER PRIMARY KEY CHECK (one = 1), id INTEGER NOT NULL, generation INTEGER NOT NULL
) STRICT;
INSERT INTO instance VALUES (1, random(), 0);
";

/// Heat, warnings and the sector of a self-test; the highest value of a counter that may fall; what came back, and what is a consequence.
const VERSION_2: &str = "
ALTER TABLE disk ADD COLUMN hot INTEGER;
ALTER TABLE disk ADD COLUMN sense INTEGER;
ALTER TABLE disk ADD COLUMN self_test_lba INTEGER;
ALTER TABLE disk ADD COLUMN is_self_test_old INTEGER NOT NULL DEFAULT 0;
ALTER TABLE disk_counter ADD COLUMN peak INTEGER NOT NULL DEFAULT 0;
ALTER TABLE disk_counter ADD COLUMN zero_since INTEGER NOT NULL DEFAULT 0;
UPDATE disk_counter SET peak = value;
ALTER TABLE incident ADD COLUMN thread_run INTEGER;
ALTER TABLE incident ADD COLUMN written TEXT NOT NULL DEFAULT '[]';
ALTER TABLE incident ADD COLUMN returns INTEGER NOT NULL DEFAULT 0;
ALTER TABLE incident ADD COLUMN away_since INTEGER;
ALTER TABLE incident ADD COLUMN held_until INTEGER NOT NULL DEFAULT 0;
CREATE TABLE incident_past (
    sort TEXT NOT NULL, subject TEXT NOT NULL, kind TEXT NOT NULL, ended INTEGER NOT NULL, returns INTEGER NOT NULL,
    written TEXT NOT NULL, thread INTEGER, thread_run INTEGER,
    PRIMARY KEY (sort, subject, kind)
) STRICT, WITHOUT ROWID;
";

const VERSION_1: &str = "
-- The watch's rows, each replaced whole.
CREATE TABLE host (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    latest INTEGER NOT NULL, next_message INTEGER NOT NULL, paused_until INTEGER NOT NULL, paused_for INTEGER NOT NULL,
    reported_month INTEGER NOT NULL, checked INTEGER NOT NULL, ratios BLOB NOT NULL
) STRICT;
CREATE TABLE disk (
    disk TEXT PRIMARY KEY, name TEXT NOT NULL, model TEXT NOT NULL, serial TEXT, bay TEXT, controller TEXT,
    media TEXT NOT NULL,
    sectors INTEGER NOT NULL,
    passed INTEGER, nvme_warning INTEGER NOT NULL, spare_low INTEGER, used INTEGER NOT NULL,
    is_self_test_failed INTEGER NOT NULL, smart_read INTEGER NOT NULL, unknown_since INTEGER NOT NULL,
    service_first TEXT NOT NULL, service_last INTEGER NOT NULL
) STRICT;
CREATE TABLE reading (
    sort TEXT NOT NULL, subject TEXT NOT NULL,
    pass_sectors INTEGER NOT NULL, known_since INTEGER NOT NULL, begun INTEGER NOT NULL, done INTEGER NOT NULL,
    touched TEXT NOT NULL, read TEXT NOT NULL, oldest_read INTEGER, finished INTEGER NOT NULL,
    unreadable TEXT NOT NULL, unreadable_before TEXT NOT NULL, unreadable_sectors INTEGER NOT NULL,
    retries INTEGER NOT NULL, retries_before INTEGER NOT NULL,
    corrected INTEGER NOT NULL, corrected_before INTEGER NOT NULL,
    mismatched INTEGER NOT NULL, mismatched_before INTEGER NOT NULL,
    unjudged INTEGER NOT NULL, reported INTEGER NOT NULL,
    failed_sessions INTEGER NOT NULL, refused_since INTEGER, refused_last INTEGER, refused_why TEXT,
    forecast_low INTEGER, forecast_likely INTEGER, forecast_high INTEGER, forecast_seconds INTEGER,
    PRIMARY KEY (sort, subject)
) STRICT, WITHOUT ROWID;
CREATE TABLE disk_counter (
    disk TEXT NOT NULL REFERENCES disk (disk) ON DELETE CASCADE, kind TEXT NOT NULL,
    value INTEGER NOT NULL, growth INTEGER NOT NULL, since INTEGER NOT NULL, grew INTEGER NOT NULL,
    is_doubted INTEGER NOT NULL,
    PRIMARY KEY (disk, kind)
) STRICT, WITHOUT ROWID;
CREATE TABLE idle_week (
    sort TEXT NOT NULL, subject TEXT NOT NULL,
    bytes_per_second INTEGER NOT NULL, share BLOB NOT NULL, weeks BLOB NOT NULL,
    PRIMARY KEY (sort, subject)
) STRICT, WITHOUT ROWID;
CREATE TABLE array (
    array TEXT PRIMARY KEY, name TEXT NOT NULL, level TEXT NOT NULL, redundancy INTEGER NOT NULL,
    activity TEXT NOT NULL, members TEXT NOT NULL,
    layout TEXT, layout_data INTEGER, layout_parity INTEGER, layout_disks INTEGER, chunk_sectors INTEGER,
    check_sectors INTEGER
) STRICT;
CREATE TABLE incident (
    sort TEXT NOT NULL, subject TEXT NOT NULL, kind TEXT NOT NULL, opened INTEGER NOT NULL,
    urgency TEXT NOT NULL, amounts TEXT NOT NULL, headline TEXT NOT NULL, lines TEXT NOT NULL, controller TEXT,
    told INTEGER, known TEXT NOT NULL, known_urgency TEXT NOT NULL, less_since INTEGER, reminders INTEGER NOT NULL,
    is_accepted INTEGER NOT NULL, thread INTEGER,
    PRIMARY KEY (sort, subject, kind)
) STRICT, WITHOUT ROWID;
CREATE TABLE message (
    number INTEGER PRIMARY KEY, channel TEXT NOT NULL, id TEXT NOT NULL, reply_to TEXT,
    reason TEXT NOT NULL, reminder INTEGER, about TEXT NOT NULL, urgency TEXT NOT NULL,
    subject TEXT NOT NULL, body TEXT NOT NULL, written INTEGER NOT NULL, attempts INTEGER NOT NULL,
    next_attempt INTEGER NOT NULL, is_under_way INTEGER NOT NULL, may_be_repeated INTEGER NOT NULL
) STRICT;
CREATE TABLE channel (
    channel TEXT PRIMARY KEY, fingerprint INTEGER NOT NULL, known_since INTEGER NOT NULL,
    is_caught_up INTEGER NOT NULL, code TEXT,
    proven INTEGER, failing_since INTEGER, delivered INTEGER
) STRICT;

-- What has happened.
CREATE TABLE known_disk (
    id INTEGER PRIMARY KEY, disk TEXT NOT NULL UNIQUE, name TEXT NOT NULL, model TEXT NOT NULL,
    named INTEGER NOT NULL, first_seen INTEGER NOT NULL, is_there INTEGER NOT NULL, forgotten INTEGER
) STRICT;
CREATE TABLE event (
    number INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, kind TEXT NOT NULL,
    disk INTEGER REFERENCES known_disk (id) ON DELETE CASCADE, subject TEXT NOT NULL, words TEXT NOT NULL
) STRICT;
CREATE INDEX event_of_disk ON event (disk, number) WHERE disk IS NOT NULL;
CREATE TABLE incident_history (
    number INTEGER PRIMARY KEY, sort TEXT NOT NULL, subject TEXT NOT NULL, kind TEXT NOT NULL,
    opened INTEGER NOT NULL, accepted INTEGER, resolved INTEGER,
    worst_urgency TEXT NOT NULL, worst_amounts TEXT NOT NULL, headline TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX incident_open ON incident_history (sort, subject, kind) WHERE resolved IS NULL;
CREATE TABLE message_history (
    number INTEGER PRIMARY KEY, channel TEXT NOT NULL, reason TEXT NOT NULL, urgency TEXT NOT NULL,
    subject TEXT NOT NULL, body TEXT NOT NULL, written INTEGER NOT NULL, attempts INTEGER NOT NULL,
    delivered INTEGER, ended INTEGER
) STRICT;
CREATE TABLE counter_reading (
    disk INTEGER NOT NULL REFERENCES known_disk (id) ON DELETE CASCADE, kind TEXT NOT NULL, at INTEGER NOT NULL,
    value INTEGER NOT NULL,
    PRIMARY KEY (disk, kind, at)
) STRICT, WITHOUT ROWID;
CREATE TABLE temperature (
    disk INTEGER NOT NULL REFERENCES known_disk (id) ON DELETE CASCADE, hour INTEGER NOT NULL, celsius INTEGER NOT NULL,
    PRIMARY KEY (disk, hour)
) STRICT, WITHOUT ROWID;
CREATE TABLE temperature_day (
    disk INTEGER NOT NULL REFERENCES known_disk (id) ON DELETE CASCADE, day INTEGER NOT NULL,
    readings INTEGER NOT NULL, min INTEGER NOT NULL, mean REAL NOT NULL, max INTEGER NOT NULL,
    PRIMARY KEY (disk, day)
) STRICT, WITHOUT ROWID;
CREATE TABLE pass (
    number INTEGER PRIMARY KEY, disk INTEGER NOT NULL REFERENCES known_disk (id) ON DELETE CASCADE,
    pass INTEGER NOT NULL, begun INTEGER NOT NULL, ended INTEGER NOT NULL, sectors INTEGER NOT NULL,
    unreadable INTEGER NOT NULL, retries INTEGER NOT NULL, bytes_per_second INTEGER NOT NULL,
    service_nanos INTEGER NOT NULL,
    UNIQUE (disk, pass, begun)
) STRICT;
CREATE TABLE finding (
    number INTEGER PRIMARY KEY, disk INTEGER NOT NULL REFERENCES known_disk (id) ON DELETE CASCADE,
    start_sector INTEGER NOT NULL, end_sector INTEGER NOT NULL,
    first_seen INTEGER NOT NULL, last_seen INTEGER NOT NULL, gone INTEGER
) STRICT;
CREATE INDEX finding_of_disk ON finding (disk, gone, start_sector);
CREATE TABLE array_place (
    array TEXT NOT NULL, place INTEGER NOT NULL,
    disk INTEGER NOT NULL REFERENCES known_disk (id) ON DELETE CASCADE,
    PRIMARY KEY (array, place)
) STRICT, WITHOUT ROWID;
";
