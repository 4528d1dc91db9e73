//! One call of kubectl after the other.

use super::manifest::{KindRecord, KindState};
use crate::model::cluster::Kind;
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

/// kubectl, and what every call of it is told.
pub(super) struct Kubectl<'a> {
    pub(super) program: &'a OsStr,
    pub(super) arguments: &'a [OsString],
}

/// What a short call answered.
pub(super) enum Answer {
    /// Its standard output.
    Text(String),
    /// Why it failed, in its own words.
    Failed(String),
}

impl Kubectl<'_> {
    fn command(&self) -> Command {
        let mut command = Command::new(self.program);
        command.args(self.arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// `kubectl version -o json`: the versions of both sides.
    pub(super) fn version(&self) -> io::Result<Answer> {
        let output = self.command().args(["version", "-o", "json"]).output()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        // kubectl prints its own version and fails where the server does not answer.
        Ok(if output.status.success() { Answer::Text(text) } else { Answer::Failed(said(&output.stderr)) })
    }

    /// The context in use.
    pub(super) fn context(&self) -> Option<String> {
        let mut given = self.arguments.iter();
        while let Some(argument) = given.next() {
            if argument == "--context" {
                return given.next().map(|it| it.to_string_lossy().into_owned());
            }
        }
        let output = self.command().args(["config", "current-context"]).output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        (output.status.success() && !text.is_empty()).then_some(text)
    }

    /// Writes all objects of a kind to a file of the folder. The error is the folder's.
    pub(super) fn list(
        &self,
        kind: Kind,
        chunk_size: u32,
        folder: &Path,
        told: &mut dyn FnMut(u64),
    ) -> io::Result<KindRecord> {
        let name = format!("{}.json", kind.resource().split('.').next().unwrap_or_default());
        let (path, partial) = (folder.join(&name), folder.join(format!(".{name}.partial")));
        let chunk_size = format!("--chunk-size={chunk_size}");
        let mut command = self.command();
        command.args(["get", kind.resource(), "--all-namespaces", "-o", "json", &chunk_size]);
        let mut child = match command.spawn() {
            Ok(child) => child,
            Err(error) => return Ok(failed(kind, error.to_string())),
        };
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        // Both pipes are emptied at once, or kubectl would wait for the one nobody reads.
        let (copied, warnings) = std::thread::scope(|scope| {
            let warnings = scope.spawn(|| {
                let mut text = Vec::new();
                stderr.map_or(Ok(0), |mut it| it.read_to_end(&mut text)).map(|_| text).unwrap_or_default()
            });
            let copied = stdout.map_or(Ok(()), |it| copy(it, &partial, told));
            (copied, warnings.join().unwrap_or_default())
        });
        let status = child.wait()?;
        copied?;
        if !status.success() {
            fs::remove_file(&partial)?;
            let text = said(&warnings);
            return Ok(if is_unknown(&text) {
                KindRecord::new(kind, KindState::NotServed)
            } else {
                failed(kind, text)
            });
        }
        match count(&partial) {
            Ok(objects) => {
                fs::rename(&partial, &path)?;
                let (file, objects) = (Some(name), Some(objects));
                Ok(KindRecord { file, objects, ..KindRecord::new(kind, KindState::Read) })
            }
            Err(error) => {
                fs::remove_file(&partial)?;
                Ok(failed(kind, format!("what kubectl printed is not a list: {error}")))
            }
        }
    }
}

fn failed(kind: Kind, error: String) -> KindRecord {
    KindRecord { error: Some(error), ..KindRecord::new(kind, KindState::Failed) }
}

/// Whether kubectl says that the API server has no such kind. Upstream: `meta.NoResourceMatchError` as kubectl prints it.
fn is_unknown(text: &str) -> bool {
    text.contains("the server doesn't have a resource type") || text.contains("could not find the requested resource")
}

/// The line that says most: the last error, else the last line.
fn said(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let error = lines().rfind(|line| line.to_ascii_lowercase().starts_with("error")).or_else(|| lines().next_back());
    error.unwrap_or("kubectl failed without a word").to_owned()
}

fn copy(mut from: impl Read, to: &Path, told: &mut dyn FnMut(u64)) -> io::Result<()> {
    let mut file = File::create(to)?;
    let mut buffer = vec![0; 1 << 18];
    let mut bytes = 0;
    loop {
        let count = from.read(&mut buffer)?;
        if count == 0 {
            return Ok(());
        }
        file.write_all(&buffer[..count])?;
        bytes += count as u64;
        told(bytes);
    }
}

/// Steps over lines that a wrapper of kubectl printed before the list.
fn skip_words(reader: &mut impl BufRead) -> io::Result<()> {
    const LINES: usize = 100;
    for _ in 0..LINES {
        if reader.fill_buf()?.first().is_none_or(|byte| *byte == b'{') {
            break;
        }
        reader.skip_until(b'\n')?;
    }
    Ok(())
}

/// The number of items; an error where the text is no whole list.
fn count(path: &Path) -> io::Result<u64> {
    #[derive(Deserialize)]
    struct List {
        items: Vec<IgnoredAny>,
    }
    let mut reader = BufReader::with_capacity(1 << 18, File::open(path)?);
    skip_words(&mut reader)?;
    let list: List = serde_json::from_reader(reader)?;
    Ok(list.items.len() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_is_told_from_the_warnings() {
        assert_eq!(
            said(b"W0102 x\nError from server (Forbidden): pods is forbidden\n"),
            "Error from server (Forbidden): pods is forbidden"
        );
        assert_eq!(said(b"bash: no\n"), "bash: no");
        assert_eq!(said(b""), "kubectl failed without a word");
        assert!(is_unknown("error: the server doesn't have a resource type \"deviceclasses\""));
    }
}
