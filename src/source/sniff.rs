//! What a file is, by its first few kilobytes. Names are not asked: dumps are called anything.

use super::encoding::{self, Encoding};
use super::noise;

/// How many bytes [`sniff`] wants to see. More do not hurt.
pub(crate) const HEAD: usize = 4096;

/// The first bytes, as many as [`sniff`] wants to see.
pub(crate) fn head(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.len().min(HEAD)]
}

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// Nothing, or white space and zero bytes.
    Blank,
    /// A compressed stream.
    Compressed(Compression),
    /// A container of files.
    Tar,
    /// A container of files.
    Zip,
    /// Text in UTF-16.
    Utf16(Encoding),
    /// JSON, with or without other lines before it.
    Json,
    /// YAML, with or without other lines before it.
    Yaml,
    /// Text of which these bytes do not tell more.
    Text,
    /// Something that is known and of no use.
    Foreign(Foreign),
    /// Bytes that are no text.
    Binary,
}

impl Content {
    /// Whether it may be text that begins in UTF-8, whatever it goes on in.
    pub(crate) fn may_be_utf8(self) -> bool {
        matches!(self, Content::Json | Content::Yaml | Content::Text | Content::Binary)
    }
}

/// Ways to compress a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compression {
    /// gzip.
    Gzip,
    /// Zstandard.
    Zstd,
    /// xz.
    Xz,
}

/// What people hand over in place of a dump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Foreign {
    /// `kubectl get` without `-o json`.
    Table,
    /// `kubectl describe`.
    Describe,
    /// A snapshot of etcd's database.
    EtcdSnapshot,
    /// An object in Kubernetes' protobuf encoding.
    Protobuf,
    /// A database file of k3s.
    Sqlite,
    /// bzip2, 7z, rar, lz4.
    OtherArchive,
    /// HTML, such as a log-in page that a proxy answered with.
    Html,
}

impl Foreign {
    /// What it is and what to do, as message and help.
    pub(crate) const fn words(self) -> (&'static str, &'static str) {
        match self {
            Foreign::Table => ("is a table that kubectl printed for people", "ask kubectl again with `-o json`"),
            Foreign::Describe => ("is what `kubectl describe` prints", "run `kubectl get -o json` instead"),
            Foreign::EtcdSnapshot => (
                "is a snapshot of etcd's database",
                "restore it into an API server and run `kubectl get -o json` there, or decode it with auger",
            ),
            Foreign::Protobuf => ("is in Kubernetes' protobuf encoding", "ask for JSON: `kubectl get --raw … -o json`"),
            Foreign::Sqlite => ("is an SQLite database, as k3s keeps", "run `kubectl get -o json` against the cluster"),
            Foreign::OtherArchive => {
                ("is an archive of a kind that is not read", "unpack it, or use tar, zip, gzip, zstd or xz")
            }
            Foreign::Html => {
                ("is a web page", "the address answered with a page in place of the API: log in and fetch it again")
            }
        }
    }
}

/// Tells what a file is by its beginning.
pub(crate) fn sniff(head: &[u8]) -> Content {
    if let Some(content) = magic(head) {
        return content;
    }
    match encoding::detect(head) {
        Encoding::Utf8 => {}
        other => return Content::Utf16(other),
    }
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    if text.iter().all(|byte| byte.is_ascii_whitespace() || *byte == 0) {
        return Content::Blank;
    }
    let strange = text.iter().filter(|byte| matches!(byte, 0..=8 | 14..=26 | 28..=31)).count();
    if strange * 20 > text.len() {
        return Content::Binary;
    }
    lines(text)
}

