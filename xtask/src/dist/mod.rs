//! `cargo xtask dist`: everything that is given to users, for both architectures, from one machine; `cargo xtask deb`: the Debian package
//! of this machine alone.
//!
//! ```text
//! build (zig: old glibc, and musl) -> deb, rpm, wheel          of the programs linked to glibc
//!                                  -> archive, image           of the static ones
//! bill (what the programs are made of), sums (SHA-256, signature): of all that lies in target/dist
//! ```
//!
//! Files have the time of the commit, and paths of this machine are taken out.

mod archive;
mod assets;
mod bill;
mod build;
pub mod deb;
mod image;
mod rpm;
mod run;
mod sums;
mod target;
mod tools;
mod wheel;

use crate::place;
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::PathBuf;
use target::{ALL, DistTarget, LinkedTo};

/// What is made, in the order in which it is made.
const PRODUCTS: [&str; 5] = ["deb", "rpm", "wheel", "archive", "image"];

/// What was asked for.
struct DistOptions {
    targets: Vec<&'static DistTarget>,
    products: Vec<String>,
    key: Option<PathBuf>,
}

/// Makes what was asked for in `target/dist`, and lists it.
///
/// # Errors
/// When an argument is wrong, or a step fails.
pub fn run(arguments: &[String]) -> Result<bool> {
    let options = parse(arguments)?;
    let out = place::target_folder().join("dist");
    if out.exists() {
        fs::remove_dir_all(&out)?; // what lies there gets one list of sums
    }
    fs::create_dir_all(&out)?;
    tools::announce(&options.products);
    for target in options.targets {
        let makes = |product: &str| options.products.iter().any(|wanted| wanted == product);
        let linked = match target.linked_to {
            LinkedTo::Glibc => ["deb", "rpm"],
            LinkedTo::Nothing => ["archive", "image"],
        };
        if linked.into_iter().any(makes) {
            let built = build::build(target)?;
            for product in linked.into_iter().filter(|product| makes(product)) {
                match product {
                    "deb" => deb::make(&built, &out)?,
                    "rpm" => rpm::make(&built, &out)?,
                    "archive" => archive::make(&built, &out)?,
                    _ => image::make(&built, &out)?,
                }
            }
            bill::make(target, &out)?;
        }
        if target.linked_to == LinkedTo::Glibc && makes("wheel") {
            wheel::make(target, &out)?;
        }
    }
    sums::make(&out, options.key.as_deref())?;
    Ok(true)
}

fn parse(arguments: &[String]) -> Result<DistOptions> {
    let mut options = DistOptions { targets: Vec::new(), products: Vec::new(), key: None };
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        let value = arguments
            .next()
            .with_context(|| format!("{argument} what? (--target, --only or --sign, each with a value)"))?;
        match argument.as_str() {
            "--target" => {
                let known = || ALL.map(|target| target.triple).join(", ");
                let target = ALL.iter().find(|target| target.triple == value);
                options.targets.push(target.with_context(|| format!("{value} is none of {}", known()))?);
            }
            "--only" if PRODUCTS.contains(&value.as_str()) => options.products.push(value.clone()),
            "--only" => bail!("{value} is none of {}", PRODUCTS.join(", ")),
            "--sign" => options.key = Some(PathBuf::from(value)),
            other => bail!("what is {other}? There are --target, --only and --sign"),
        }
    }
    if options.targets.is_empty() {
        options.targets = ALL.iter().collect();
    }
    if options.products.is_empty() {
        options.products = PRODUCTS.map(str::to_owned).to_vec();
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<DistOptions> {
        parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn without_arguments_everything_is_made() {
        let options = parsed("").unwrap();
        assert_eq!((options.targets.len(), options.products.len()), (ALL.len(), PRODUCTS.len()));
    }

    #[test]
    fn what_is_not_known_is_refused_with_what_is() {
        let said = |line: &str| parsed(line).err().unwrap().to_string();
        assert!(said("--target riscv64").contains("aarch64-unknown-linux-gnu"));
        assert!(said("--only snap").contains("deb, rpm"));
        assert!(said("--only").contains("what?"));
        let options = parsed("--target aarch64-unknown-linux-musl --only image --sign key").unwrap();
        assert_eq!((options.targets.len(), options.products.len(), options.key), (1, 1, Some("key".into())));
    }
}
