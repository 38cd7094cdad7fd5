//! The container image, as an OCI archive: written file by file, so that no container program is needed to make it.
//!
//! ```text
//! layer 1: from Debian, unchanged: smartctl with the libraries that it names, its table of drives, certificates, licences
//! layer 2: the static scrubjay, and its settings
//! archive: oci-layout, index.json -> manifest -> config and layers, in blobs/sha256/
//! ```

use super::archive::pack;
use super::build::Built;
use super::run::{VERSION, moment, output, succeed};
use crate::place;
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The release of Debian that smartctl is taken from.
const SUITE: &str = "trixie";
/// Where it is fetched.
const MIRROR: &str = "http://deb.debian.org/debian";
/// The packages whose files are looked through.
const PACKAGES: &str = "smartmontools,ca-certificates";
/// smartctl itself.
const SMARTCTL: &str = "usr/sbin/smartctl";
/// Its table of drives: where the package has it, and where smartctl looks for it (the package's installation copies it).
const DRIVES: [&str; 2] = ["usr/share/smartmontools/drivedb.h", "var/lib/smartmontools/drivedb/drivedb.h"];

/// The image of a target's architecture, in `out`.
///
/// # Errors
/// A step fails, or there is no mmdebstrap.
pub fn make(built: &Built, out: &Path) -> Result<()> {
    let folder = built.folder.join("image");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    let blobs = folder.join("archive/blobs/sha256");
    fs::create_dir_all(&blobs)?;
    let debian = folder.join("debian");
    take_from_debian(&unpacked(built)?, &debian)?;
    let own = folder.join("own");
    take_own(built, &own)?;

    let created =
        output(Command::new("date").args(["-u", "+%Y-%m-%dT%H:%M:%SZ", "-d"]).arg(format!("@{}", moment()?)))?;
    let (mut layers, mut ids, mut history) = (Vec::new(), Vec::new(), Vec::new());
    for (layer, words) in [(debian, "smartctl and certificates of Debian"), (own, "scrubjay")] {
        let packed = folder.join("layer.tar.gz");
        pack(&layer, &packed)?;
        let plain = Command::new("gzip").args(["-dc"]).arg(&packed).output()?.stdout;
        ids.push(format!("sha256:{}", sum(&plain, &folder)?));
        layers.push(blob(&blobs, &fs::read(&packed)?, "application/vnd.oci.image.layer.v1.tar+gzip")?);
        history.push(json!({"created": created, "created_by": words}));
    }
    let config = json!({
        "architecture": built.target.architecture, "os": "linux", "created": created,
        "config": {
            "Entrypoint": ["/usr/bin/scrubjay"], "Cmd": ["watch"],
            "Env": ["PATH=/usr/bin:/usr/sbin"], "WorkingDir": "/",
            "Volumes": {"/var/lib/scrubjay": {}},
            "Labels": {
                "org.opencontainers.image.title": "scrubjay", "org.opencontainers.image.version": VERSION,
                "org.opencontainers.image.licenses": "(MIT OR Apache-2.0) AND GPL-2.0-or-later",
                "org.opencontainers.image.description": "Keeps the bytes on your disks intact",
            },
        },
        "rootfs": {"type": "layers", "diff_ids": ids}, "history": history,
    });
    let config = blob(&blobs, &serde_json::to_vec(&config)?, "application/vnd.oci.image.config.v1+json")?;
    let manifest = json!({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "config": config, "layers": layers,
    });
    let mut manifest = blob(&blobs, &serde_json::to_vec(&manifest)?, "application/vnd.oci.image.manifest.v1+json")?;
    manifest["platform"] = json!({"architecture": built.target.architecture, "os": "linux"});
    manifest["annotations"] = json!({"org.opencontainers.image.ref.name": format!("scrubjay:{VERSION}"), "io.containerd.image.name": format!("localhost/scrubjay:{VERSION}")});
    let index =
        json!({"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": [manifest]});
    fs::write(folder.join("archive/index.json"), serde_json::to_vec(&index)?)?;
    fs::write(folder.join("archive/oci-layout"), br#"{"imageLayoutVersion":"1.0.0"}"#)?;

    let image = out.join(format!("scrubjay-{VERSION}-oci-{}.tar", built.target.architecture));
    let mut tar = Command::new("tar");
    tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--format=gnu"])
        .arg(format!("--mtime=@{}", moment()?));
    succeed(tar.arg("-cf").arg(&image).arg("-C").arg(folder.join("archive")).args([
        "blobs",
        "index.json",
        "oci-layout",
    ]))?;
    println!("{}", image.display());
    Ok(())
}

/// A folder with the files of Debian's packages for this architecture; nothing in it was run.
fn unpacked(built: &Built) -> Result<PathBuf> {
    let folder = place::target_folder().join("tools").join(format!("debian-{}", built.target.architecture));
    if folder.is_dir() {
        return Ok(folder);
    }
    let mut command = Command::new("mmdebstrap");
    command.args(["--quiet", "--variant=extract", "--mode=auto", "--aptopt=APT::Install-Recommends false"]);
    command.arg(format!("--architectures={}", built.target.architecture)).arg(format!("--include={PACKAGES}"));
    let new = folder.with_extension("new");
    succeed(command.arg(SUITE).arg(&new).arg(MIRROR)).context("on Debian: apt-get install mmdebstrap")?;
    fs::rename(&new, &folder)?;
    Ok(folder)
}

/// Copies smartctl, the libraries that it and they name, the certificates as one file, and the licences of all of it.
fn take_from_debian(debian: &Path, layer: &Path) -> Result<()> {
    copy(&debian.join(DRIVES[0]), &layer.join(DRIVES[1]), "644")?;
    let mut wanted = vec![SMARTCTL.to_owned()];
    let mut taken = BTreeSet::new();
    while let Some(path) = wanted.pop() {
        if !taken.insert(path.clone()) {
            continue;
        }
        let source = debian.join(&path);
        copy(&source, &layer.join(&path), "755")?;
        for library in needed(&source)? {
            let found = find_library(debian, &library).with_context(|| format!("{path} needs {library}"))?;
            wanted.push(found);
        }
    }
    // Programs name their loader by a path of its own, which is a link in Debian's package; and /lib is one in its base system.
    for folder in ["lib", "lib64"] {
        let own = layer.join("usr").join(folder);
        fs::create_dir_all(&own)?;
        symlink(Path::new("usr").join(folder), layer.join(folder))?;
        let names = fs::read_dir(debian.join("usr").join(folder)).into_iter().flatten().flatten();
        for entry in names.filter(|entry| entry.file_name().to_string_lossy().starts_with("ld-linux")) {
            symlink(fs::read_link(entry.path())?, own.join(entry.file_name()))?;
        }
    }
    let mut certificates = Vec::new();
    let folder = debian.join("usr/share/ca-certificates/mozilla");
    let mut names = fs::read_dir(&folder)?.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    names.sort();
    for name in names {
        certificates.extend(fs::read(name)?);
    }
    write(&layer.join("etc/ssl/certs/ca-certificates.crt"), &certificates)?;
    for package in [
        "smartmontools",
        "ca-certificates",
        "libc6",
        "libstdc++6",
        "libgcc-s1",
        "libcap-ng0",
        "libselinux1",
        "libsystemd0",
    ] {
        // A package that is built with another has that one's.
        let path = format!("usr/share/doc/{package}/copyright");
        if let Ok(text) = fs::read(debian.join(&path)) {
            write(&layer.join(&path), &text)?;
        }
    }
    Ok(())
}

/// The program, its settings, and the folders that it expects.
fn take_own(built: &Built, layer: &Path) -> Result<()> {
    copy(&built.program("scrubjay"), &layer.join("usr/bin/scrubjay"), "755")?;
    copy(&place::root().join("crates/daemon/src/config.toml"), &layer.join("etc/scrubjay/config.toml"), "644")?;
    for name in ["LICENSE-MIT", "LICENSE-APACHE", "NOTICES"] {
        copy(&place::root().join(name), &layer.join("usr/share/doc/scrubjay").join(name), "644")?;
    }
    write(&layer.join("etc/passwd"), b"root:x:0:0:root:/:/usr/bin/scrubjay\n")?;
    for folder in ["var/lib/scrubjay", "run/scrubjay", "tmp"] {
        fs::create_dir_all(layer.join(folder))?;
    }
    Ok(())
}

fn copy(source: &Path, target: &Path, mode: &str) -> Result<()> {
    let bytes = fs::read(source).with_context(|| source.display().to_string())?;
    write(target, &bytes)?;
    succeed(Command::new("chmod").arg(mode).arg(target))
}

fn write(target: &Path, bytes: &[u8]) -> Result<()> {
    fs::create_dir_all(target.parent().context("a file lies in a folder")?)?;
    fs::write(target, bytes).with_context(|| target.display().to_string())
}

/// The libraries that an ELF file names, its loader among them; none if it is no ELF file.
fn needed(path: &Path) -> Result<Vec<String>> {
    if !fs::read(path)?.starts_with(b"\x7fELF") {
        return Ok(Vec::new());
    }
    let text = output(Command::new("readelf").args(["--dynamic", "--program-headers", "--wide"]).arg(path))?;
    let of_line = |line: &str| {
        let loader = line.split_once("Requesting program interpreter: ").and_then(|(_, rest)| rest.split_once(']'));
        let library = line.split_once("(NEEDED)").and_then(|(_, rest)| rest.split_once('[')?.1.split_once(']'));
        let name = loader.or(library)?.0;
        Some(name.rsplit('/').next().unwrap_or(name).to_owned())
    };
    Ok(text.lines().filter_map(of_line).collect())
}

/// The path of a library below a root.
fn find_library(root: &Path, name: &str) -> Option<String> {
    let folders = ["x86_64-linux-gnu", "aarch64-linux-gnu"].map(|folder| format!("usr/lib/{folder}"));
    folders
        .into_iter()
        .chain(["usr/lib".to_owned()])
        .map(|folder| format!("{folder}/{name}"))
        .find(|path| root.join(path).exists())
}

/// Writes a blob under its sum; returns its descriptor.
fn blob(blobs: &Path, bytes: &[u8], media_type: &str) -> Result<Value> {
    let sum = sum(bytes, blobs)?;
    fs::write(blobs.join(&sum), bytes)?;
    Ok(json!({"mediaType": media_type, "digest": format!("sha256:{sum}"), "size": bytes.len()}))
}

/// The SHA-256 sum of these bytes, in hexadecimal digits. `folder` has space for them.
fn sum(bytes: &[u8], folder: &Path) -> Result<String> {
    let file = folder.join("summed");
    fs::write(&file, bytes)?;
    let text = output(Command::new("sha256sum").arg(&file))?;
    fs::remove_file(&file)?;
    let sum = text.split_whitespace().next().unwrap_or_default();
    ensure!(sum.len() == 64, "sha256sum says {text}");
    Ok(sum.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blobs_lie_under_their_sums() {
        let folder = std::env::temp_dir().join(format!("scrubjay-blobs-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let descriptor = blob(&folder, b"abc", "text/plain").unwrap();
        let known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"; // FIPS 180-4, example 1
        assert_eq!(
            (descriptor["digest"].as_str(), descriptor["size"].as_u64()),
            (Some(format!("sha256:{known}").as_str()), Some(3))
        );
        assert_eq!(fs::read(folder.join(known)).unwrap(), b"abc");
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn the_libraries_of_a_program_are_those_that_it_names() {
        let folder = std::env::temp_dir().join(format!("scrubjay-text-{}", std::process::id()));
        fs::write(&folder, "no program").unwrap();
        assert!(needed(&folder).unwrap().is_empty());
        fs::remove_file(folder).unwrap();
    }
}
