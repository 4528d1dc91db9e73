//! Which scheduler is meant: release, gates, configuration.

use super::args::SchedulerArgs;
use super::failure::Failure;
use super::input::Input;
use crate::kube::behavior::Behavior;
use crate::kube::detect::{self, SchedulerContainer, Source};
use crate::kube::gates::{GateNote, Gates};
use crate::kube::profile::Profile;
use crate::kube::release::{NEWEST_MINOR, OLDEST_MINOR, Release, Version, VersionError, VersionNote};
use crate::load::scheduler_config::SchedulerConfig;
use crate::model::symbols::Symbols;
use crate::problem::{Problem, ProblemCode};
use crate::report::json::{self, VersionFrom};
use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

/// A scheduler, resolved.
#[derive(Clone, Debug)]
pub(crate) struct Scheduler {
    /// Its release.
    pub(crate) release: Release,
    /// Where the release comes from.
    pub(crate) from: VersionFrom,
    /// The same in words.
    pub(crate) source: String,
    /// What it does.
    pub(crate) behavior: Arc<Behavior>,
    /// Its profiles; the first where a pod names none of them.
    pub(crate) profiles: Vec<Arc<Profile>>,
    /// What was taken for granted.
    pub(crate) assumptions: Vec<String>,
    /// What of its configuration is not computed; the assumptions say it as well.
    pub(crate) notes: Vec<Problem>,
    /// Plugins that are not computed: every answer may be wrong.
    pub(crate) foreign: Vec<String>,
    /// For each extender that filters or preempts, the resources it looks after; none is every pod's.
    pub(crate) extenders: Vec<Vec<String>>,
    /// The oldest patch that may be meant, where it behaves otherwise.
    pub(crate) oldest: Option<Box<Scheduler>>,
}

impl Scheduler {
    /// For a report.
    pub(crate) fn row(&self) -> json::Scheduler {
        json::Scheduler {
            version: self.release.to_string(),
            version_from: self.from,
            profile: self.profiles[0].scheduler_name.clone(),
            assumptions: self.assumptions.clone(),
        }
    }
}

/// What does not depend on the release.
pub(crate) struct Settings {
    config: Option<ConfigFile>,
    gates: String,
}

impl Settings {
    /// Reads the configuration, if there is one.
    pub(crate) fn read(args: &SchedulerArgs) -> Result<Self, Failure> {
        let config = args.scheduler_config.as_deref().map(read_config).transpose()?;
        Ok(Settings { config, gates: args.feature_gates.clone().unwrap_or_default() })
    }

    /// Takes over what the dump's scheduler was started with, where nothing else is given.
    fn take(&mut self, args: &SchedulerArgs, container: &SchedulerContainer, assumptions: &mut Vec<String>) {
        let asked = args.feature_gates.is_some() || args.kube_version != "auto";
        if let (false, Some(gates)) = (asked, &container.feature_gates) {
            assumptions.push(format!("the feature gates of kube-scheduler's pod: {gates}"));
            self.gates.clone_from(gates);
        }
        if let (None, Some(path)) = (&args.scheduler_config, &container.config_path) {
            assumptions.push(format!(
                "the default configuration, for the dump does not hold the scheduler's {path}: give it with --scheduler-config"
            ));
        }
        if let Some(emulated) = container.emulated_version {
            assumptions.push(format!("the scheduler emulates {}, which is not computed", emulated.release));
        }
        for flag in &container.other_flags {
            assumptions.push(format!("the scheduler's {flag} is not computed"));
        }
    }

    /// The scheduler of a release with these settings.
    pub(crate) fn at(&self, release: Release, symbols: &mut Symbols) -> Result<Scheduler, Failure> {
        let (gates, notes) = Gates::parse(release, &self.gates);
        if let Some(error) = notes.iter().find(|it| it.is_error()) {
            let message = format!("--feature-gates for {release}: {}", error.text());
            return Err(Failure::of_problems(vec![Problem::new(ProblemCode::RefusedGate, message)]));
        }
        let mut assumptions: Vec<String> = notes.iter().map(GateNote::text).collect();
        let mut notes: Vec<Problem> =
            assumptions.iter().map(|text| Problem::new(ProblemCode::UnmodelledGate, text.as_str())).collect();
        let mut foreign = Vec::new();
        let mut extenders = Vec::new();
        let profiles = match &self.config {
            None => vec![Arc::new(Profile::default_for(release, &gates))],
            Some(file) => {
                let config = file.as_read_by(release, &mut assumptions)?;
                let decides =
                    config.extenders.iter().filter(|it| it.filter_verb.is_some() || it.preempt_verb.is_some());
                extenders.extend(decides.map(|it| it.managed_resources.clone()));
                let resolved = config.resolve(release, &gates, symbols).map_err(Failure::of_problems)?;
                assumptions.extend(resolved.notes.iter().map(|it| it.message.clone()));
                notes.extend(resolved.notes);
                foreign.extend(resolved.profiles.iter().flat_map(|it| it.foreign.iter().cloned()));
                resolved.profiles.into_iter().map(|it| Arc::new(it.profile)).collect()
            }
        };
        Ok(Scheduler {
            release,
            from: VersionFrom::Flag,
            source: "as asked".to_owned(),
            behavior: Arc::new(Behavior::of(release, &gates)),
            profiles,
            assumptions,
            notes,
            foreign,
            extenders,
            oldest: None,
        })
    }
}

