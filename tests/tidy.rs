//! The structure of the source, enforced: who may import whom, what the engine may not know, what every code documents.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;
use std::path::{Path, PathBuf};

/// Modules in the order of the flow, each with the modules of this crate it may name.
const MAY_IMPORT: &[(&str, &[&str])] = &[
    ("model", &["model"]),
    ("problem", &["problem"]),
    ("source", &["source", "problem", "model::id"]),
    ("kube", &["kube", "model"]),
    ("load", &["load", "source", "model", "kube", "problem"]),
    ("index", &["index", "load", "source", "model", "kube", "problem"]),
    ("engine", &["engine", "model", "kube::behavior", "kube::profile", "kube::plugin"]),
    ("wording", &["wording", "engine", "model", "kube"]),
    ("explain", &["explain", "engine", "model", "kube::behavior", "kube::profile", "kube::plugin"]),
    ("capture", &["capture", "source", "problem", "model::cluster"]),
    ("report", &["report", "explain", "wording", "engine", "model", "kube", "problem", "load", "source"]),
    (
        "cli",
        &[
            "cli", "report", "explain", "wording", "engine", "model", "kube", "problem", "load", "source", "capture",
            "index",
        ],
    ),
];

/// Words that must not stand in a module's code: crates and parts of std it has no business with.
const NEVER: &[(&str, &[&str])] = &[
    (
        "model",
        &["serde", "k8s_openapi", "miette", "comfy_table", "clap", "std::fs", "std::env", "SystemTime", "Instant"],
    ),
    ("kube", &["k8s_openapi", "miette", "comfy_table", "clap", "std::fs", "std::env", "SystemTime", "Instant"]),
    (
        "engine",
        &[
            "serde",
            "k8s_openapi",
            "miette",
            "comfy_table",
            "clap",
            "std::fs",
            "std::env",
            "SystemTime",
            "Instant",
            "format!",
            "to_string(",
            "Release",
            "Gate::",
            "gates::",
        ],
    ),
    ("wording", &["k8s_openapi", "miette", "comfy_table", "clap", "std::fs", "std::env", "Release"]),
    ("report", &["k8s_openapi", "clap", "std::fs", "std::env"]),
    ("source", &["k8s_openapi", "comfy_table", "clap"]),
    ("load", &["comfy_table", "clap", "std::fs", "std::env", "Instant"]),
    ("index", &["k8s_openapi", "comfy_table", "clap", "std::fs", "Instant"]),
];

/// Every source file but the scenarios, which are tests in files of their own.
fn source_files() -> Vec<PathBuf> {
    fn walk(folder: &Path, into: &mut Vec<PathBuf>) {
        let mut entries: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        entries.sort();
        for path in entries {
            if path.is_dir() {
                walk(&path, into);
            } else if path.extension().is_some_and(|it| it == "rs") && !path.ends_with("scenarios.rs") {
                into.push(path);
            }
        }
    }
    let mut files = Vec::new();
    walk(Path::new("src"), &mut files);
    files
}

/// The module of a file: the first component below `src`, without `.rs`.
fn module_of(path: &Path) -> String {
    let first = path.strip_prefix("src").unwrap().components().next().unwrap();
    first.as_os_str().to_str().unwrap().trim_end_matches(".rs").to_owned()
}

/// The code of a file without comments and without its unit tests, line by line.
fn code_lines(path: &Path) -> Vec<(usize, String)> {
    let text = fs::read_to_string(path).unwrap();
    let code = text.split("#[cfg(test)]").next().unwrap();
    let stripped = code.lines().enumerate().map(|(at, line)| (at + 1, line.split("//").next().unwrap().to_owned()));
    stripped.filter(|(_, line)| !line.trim().is_empty()).collect()
}

#[test]
fn data_flows_in_one_direction() {
    let mut wrong = Vec::new();
    for path in source_files() {
        let module = module_of(&path);
        let Some((_, allowed)) = MAY_IMPORT.iter().find(|(name, _)| *name == module) else { continue };
        for (line, code) in code_lines(&path) {
            for place in code.match_indices("crate::").map(|(at, word)| &code[at + word.len()..]) {
                let fits = |target: &&str| {
                    place
                        .strip_prefix(*target)
                        .is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
                };
                if !allowed.iter().any(fits) && !place.starts_with('{') {
                    wrong.push(format!("{}:{line}: {}", path.display(), code.trim()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "these lines import against the flow:\n{}", wrong.join("\n"));
}

#[test]
fn modules_keep_out_of_what_is_not_theirs() {
    let mut wrong = Vec::new();
    for path in source_files() {
        let module = module_of(&path);
        let Some((_, words)) = NEVER.iter().find(|(name, _)| *name == module) else { continue };
        for (line, code) in code_lines(&path) {
            for word in words.iter().filter(|word| code.contains(**word)) {
                wrong.push(format!("{}:{line}: {word}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "these words do not belong there:\n{}", wrong.join("\n"));
}

#[test]
fn filters_do_not_import_each_other() {
    for path in source_files().iter().filter(|path| path.starts_with("src/engine/filters") && !path.ends_with("mod.rs"))
    {
        for (line, code) in code_lines(path) {
            assert!(!code.contains("filters::") && !code.contains("use super::super"), "{}:{line}", path.display());
        }
    }
}

#[test]
fn only_kube_compares_releases() {
    for path in source_files().iter().filter(|path| path.starts_with("src/engine") || path.starts_with("src/wording")) {
        for (line, code) in code_lines(path) {
            assert!(!code.contains(".minor") && !code.contains(".since("), "{}:{line}: {code}", path.display());
        }
    }
}

#[test]
fn unsafe_code_stands_in_one_file() {
    let with_unsafe = |path: &&PathBuf| code_lines(path).iter().any(|(_, code)| code.contains("unsafe "));
    let files = source_files();
    let found: Vec<&PathBuf> = files.iter().filter(with_unsafe).collect();
    assert!(found.len() <= 1, "{found:?}");
}

#[test]
fn problem_codes_are_unique_and_documented() {
    let codes: Vec<&str> = preempt_audit::problem::ProblemCode::ALL.iter().map(|code| code.text()).collect();
    let mut sorted = codes.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(sorted.len(), codes.len(), "a code stands twice");
    let readme = fs::read_to_string("README.md").unwrap();
    for code in codes {
        assert!(readme.contains(code), "README does not list {code}");
    }
}

#[test]
fn the_project_speaks_of_itself_alone() {
    let words = ["/work/", "../shared", "/root/"];
    for path in source_files() {
        let text = fs::read_to_string(&path).unwrap();
        for word in words {
            assert!(!text.contains(word), "{}: {word}", path.display());
        }
    }
}