fn magic(head: &[u8]) -> Option<Content> {
    Some(match head {
        [0x1f, 0x8b, ..] => Content::Compressed(Compression::Gzip),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Content::Compressed(Compression::Zstd),
        [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Content::Compressed(Compression::Zstd),
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Content::Compressed(Compression::Xz),
        [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] => Content::Zip,
        [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41, ..]
        | [b'7', b'z', 0xbc, 0xaf, ..]
        | [b'R', b'a', b'r', b'!', 0x1a, ..]
        | [4, 0x22, 0x4d, 0x18, ..] => Content::Foreign(Foreign::OtherArchive),
        [b'k', b'8', b's', 0, ..] => Content::Foreign(Foreign::Protobuf),
        _ if head.starts_with(b"SQLite format 3\0") => Content::Foreign(Foreign::Sqlite),
        _ if head.get(16..20) == Some(&[0xed, 0xda, 0x0c, 0xed]) => Content::Foreign(Foreign::EtcdSnapshot),
        _ if is_tar(head) => Content::Tar,
        _ => return None,
    })
}

/// A tar header: its own checksum, in octal, with the checksum's field taken as blanks.
fn is_tar(head: &[u8]) -> bool {
    let Some(header) = head.get(..512) else { return false };
    let field = &header[148..156];
    let digits: Vec<u8> = field.iter().copied().filter(u8::is_ascii_digit).collect();
    let Some(stated) = std::str::from_utf8(&digits).ok().and_then(|digits| u32::from_str_radix(digits, 8).ok()) else {
        return false;
    };
    let sum = header.iter().enumerate().map(|(at, byte)| if (148..156).contains(&at) { 32 } else { u32::from(*byte) });
    stated > 0 && sum.sum::<u32>() == stated
}

/// The first line that tells.
fn lines(text: &[u8]) -> Content {
    let mut lines = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_end);
    while let Some(line) = lines.next() {
        if line.is_empty() || noise::is_noise(line) || line.starts_with(b"#") || line.starts_with(b"//") {
            continue;
        }
        if noise::begins_json(line, lines.clone().next().unwrap_or_default()) {
            return Content::Json;
        }
        if is_describe(line, lines.clone().next().unwrap_or_default()) {
            return Content::Foreign(Foreign::Describe);
        }
        if noise::begins_yaml(line) {
            return Content::Yaml;
        }
        if is_table_header(line) {
            return Content::Foreign(Foreign::Table);
        }
        if line.get(..5).is_some_and(|it| it.eq_ignore_ascii_case(b"<html") || it.eq_ignore_ascii_case(b"<!doc")) {
            return Content::Foreign(Foreign::Html);
        }
    }
    Content::Text
}

/// `NAME   READY   STATUS …`: column heads in capitals, set apart by blanks.
fn is_table_header(line: &[u8]) -> bool {
    let mut words = line.split(|byte| *byte == b' ').filter(|word| !word.is_empty());
    let first = words.next().unwrap_or_default();
    matches!(first, b"NAME" | b"NAMESPACE" | b"LAST")
        && line.windows(2).any(|pair| pair == b"  ")
        && words
            .all(|word| word.iter().all(|byte| byte.is_ascii_uppercase() || matches!(byte, b'-' | b'(' | b')' | b'%')))
}

/// `Name:         web-0` and then `Namespace:    shop`.
fn is_describe(line: &[u8], next: &[u8]) -> bool {
    line.starts_with(b"Name:  ")
        && [&b"Namespace:  "[..], b"Roles:  ", b"Labels:  ", b"Value:  "].iter().any(|key| next.starts_with(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_told_by_its_first_telling_line() {
        for (text, expected) in [
            ("", Content::Blank),
            ("\n\n \0\0", Content::Blank),
            ("{\"kind\": \"List\"}", Content::Json),
            ("\u{feff}\r\n{\r\n", Content::Json),
            ("Warning: v1 ComponentStatus is deprecated in v1.19+\n{\n    \"apiVersion\": \"v1\"", Content::Json),
            ("$ kubectl get nodes -o json\n[\n  {\n", Content::Json),
            ("# nodes\n# of today\n[]\n", Content::Json),
            ("apiVersion: v1\nitems: []\n", Content::Yaml),
            ("# hand-made\n---\nkind: Pod\n", Content::Yaml),
            ("- apiVersion: v1\n  kind: Pod\n", Content::Yaml),
            ("{apiVersion: v1, kind: Pod}\n", Content::Yaml),
            (
                "NAME   READY   STATUS    RESTARTS   AGE\nweb-0  1/1     Running   0          3d\n",
                Content::Foreign(Foreign::Table),
            ),
            ("Name:         web-0\nNamespace:    shop\n", Content::Foreign(Foreign::Describe)),
            ("<!DOCTYPE html>\n", Content::Foreign(Foreign::Html)),
            ("[2024-01-02 03:04:05] starting\n", Content::Text),
            ("I0102 03:04:05.000000       1 main.go:1] starting\n", Content::Text),
            ("hello\n", Content::Text),
        ] {
            assert_eq!(sniff(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn bytes_are_told_by_their_magic() {
        assert_eq!(sniff(&[0x1f, 0x8b, 8]), Content::Compressed(Compression::Gzip));
        assert_eq!(sniff(b"PK\x05\x06"), Content::Zip);
        assert_eq!(sniff(b"k8s\0\n"), Content::Foreign(Foreign::Protobuf));
        assert_eq!(sniff(b"{\0\n\0"), Content::Utf16(Encoding::Utf16Le));
        assert_eq!(sniff(&[1, 2, 3, 4, 5, 6, 7, 8]), Content::Binary);
    }
}
