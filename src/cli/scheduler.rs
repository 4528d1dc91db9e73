//! Which scheduler is meant: release, gates, configuration.

use super::args::SchedulerArgs;
use super::failure::Failure;
use crate::kube::behavior::Behavior;
use crate::kube::gates::Gates;
use crate::kube::profile::Profile;
use crate::kube::release::{NEWEST_MINOR, OLDEST_MINOR, Release, Version, VersionError, VersionNote};
use crate::report::json::VersionFrom;
use std::sync::Arc;

/// A scheduler, resolved.
#[derive(Clone, Debug)]
pub(crate) struct Scheduler {
    /// Its release.
    pub(crate) release: Release,
    /// Where the release comes from.
    pub(crate) from: VersionFrom,
    /// The release and where it comes from, in words.
    pub(crate) source: String,
    /// What it does.
    pub(crate) behavior: Arc<Behavior>,
    /// Its profiles; the first where a pod names none of them.
    pub(crate) profiles: Vec<Profile>,
    /// What was taken for granted.
    pub(crate) assumptions: Vec<String>,
    /// The oldest patch that may be meant, where it behaves otherwise.
    pub(crate) oldest: Option<Box<Scheduler>>,
}

/// Resolves what the arguments and the dump say.
pub(crate) fn resolve(args: &SchedulerArgs) -> Result<Scheduler, Failure> {
    let (version, from, source) = version(args)?;
    let gates = args.feature_gates.as_deref().unwrap_or_default();
    let mut assumptions = Vec::new();
    assumptions.extend(version.note.map(|note| note_text(note, version)));
    let mut scheduler = of_release(version.release, gates, &mut assumptions)?;
    if !version.is_exact() {
        let oldest = of_release(version.oldest, gates, &mut Vec::new())?;
        scheduler.oldest = (oldest.behavior != scheduler.behavior).then(|| Box::new(oldest));
    }
    Ok(Scheduler { from, source, assumptions, ..scheduler })
}

/// The scheduler of a release with its default configuration and these gates.
pub(crate) fn of_release(release: Release, gates: &str, notes: &mut Vec<String>) -> Result<Scheduler, Failure> {
    let (gates, gate_notes) = Gates::parse(release, gates);
    if let Some(error) = gate_notes.iter().find(|it| it.is_error()) {
        return Err(Failure::new(format!("--feature-gates at {release}: {}", error.text())));
    }
    notes.extend(gate_notes.iter().map(crate::kube::gates::GateNote::text));
    Ok(Scheduler {
        release,
        from: VersionFrom::Flag,
        source: String::new(),
        behavior: Arc::new(Behavior::of(release, &gates)),
        profiles: vec![Profile::default_for(release, &gates)],
        assumptions: Vec::new(),
        oldest: None,
    })
}

fn version(args: &SchedulerArgs) -> Result<(Version, VersionFrom, String), Failure> {
    if args.kube_version != "auto" {
        return Ok((parse(&args.kube_version)?, VersionFrom::Flag, "as asked".to_owned()));
    }
    let newest = Version::exact(Release::newest());
    Ok((newest, VersionFrom::Default, "the newest known: the dump does not tell".to_owned()))
}

/// Reads a release that somebody wrote.
pub(crate) fn parse(text: &str) -> Result<Version, Failure> {
    let help = format!("write it as 1.34 or 1.34.1; known are 1.{OLDEST_MINOR} to 1.{NEWEST_MINOR}");
    Version::parse(text).map_err(|error| match error {
        VersionError::NotAVersion => Failure::new(format!("`{text}` is no release of Kubernetes")).help(help),
        VersionError::OpenShift { minor } => Failure::new(format!("`{text}` is a version of OpenShift"))
            .help(format!("it is built on Kubernetes 1.{minor}: write that")),
    })
}

fn note_text(note: VersionNote, version: Version) -> String {
    let release = version.release;
    match note {
        VersionNote::PatchUnknown => {
            format!(
                "the newest patch, {release}; where {} would answer otherwise, both answers are given",
                version.oldest
            )
        }
        VersionNote::NewerThanKnown { minor } => {
            format!("1.{minor} is newer than the newest known release; it is taken to behave like {release}")
        }
        VersionNote::OlderThanKnown { minor } => {
            format!("1.{minor} is older than the oldest known release; it is taken to behave like {release}")
        }
        VersionNote::PatchNewerThanKnown => {
            format!("{release} is newer than the newest known patch of its minor release")
        }
        VersionNote::Prerelease => format!("a pre-release is taken to behave like {release}"),
    }
}
