//! Prints what the survey sees of this machine, or of the folder in the first argument; further arguments are devices to be watched
//! although they are no hardware. With `--wait`, waits until the kernel says that something changed, and prints what.

use scrubjay_daemon::discovery::{HostSurvey, SystemRoot, UeventSocket, changes, survey};
use std::path::{Path, PathBuf};
use std::time::Duration;

fn main() -> std::io::Result<()> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let is_waiting = arguments.first().is_some_and(|first| first == "--wait");
    arguments.drain(..usize::from(is_waiting));
    let root = arguments.first().map_or_else(SystemRoot::default, |folder| SystemRoot::below(Path::new(folder)));
    let also: Vec<PathBuf> = arguments.iter().skip(1).map(PathBuf::from).collect();
    let before = survey(&root, &also);
    print(&before);
    if is_waiting {
        let socket = UeventSocket::open()?;
        println!("\nheard something: {}", socket.wait(Duration::from_secs(60)));
        for event in changes(&before, &survey(&root, &also)) {
            println!("{event:?}");
        }
    }
    Ok(())
}

fn print(survey: &HostSurvey) {
    for disk in &survey.disks {
        let facts = &disk.facts;
        println!(
            "disk {} key=[{}] model=[{}] {:?} sectors={} bay={:?} controller={:?} serial={:?} by-path={:?} locate={:?}",
            disk.device.display(),
            facts.key,
            facts.model,
            facts.media,
            facts.sectors,
            facts.bay,
            facts.controller,
            disk.serial,
            disk.by_path,
            disk.locate,
        );
    }
    for array in &survey.arrays {
        let layout = array.layout.map(|(layout, chunk)| format!("{} chunk={chunk}", layout.kind()));
        println!(
            "array {} {} uuid={} redundancy={} of {} {:?} layout={}",
            array.name,
            array.level,
            array.key,
            array.redundancy_left(),
            array.redundancy,
            array.activity,
            layout.as_deref().unwrap_or("unknown"),
        );
        for (place, member) in array.members.iter().enumerate() {
            let disk = member.disk.as_deref().unwrap_or("nothing");
            println!("  place {place}: {disk} in sync={} data from sector {}", member.is_in_sync, member.data_start);
        }
    }
    println!("on battery: {}", survey.is_on_battery);
    for other in &survey.others {
        println!("other: {} [{}]: {}; {}", other.who, other.when, other.what, other.advice);
    }
    for warning in &survey.warnings {
        println!("warning: {warning}");
    }
}
