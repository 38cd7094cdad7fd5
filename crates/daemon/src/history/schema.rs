//! The tables, as steps from each version to the next. A published step never changes; a new one is added.

/// "SJay": identifies the program in the file's header.
pub const APPLICATION_ID: i64 = 0x534a_6179;

/// The steps: the first makes version 1 of an empty file.
pub const STEPS: [&str; 4] = [VERSION_1, VERSION_2, VERSION_3, VERSION_4];

/// One table for the rows that are only read whole, each as serde writes it. Numbers of 64 bits have no sign there. What is malformed stays so: it is
/// found when it is read.
const VERSION_4: &str = r#"
CREATE TABLE state (
    kind TEXT NOT NULL, key TEXT NOT NULL, row TEXT NOT NULL, PRIMARY KEY (kind, key)
) STRICT, WITHOUT ROWID;

INSERT INTO state SELECT 'host', '', printf('{"latest":%u,"next_message":%u,"paused_until":%u,"paused_for":%u,'
    || '"reported_month":%d,"checked":%u,"errors":{"ratios":"%s"},"history_lost":%s}',
    latest, next_message, paused_until, paused_for, reported_month, checked, hex(ratios),
    iif(json_valid(history_lost),
        printf('{"at":%s,"kind":%s,"aside":%s,"is_rebuilt":%s}', history_lost -> 0, history_lost -> 1,
            history_lost -> 2, history_lost -> 3),
        ifnull(history_lost, 'null')))
    FROM host;

INSERT INTO state SELECT 'disk', disk, printf('{"facts":{"key":%s,"name":%s,"model":%s,"serial":%s,"bay":%s,'
    || '"controller":%s,"media":%s,"sectors":%u,"place":%s},"counters":{%s},"word":{"passed":%s,"nvme_warning":%d,'
    || '"spare_low":%s,"used":%d,"is_self_test_failed":%s,"self_test_lba":%s,"is_self_test_old":%s,"sense":%s,'
    || '"hot":%s},"smart_read":%u,"unknown_since":%u,"service_first":%s,"service_last":%u}',
    json_quote(disk), json_quote(name), json_quote(model), json_quote(serial), json_quote(bay),
    json_quote(controller), json_quote(media), sectors, json_quote(place),
    (SELECT group_concat(printf('%s:{"value":%u,"growth":%u,"since":%u,"grew":%u,"is_doubted":%s,"peak":%u,'
        || '"zero_since":%u}', json_quote(kind), value, growth, since, grew, iif(is_doubted, 'true', 'false'), peak,
        zero_since)) FROM disk_counter WHERE disk_counter.disk = disk.disk),
    iif(passed IS NULL, 'null', iif(passed, 'true', 'false')), nvme_warning, ifnull(spare_low, 'null'), used,
    iif(is_self_test_failed, 'true', 'false'), iif(self_test_lba IS NULL, 'null', printf('%u', self_test_lba)),
    iif(is_self_test_old, 'true', 'false'),
    iif(sense IS NULL, 'null', printf('{"asc":%d,"ascq":%d}', sense >> 8, sense & 255)),
    ifnull(hot, 'null'), smart_read, unknown_since, service_first, service_last)
    FROM disk;

INSERT INTO state SELECT 'reading', sort || ' ' || subject, printf('{"passes":{"sectors":%u,"known_since":%u,'
    || '"begun":%u,"done":%u,"touched":%s,"read":%s,"finished":%d,"unreadable":%s,"unreadable_before":%s,'
    || '"retries":%u,"retries_before":%u,"flaws":{"corrected":%u,"mismatched":%u},'
    || '"flaws_before":{"corrected":%u,"mismatched":%u},"unjudged":%u,"reported":%u},'
    || '"failed_sessions":%d,"refused":%s,"forecast":%s}',
    pass_sectors, known_since, begun, done, touched, read, finished, unreadable, unreadable_before,
    retries, retries_before, corrected, mismatched, corrected_before, mismatched_before, unjudged, reported,
    failed_sessions,
    CASE (refused_since IS NULL) + (refused_last IS NULL) + (refused_why IS NULL) WHEN 3 THEN 'null'
        WHEN 0 THEN printf('{"since":%u,"last":%u,"why":%s}', refused_since, refused_last, json_quote(refused_why)) END,
    CASE (forecast_low IS NULL) + (forecast_likely IS NULL) + (forecast_high IS NULL) + (forecast_seconds IS NULL)
        WHEN 4 THEN 'null' WHEN 0 THEN printf('[{"low":%u,"likely":%u,"high":%u},%u]',
            forecast_low, forecast_likely, forecast_high, forecast_seconds) END)
    FROM reading;

