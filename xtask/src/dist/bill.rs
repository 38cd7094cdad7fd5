//! The bill of materials: the Rust packages in the program, with licence and checksum, in the JSON of CycloneDX 1.5.

use super::run::VERSION;
use super::target::DistTarget;
use crate::licences::package::{Package, packages};
use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// The file that states the checksums of packages.
const LOCK: &str = "Cargo.lock";

/// The bill of a target's program, in `out`.
///
/// # Errors
/// cargo fails, or a file cannot be read or written.
pub fn make(target: &DistTarget, out: &Path) -> Result<()> {
    let shipped = packages(
        target.triple,
        &["--package", "scrubjay", "--package", "scrubjay-lab", "--edges", "normal,no-proc-macro"],
    )?;
    let lock = fs::read_to_string(LOCK).context(LOCK)?;
    let path = out.join(format!("scrubjay-{VERSION}-{}.cdx.json", target.triple));
    fs::write(&path, serde_json::to_string_pretty(&bill(target, &shipped, &lock))? + "\n")?;
    println!("{}", path.display());
    Ok(())
}

fn bill(target: &DistTarget, shipped: &[Package], lock: &str) -> Value {
    let components = shipped.iter().map(|Package { name, version, licence }| {
        // Older packages write `MIT/Apache-2.0`.
        let licence = licence.replace('/', " OR ");
        let purl = format!("pkg:cargo/{name}@{version}");
        let hashes: Vec<Value> =
            checksum(lock, name, version).map(|sum| json!({"alg": "SHA-256", "content": sum})).into_iter().collect();
        json!({
            "type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl,
            "licenses": [{"expression": licence}], "hashes": hashes,
        })
    });
    json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": {
            "type": "application", "bom-ref": "scrubjay", "name": "scrubjay", "version": VERSION,
            "licenses": [{"expression": "MIT OR Apache-2.0"}],
            "properties": [{"name": "target", "value": target.triple}],
        }},
        "components": components.collect::<Vec<_>>(),
    })
}

/// The checksum of a package in a lock file.
fn checksum<'l>(lock: &'l str, name: &str, version: &str) -> Option<&'l str> {
    let begin = format!("name = \"{name}\"\nversion = \"{version}\"\n");
    let rest = &lock[lock.find(&begin)? + begin.len()..];
    let mut entry = rest.lines().take_while(|line| !line.is_empty());
    entry.find_map(|line| line.strip_prefix("checksum = \"")?.strip_suffix('"'))
}

#[cfg(test)]
mod tests {
    use super::super::target::ALL;
    use super::*;

    #[test]
    fn a_package_is_listed_with_licence_and_checksum() {
        let lock = "[[package]]\nname = \"one\"\nversion = \"1.0.0\"\nsource = \"x\"\nchecksum = \"abc\"\n\n[[package]]\nname = \"two\"\nversion = \"2.0.0\"\n\n[[package]]\nname = \"z\"\nversion = \"1\"\nchecksum = \"def\"\n";
        assert_eq!((checksum(lock, "one", "1.0.0"), checksum(lock, "two", "2.0.0")), (Some("abc"), None));
        let one = Package { name: "one".into(), version: "1.0.0".into(), licence: "MIT/Apache-2.0".into() };
        let bill = bill(&ALL[0], &[one], lock);
        assert_eq!(bill["components"][0]["licenses"][0]["expression"], "MIT OR Apache-2.0");
        assert_eq!(bill["components"][0]["hashes"][0]["content"], "abc");
    }
}
