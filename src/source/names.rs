//! What the name of a file may be used for: to pass over files that cannot hold objects.

/// Whether a file is passed over when it stands in a folder or a container: hidden ones, and logs, which may quote
/// objects that are none of this cluster's. A file that is named itself is always read.
pub(crate) fn is_passed_over(path: &str) -> bool {
    let mut parts = path.split('/').filter(|part| !matches!(*part, "" | "." | ".."));
    let hidden = parts.clone().any(|part| part.starts_with('.') || part == "__MACOSX");
    hidden || parts.next_back().is_some_and(is_log)
}

/// `x.log`, `x.log.1`, `x.log.gz`, and the `logs.txt` of `kubectl cluster-info dump`.
fn is_log(name: &str) -> bool {
    let stem = [".gz", ".xz", ".zst"].iter().find_map(|it| name.strip_suffix(it)).unwrap_or(name);
    let stem = stem.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches('.');
    name == "logs.txt" || stem.rsplit_once('.').is_some_and(|(_, extension)| extension == "log")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_and_hidden_files_are_passed_over() {
        for name in [".git/config", "a/._pods.json", "ns/pod/logs.txt", "x/current.log", "a.log.1", "b.log.gz"] {
            assert!(is_passed_over(name), "{name}");
        }
        for name in ["pods.json", "./pods.json", "../a/pods.json", "logs/pods.json", "catalog.json", "a.log.json"] {
            assert!(!is_passed_over(name), "{name}");
        }
    }
}
