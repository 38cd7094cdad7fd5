//! Asks `zpool status` and `zpool list`, which change nothing.

use super::pool::Zpool;
use super::{status_json, status_text};
use scrubjay_device::tool::{self, ToolError};
use scrubjay_watch::pool::PoolLosses;
use std::time::Duration;

/// How long `zpool` may take where nobody waits: a pool whose disks hang may never let it end.
pub const TIME_OUT: Duration = Duration::from_secs(20);

/// The imported pools, or why they could not be asked, in words.
pub type PoolAnswer = Result<Vec<Zpool>, String>;

/// Asks for all imported pools, and waits this long for each answer.
pub fn pools(time_out: Duration) -> PoolAnswer {
    pools_by(|arguments| tool::run_within("zpool", arguments, time_out))
}

/// The same, by this way to run `zpool` with arguments.
pub(super) fn pools_by(zpool: impl Fn(&[&str]) -> Result<Vec<u8>, ToolError>) -> PoolAnswer {
    let mut pools = states_by(&zpool)?;
    // Without sizes everything else is known all the same.
    let listed =
        if pools.is_empty() { Vec::new() } else { zpool(&["list", "-Hp", "-o", "name,size"]).unwrap_or_default() };
    for (name, bytes) in String::from_utf8_lossy(&listed).lines().filter_map(|line| line.split_once('\t')) {
        let pool = pools.iter_mut().find(|pool| pool.name == name);
        pool.into_iter().for_each(|pool| pool.bytes = bytes.trim().parse().ok());
    }
    Ok(pools)
}

fn states_by(zpool: impl Fn(&[&str]) -> Result<Vec<u8>, ToolError>) -> PoolAnswer {
    let text_of = |arguments: &[&str]| match zpool(arguments) {
        Ok(output) => Ok(String::from_utf8_lossy(&output).into_owned()),
        Err(error) => Err(words(&error)),
    };
    let by_text = || status_text::pools(&text_of(&["status", "-Pvp"])?).map_err(|why| format!("zpool status: {why}"));
    // 2.1 and 2.2 have no JSON, and refuse the option.
    let Ok(mut pools) = text_of(&["status", "-Pvj", "--json-int"]).and_then(|text| status_json::pools(&text)) else {
        return by_text();
    };
    let is_unnamed = |losses: &PoolLosses| matches!(losses, PoolLosses::Lost { files, .. } if files.is_empty());
    if pools.iter().any(|pool| is_unnamed(&pool.losses)) {
        let named = by_text().unwrap_or_default();
        for pool in pools.iter_mut() {
            let other = named.iter().find(|other| other.name == pool.name).map(|other| other.losses.clone());
            if let (PoolLosses::Lost { files, .. }, Some(PoolLosses::Lost { files: names, .. })) =
                (&mut pool.losses, other)
            {
                *files = names;
            }
        }
    }
    Ok(pools)
}

/// Why `zpool` did not answer, and what helps.
fn words(error: &ToolError) -> String {
    match error {
        ToolError::Absent(_) => "zpool is not installed".to_owned(),
        ToolError::TimedOut(..) => format!("{error}: a pool may be suspended"),
        ToolError::Failed(_, said) if said.contains("modprobe") || said.contains("not loaded") => {
            "zpool cannot reach the kernel's ZFS: the module is not loaded, or /dev/zfs is not allowed here".to_owned()
        }
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JSON: &str = r#"{"pools":{"tank":{"state":"ONLINE","pool_guid":42,"error_count":2,"vdevs":{}}}}"#;
    const TEXT: &str = "  pool: tank\n state: ONLINE\nconfig:\n\n\tNAME        STATE     READ WRITE CKSUM\n\ttank        ONLINE       0     0     0\n\nerrors: Permanent errors have been detected in the following files:\n\n        /tank/a\n        tank/b@c:/d e\n";

    fn ask(json: Result<&'static str, ToolError>, text: Result<&'static str, fn() -> ToolError>) -> PoolAnswer {
        let json = json.map(|text| text.as_bytes().to_vec()).map_err(|error| error.to_string());
        pools_by(|arguments| match (arguments[0], arguments.contains(&"-Pvj")) {
            ("list", _) => Ok(b"tank\t7516192768\nother\t-\n".to_vec()),
            (_, true) => json.clone().map_err(|words| ToolError::Failed("zpool", words)),
            (_, false) => text.map(|text| text.as_bytes().to_vec()).map_err(|error| error()),
        })
    }

    #[test]
    fn json_is_asked_first_and_text_for_the_names_of_files_and_where_there_is_no_json() {
        let files = |answer: PoolAnswer| answer.unwrap()[0].losses.clone();
        let names = vec!["/tank/a".to_owned(), "tank/b@c:/d e".to_owned()];
        assert_eq!(files(ask(Ok(JSON), Ok(TEXT))), PoolLosses::Lost { blocks: 2, files: names.clone() });
        let refused = || ToolError::Failed("zpool", "invalid option 'j'".to_owned());
        assert_eq!(files(ask(Err(refused()), Ok(TEXT))), PoolLosses::Lost { blocks: 2, files: names });
        // Losses stay losses, also without names.
        assert_eq!(files(ask(Ok(JSON), Err(refused))), PoolLosses::Lost { blocks: 2, files: Vec::new() });
        assert_eq!(ask(Ok(JSON), Ok(TEXT)).unwrap()[0].bytes, Some(7_516_192_768));
        let absent = ask(Err(ToolError::Absent("zpool")), Err(|| ToolError::Absent("zpool")));
        assert_eq!(absent, Err("zpool is not installed".to_owned()));
        let silent = ask(Err(ToolError::TimedOut("zpool", 20)), Err(|| ToolError::TimedOut("zpool", 20)));
        assert_eq!(silent.unwrap_err(), "zpool did not end within 20 s: a pool may be suspended");
    }
}
