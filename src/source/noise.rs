//! Lines that are no part of a dump but got into its file: warnings of kubectl, log lines, shell prompts.

/// How lines begin that kubectl, its libraries and shells print beside the answer.
const BEGINNINGS: &[&[u8]] = &[
    b"Warning: ",
    b"WARNING: ",
    b"error: ",
    b"Error: ",
    b"Error from server",
    b"Unable to connect to the server",
    b"The connection to the server",
    b"No resources found",
    b"command terminated with exit code",
    b"Defaulted container ",
    b"Cluster info dumped to ",
    b"==== START logs",
    b"==== END logs",
    b"$ ",
    b"% ",
    b"> ",
    b"PS ",
    b"+ kubectl ",
    b"kubectl ",
    b"oc get ",
    b"```",
];

/// Whether a line is none of a dump's. Says no where it may be one: such a line then shows as trouble.
pub(crate) fn is_noise(line: &[u8]) -> bool {
    let line = line.trim_ascii_end();
    BEGINNINGS.iter().any(|it| line.starts_with(it)) || is_klog(line) || is_prompt(line)
}

/// `W0102 03:04:05.123456    4711 warnings.go:70] …`
fn is_klog(line: &[u8]) -> bool {
    matches!(line, [b'I' | b'W' | b'E' | b'F', month_and_day @ ..] if matches!(
        month_and_day,
        [b'0'..=b'1', b'0'..=b'9', b'0'..=b'3', b'0'..=b'9', b' ', b'0'..=b'2', b'0'..=b'9', b':', ..]
    ))
}

/// `user@host:~$`, with or without a command behind it.
fn is_prompt(line: &[u8]) -> bool {
    let Some(end) = line.iter().position(|byte| matches!(byte, b'$' | b'#' | b'%')) else { return false };
    let line = line.strip_prefix(b"[").unwrap_or(line);
    let at = line.iter().position(|byte| *byte == b'@');
    at.is_some_and(|at| {
        at > 0
            && at < end
            && line[..at].iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
    })
}

/// Whether a line begins a JSON document: a bracket, and nothing behind it (here or on the next line) that JSON does
/// not allow there. A log line such as `[2024-01-02 …` does not.
pub(crate) fn begins_json(line: &[u8], next: &[u8]) -> bool {
    let line = line.trim_ascii_start();
    let Some((bracket @ (b'{' | b'['), rest)) = line.split_first() else { return false };
    let rest = Some(rest.trim_ascii_start()).filter(|it| !it.is_empty()).unwrap_or(next.trim_ascii_start());
    match (bracket, rest.first()) {
        (_, None) => true,
        (b'{', Some(first)) => matches!(first, b'"' | b'}'),
        (_, Some(first)) => matches!(first, b'{' | b'[' | b']' | b'"'),
    }
}

/// Whether a line may begin a YAML document.
pub(crate) fn begins_yaml(line: &[u8]) -> bool {
    let line = line.trim_ascii_end();
    if line == b"---" || line.starts_with(b"--- ") || line.starts_with(b"%YAML") {
        return true;
    }
    let item = line.strip_prefix(b"- ").unwrap_or(line).trim_ascii_start();
    let item = item.strip_prefix(b"{").unwrap_or(item);
    KEYS.iter().any(|key| {
        let rest = item.strip_prefix(*key).or_else(|| {
            let quoted = item.strip_prefix(b"\"").or_else(|| item.strip_prefix(b"'"))?;
            quoted.strip_prefix(*key)?.split_first().map(|(_, rest)| rest)
        });
        rest.is_some_and(|rest| matches!(rest, [b':'] | [b':', b' ' | b'\t', ..]))
    })
}

/// The keys an object or a list of Kubernetes' may begin with in YAML, and those of configuration and version files.
const KEYS: &[&[u8]] = &[
    b"apiVersion",
    b"kind",
    b"items",
    b"metadata",
    b"spec",
    b"status",
    b"type",
    b"data",
    b"clientVersion",
    b"serverVersion",
    b"Items",
    b"ListMeta",
    b"pods",
    b"nodes",
];

/// Replaces lines that are none of the dump's by empty ones, so that the others keep their places. `None` where there
/// are none.
pub(crate) fn blank_noise(text: &str) -> Option<String> {
    let mut found = false;
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        if is_noise(line.as_bytes()) {
            found = true;
            out.push_str(if line.ends_with('\n') { "\n" } else { "" });
        } else {
            out.push_str(line);
        }
    }
    found.then_some(out)
}