INSERT INTO state SELECT 'array', array, printf('{"key":%s,"name":%s,"level":%s,"redundancy":%d,"members":%s,'
    || '"activity":%s,"layout":%s,"check_sectors":%s,"pool":%s,"lost_stripes":%s}',
    json_quote(array), json_quote(name), json_quote(level), redundancy, members, json_quote(activity),
    iif(layout IS NULL, 'null', printf('[{"kind":%s,"data":%d,"parity":%d,"disks":%d},%u]',
        json_quote(layout), layout_data, layout_parity, layout_disks, chunk_sectors)),
    iif(check_sectors IS NULL, 'null', printf('%u', check_sectors)),
    iif(json_valid(pool),
        printf('{"groups":[%s],"lack":%s,"failed":%s,"losses":%s,"errors":%s,"scrubbed":%s,"scan":%s,"since":%s}',
            (SELECT group_concat(printf('{"redundancy":%s,"places":%s}', pool -> (fullkey || '[0]'),
                pool -> (fullkey || '[1]'))) FROM json_each(pool, '$.groups')),
            lower(pool -> 'lack'), pool -> 'failed',
            CASE
                WHEN pool -> '$.losses.Lost' IS NOT NULL THEN printf('{"lost":{"blocks":%s,"files":%s}}',
                    pool -> '$.losses.Lost[0]', pool -> '$.losses.Lost[1]')
                WHEN pool -> '$.losses.Unknown' IS NOT NULL THEN printf('{"unknown":%s}', pool -> '$.losses.Unknown')
                ELSE lower(pool -> 'losses')
            END,
            pool -> 'errors',
            CASE pool -> 'scrubbed'
                WHEN 'null' THEN '"unknown"' WHEN '0' THEN '"never"' ELSE printf('{"ended":%s}', pool -> 'scrubbed')
            END,
            '"idle"', pool -> 'since'),
        ifnull(pool, 'null')),
    iif(lost_stripes IS NULL, 'null', printf('%u', lost_stripes))
    ) FROM array;

INSERT INTO state SELECT 'past', sort || ' ' || kind || ' ' || subject,
    printf('{"key":{"subject":%s,"kind":%s},"ended":%u,"returns":%d,"written":%s,"thread":%s}',
    iif(sort = 'watch', '"watch"', printf('{%s:%s}', json_quote(sort), json_quote(subject))), json_quote(kind),
    ended, returns, written,
    iif(thread IS NULL, 'null', printf('{"number":%u,"run":%u}', thread, ifnull(thread_run, 0))))
    FROM incident_past;

INSERT INTO state SELECT 'channel', channel, printf('{"name":%s,"fingerprint":%u,"known_since":%u,"code":%s,'
    || '"proven":%s,"failing_since":%s,"delivered":%s,"is_caught_up":%s,"refused":%s}',
    json_quote(channel), fingerprint, known_since, json_quote(code),
    iif(proven IS NULL, 'null', printf('%u', proven)),
    iif(failing_since IS NULL, 'null', printf('%u', failing_since)),
    iif(delivered IS NULL, 'null', printf('%u', delivered)), iif(is_caught_up, 'true', 'false'), refused)
    FROM channel;

-- Of an incident the facts were not kept: its headline stands for them until it is judged anew.
INSERT INTO state SELECT 'incident', sort || ' ' || kind || ' ' || subject,
    printf('{"key":{"subject":%s,"kind":%s},"opened":%u,"condition":{"urgency":%s,"amounts":%s,'
    || '"problem":{"recorded":[%s,%s]},"controller":%s},"last_message":%s,"known":%s,"known_urgency":%s,"less_since":%s,'
    || '"reminders":%d,"is_accepted":%s,"thread":%s,"written":%s,"returns":%d,"away_since":%s,"held_until":%u}',
    iif(sort = 'watch', '"watch"', printf('{%s:%s}', json_quote(sort), json_quote(subject))), json_quote(kind),
    opened, json_quote(urgency), amounts, json_quote(kind), json_quote(headline), json_quote(controller),
    iif(told IS NULL, 'null', printf('%u', told)), known, json_quote(known_urgency),
    iif(less_since IS NULL, 'null', printf('%u', less_since)), reminders, iif(is_accepted, 'true', 'false'),
    iif(thread IS NULL, 'null', printf('{"number":%u,"run":%u}', thread, ifnull(thread_run, 0))), written, returns,
    iif(away_since IS NULL, 'null', printf('%u', away_since)), held_until)
    FROM incident;

INSERT INTO state SELECT 'message', printf('%u', number),
    printf('{"number":%u,"channel":%s,"id":%s,"reply_to":%s,"reason":%s,"about":[%s],"urgency":%s,"written":%u,'
    || '"attempts":%d,"next_attempt":%u,"is_under_way":%s,"may_be_repeated":%s}',
    number, json_quote(channel), json_quote(id), json_quote(reply_to),
    iif(reminder IS NULL, json_quote(reason), printf('{%s:%d}', json_quote(reason), reminder)),
    iif(json_valid(about), ifnull((SELECT group_concat(printf('{"subject":%s,"kind":%s}',
        iif(value ->> 0 = 'watch', '"watch"', printf('{%s:%s}', value -> 0, value -> 1)), value -> 2))
        FROM json_each(about)), ''), about),
    json_quote(urgency), written, attempts, next_attempt, iif(is_under_way, 'true', 'false'),
    iif(may_be_repeated, 'true', 'false'))
    FROM message;

-- What it says stands there, also of one that waits.
INSERT OR IGNORE INTO message_history (number, channel, reason, urgency, subject, body, written, attempts)
    SELECT number, channel, reason, urgency, subject, body, written, attempts FROM message;

DROP TABLE incident;
DROP TABLE message;
DROP TABLE disk_counter;
DROP TABLE disk;
DROP TABLE host;
DROP TABLE reading;
DROP TABLE array;
DROP TABLE incident_past;
DROP TABLE channel;
"#;

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
