//! Names and dependencies in a `Cargo.toml`: the little of TOML that the project's manifests use.

/// The parts of a manifest that the rules check.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Manifest {
    /// `package.name`.
    pub name: String,
    /// Its dependencies, in the order of the file.
    pub dependencies: Vec<Dependency>,
}

/// One row of a dependency table.
#[derive(Debug, PartialEq, Eq)]
pub struct Dependency {
    /// The package's name, also where the table renames it.
    pub package: String,
    /// Whether only tests, examples and benches get it.
    pub is_dev: bool,
    /// Whether only a feature brings it.
    pub is_optional: bool,
    /// Its line, from 1.
    pub line: usize,
}

impl Manifest {
    /// Parses a manifest; ignores what it does not know.
    pub fn parse(text: &str) -> Manifest {
        let mut manifest = Manifest::default();
        let mut table = String::new();
        for (index, line) in text.lines().enumerate() {
            let line = line.split_once(" #").map_or(line, |(code, _)| code).trim();
            if let Some(header) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                table = header.to_owned();
                // `[dependencies.NAME]`
                if let Some((kind, name)) = table.rsplit_once('.').filter(|(kind, _)| is_dependencies(kind)) {
                    manifest.push(kind, name, "", index + 1);
                }
            } else if let Some((key, value)) = line.split_once('=').filter(|_| !line.starts_with('#')) {
                if table == "package" && key.trim() == "name" {
                    manifest.name = value.trim().trim_matches('"').to_owned();
                } else if is_dependencies(&table) {
                    // `NAME = ...` and `NAME.workspace = true`
                    manifest.push(&table, key.trim().split('.').next().unwrap_or(key), value, index + 1);
                }
            }
        }
        manifest
    }

    fn push(&mut self, table: &str, name: &str, value: &str, line: usize) {
        let renamed = value.split_once("package").and_then(|(_, rest)| rest.split('"').nth(1));
        let package = renamed.unwrap_or(name.trim_matches('"')).to_owned();
        let (is_dev, is_optional) = (table.ends_with("dev-dependencies"), value.contains("optional = true"));
        self.dependencies.push(Dependency { package, is_dev, is_optional, line });
    }
}

/// Whether a table has dependencies: also `target.'cfg(...)'.dependencies`, `dev-dependencies` and `build-dependencies`,
/// but not the workspace's.
fn is_dependencies(table: &str) -> bool {
    let kind = table.rsplit_once('.').map_or(table, |(_, kind)| kind);
    table != "workspace.dependencies" && matches!(kind, "dependencies" | "dev-dependencies" | "build-dependencies")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_name_a_dependency_is_read() {
        let manifest = Manifest::parse(
            "[package]\nname = \"x\" # the name\n[dependencies]\na.workspace = true\n# b = \"1\"\nc = { package = \"d\", version = \"1\" }\n\
             [target.'cfg(unix)'.dependencies]\ne = \"1\"\n[dev-dependencies]\nf = \"1\"\n[dependencies.g]\nversion = \"1\"\n\
             [workspace.dependencies]\nh = \"1\"\n[features]\ni = []\n",
        );
        let found: Vec<_> = manifest.dependencies.iter().map(|d| (d.package.as_str(), d.is_dev, d.line)).collect();
        assert_eq!(manifest.name, "x");
        assert_eq!(found, [("a", false, 4), ("d", false, 6), ("e", false, 8), ("f", true, 10), ("g", false, 11)]);
    }
}