/// Resolves what the arguments and the dump say.
pub(crate) fn resolve(args: &SchedulerArgs, input: &mut Input) -> Result<Scheduler, Failure> {
    let mut settings = Settings::read(args)?;
    let Chosen { version, from, source, mut assumptions } = choose(args, input, &input.schedulers)?;
    if let Some(container) = input.schedulers.first() {
        settings.take(args, container, &mut assumptions);
    }
    let symbols = &mut input.loaded.cluster.symbols;
    let mut scheduler = settings.at(version.release, symbols)?;
    if !version.is_exact() {
        let oldest = settings.at(version.oldest, symbols)?;
        let differs = oldest.behavior != scheduler.behavior || oldest.profiles != scheduler.profiles;
        scheduler.oldest = differs.then(|| Box::new(oldest));
    }
    let differs = scheduler.oldest.is_some();
    let older = scheduler.oldest.as_deref().unwrap_or(&scheduler);
    if let Some(behavior) = Behavior::of_older_toolchain(version.oldest, &older.behavior) {
        let older = Scheduler { behavior: Arc::new(behavior), oldest: None, ..older.clone() };
        scheduler.oldest = Some(Box::new(older));
    }
    assumptions.extend(version.note.and_then(|note| note_text(note, version, differs)));
    assumptions.append(&mut scheduler.assumptions);
    input.problems.extend(scheduler.notes.iter().cloned());
    Ok(Scheduler { from, source, assumptions, ..scheduler })
}

/// The release that is meant, and why.
struct Chosen {
    version: Version,
    from: VersionFrom,
    source: String,
    assumptions: Vec<String>,
}

fn choose(args: &SchedulerArgs, input: &Input, schedulers: &[SchedulerContainer]) -> Result<Chosen, Failure> {
    if args.kube_version != "auto" {
        let version = parse(&args.kube_version)?;
        return Ok(Chosen { version, from: VersionFrom::Flag, source: "as asked".to_owned(), assumptions: Vec::new() });
    }
    let cluster = &input.loaded.cluster;
    let kubelets = cluster.nodes.iter().filter_map(|it| it.kubelet_version).map(|it| cluster.text(it));
    let pods = schedulers.iter().filter_map(|it| it.version);
    let found = detect::version(pods, input.loaded.server_version.as_deref(), kubelets);
    let mut assumptions = Vec::new();
    let (from, source) = match found.source {
        Source::SchedulerPod => (VersionFrom::Dump, "from kube-scheduler's pod"),
        Source::ServerVersion => {
            assumptions
                .push("the scheduler is of the API server's release; it may be one minor release older".to_owned());
            (VersionFrom::Dump, "from the API server's version")
        }
        Source::Kubelet => {
            assumptions.push(
                "the scheduler is of the newest kubelet's release; it may be up to three minor releases newer"
                    .to_owned(),
            );
            (VersionFrom::Dump, "guessed from the newest kubelet")
        }
        Source::Nothing => (VersionFrom::Default, "the newest known, for the dump does not tell"),
    };
    if found.mixed {
        assumptions.push("several versions are named there; the newest is used".to_owned());
    }
    Ok(Chosen { version: found.version, from, source: source.to_owned(), assumptions })
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

/// A configuration and the text it was read from.
struct ConfigFile {
    name: String,
    text: String,
    config: SchedulerConfig,
}

impl ConfigFile {
    /// The configuration in the newest version that the release reads: one written in a later version is taken as if it
    /// were written in that, and it is said.
    fn as_read_by(&self, release: Release, assumptions: &mut Vec<String>) -> Result<Cow<'_, SchedulerConfig>, Failure> {
        const GROUP: &str = "kubescheduler.config.k8s.io/";
        let written = self.config.version.name();
        let readable = match release.minor {
            ..19 => "v1alpha2",
            19..22 => "v1beta1",
            22 => "v1beta2",
            23..25 => "v1beta3",
            25.. => "v1",
        };
        if self.config.version.is_read_by(release) || written != "v1" {
            return Ok(Cow::Borrowed(&self.config));
        }
        assumptions.push(format!(
            "a scheduler of {release} does not read {written} configurations: this one is taken as if it were {readable}"
        ));
        let mut text = String::new();
        for (at, part) in self.text.split(&format!("{GROUP}{written}")).enumerate() {
            if at > 0 {
                // A longer version, such as v1beta3, begins with the same letters.
                let longer = part.starts_with(|next: char| next.is_ascii_alphanumeric());
                text = format!("{text}{GROUP}{}", if longer { written } else { readable });
            }
            text += part;
        }
        SchedulerConfig::read(&self.name, &text).map(Cow::Owned).map_err(Failure::of_problems)
    }
}

fn read_config(path: &Path) -> Result<ConfigFile, Failure> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|error| Failure::new(format!("cannot read `{name}`: {error}")))?;
    let config = SchedulerConfig::read(&name, &text).map_err(Failure::of_problems)?;
    Ok(ConfigFile { name, text, config })
}

/// What is to be said where another release stands in for the one that was asked for.
pub(crate) fn stands_in(version: Version) -> Option<String> {
    version.note.and_then(|note| note_text(note, version, false))
}

fn note_text(note: VersionNote, version: Version, differs: bool) -> Option<String> {
    let release = version.release;
    Some(match note {
        VersionNote::PatchUnknown if !differs => return None,
        VersionNote::PatchUnknown => {
            format!(
                "the patch is the newest, {release}; where {} answers otherwise, both answers are given",
                version.oldest
            )
        }
        VersionNote::NewerThanKnown { minor } => {
            format!(
                "1.{minor} is newer than the newest known release, {}, and is taken to behave like it, but for the little \
                 that is known of 1.{}",
                Release::newest(),
                release.minor
            )
        }
        VersionNote::OlderThanKnown { minor } => {
            format!("1.{minor} is older than the oldest known release and is taken to behave like {release}")
        }
        VersionNote::PatchNewerThanKnown => {
            format!("{release} behaves like the newest known patch of its minor release")
        }
        VersionNote::Prerelease => format!("the pre-release behaves like {release}"),
    })
}