/// How lines begin with which kubectl says that it has no answer.
const REFUSALS: &[&str] = &[
    "Error from server",
    "error: ",
    "Error: ",
    "Unable to connect to the server",
    "The connection to the server",
    "command terminated with exit code",
];

/// The first line with which kubectl says that it has no answer, where a text that is no dump has one.
pub(crate) fn refusal(head: &[u8]) -> Option<String> {
    const SHOWN: usize = 200;
    let head = String::from_utf8_lossy(head);
    let line = head.lines().map(str::trim).find(|line| REFUSALS.iter().any(|it| line.starts_with(it)))?;
    Some(line.chars().take(SHOWN).collect())
}

/// Replaces the logs in what `kubectl cluster-info dump` prints by empty lines: they may look like anything, objects
/// included. A section that has no end goes on to the end. `None` where there are none.
pub(crate) fn blank_logs(text: &str) -> Option<String> {
    const START: &str = "==== START logs";
    const END: &str = "==== END logs";
    if !text.starts_with(START) && memchr::memmem::find(text.as_bytes(), b"\n==== START logs").is_none() {
        return None;
    }
    let mut inside = false;
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        inside |= line.starts_with(START);
        if inside {
            inside = !line.starts_with(END);
            out.push_str(if line.ends_with('\n') { "\n" } else { "" });
        } else {
            out.push_str(line);
        }
    }
    Some(out)
}

/// What a text turns out to be that does not begin like a dump: the first line that does begin one, with its offset.
pub(crate) fn first_document(text: &[u8]) -> Option<(usize, Begins)> {
    let mut at = 0;
    while at < text.len() {
        let end = memchr::memchr(b'\n', &text[at..]).map_or(text.len(), |end| at + end);
        let line = &text[at..end];
        if matches!(line.first(), Some(b'{' | b'[')) {
            let next = text.get(end + 1..).unwrap_or_default();
            let next = &next[..memchr::memchr(b'\n', next).unwrap_or(next.len()).min(200)];
            if begins_json(line, next) {
                return Some((at, Begins::Json));
            }
        } else if line.starts_with(b"apiVersion:") || line.starts_with(b"- apiVersion:") {
            return Some((at, Begins::Yaml));
        }
        at = end + 1;
    }
    None
}

/// What [`first_document`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Begins {
    /// A JSON document.
    Json,
    /// A YAML document.
    Yaml,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_is_told_from_dumps() {
        for line in [
            "W0102 03:04:05.123456    4711 warnings.go:70] policy/v1beta1 is deprecated",
            "Warning: policy/v1beta1 PodSecurityPolicy is deprecated",
            "error: the server doesn't have a resource type \"pdbs\"",
            "admin@master-0:~$ kubectl get nodes -o json",
            "[root@node1 ~]# ",
            "PS C:\\Users\\admin> ",
        ] {
            assert!(is_noise(line.as_bytes()), "{line}");
        }
        for line in ["apiVersion: v1", "{", "  \"message\": \"a@b $\"", "- metadata:", "email: a@b.c # x"] {
            assert!(!is_noise(line.as_bytes()), "{line}");
        }
    }

    #[test]
    fn blanking_keeps_lines() {
        assert_eq!(blank_noise("Warning: x\na: 1\nroot@a:~# ").as_deref(), Some("\na: 1\n"));
        assert_eq!(blank_noise("a: 1\n"), None);
    }

    #[test]
    fn logs_are_no_documents() {
        let text = "a: 1\n==== START logs for container c of pod a/b ====\nkind: Pod\n---\n- x: [\n\
                    ==== END logs for container c of pod a/b ====\n---\nb: 2\n==== START logs\nkind: Pod";
        assert_eq!(blank_logs(text).as_deref(), Some("a: 1\n\n\n\n\n\n---\nb: 2\n\n"));
        assert_eq!(blank_logs("a: ==== START logs\n"), None);
    }

    #[test]
    fn refusals_are_told_from_other_text() {
        let text = "\nError from server (Forbidden): pods is forbidden\n";
        assert_eq!(refusal(text.as_bytes()).as_deref(), Some("Error from server (Forbidden): pods is forbidden"));
        assert_eq!(refusal(b"hello\nno error: here\n"), None);
    }

    #[test]
    fn a_document_is_found_behind_other_text() {
        assert_eq!(first_document(b"hello\n[2024] x\n{\n  \"kind\""), Some((15, Begins::Json)));
        assert_eq!(first_document(b"hello\napiVersion: v1\n"), Some((6, Begins::Yaml)));
        assert_eq!(first_document(b"hello\n{world}\n"), None);
    }
}
