//! An index that is damaged, cut, forged or stale.

use super::*;
use crate::engine::cycle;
use crate::engine::framework::PodCycle;
use crate::engine::snapshot::Snapshot;
use crate::kube::behavior::Behavior;
use crate::kube::gates::Gates;
use crate::kube::profile::Profile;
use crate::kube::release::Release;
use crate::load::{self, schedulers};
use crate::source::archive::Limits;
use crate::source::files::Digests;
use crate::source::meter::Meter;
use std::sync::Arc;

struct Case {
    question: Question,
    given: Given,
    bytes: Vec<u8>,
}

/// The dump of two paths that lie in the project, and an index of it.
fn case(name: &str, paths: &[&str]) -> Case {
    let paths: Vec<PathBuf> = paths.iter().map(PathBuf::from).collect();
    let given = || Given::of(&paths, &mut io::empty(), &Meter::default());
    let question = Question::new(&given(), "options".to_owned(), false, 1 << 20);
    let (files, problems, seen) = FileTable::open_given(given(), Limits::default(), Digests::Take, &Meter::default());
    let loaded = load::load(&files);
    let schedulers = schedulers::schedulers(&files, &loaded.cluster);
    let index = std::env::temp_dir().join(format!("preempt-audit-index-{name}-{}", std::process::id()));
    let content = Content { files, loaded, problems, schedulers };
    write(&index, question.clone(), &seen, &content).expect("the folder for temporary files can be written");
    let hit = read(&index, &question, &given()).expect("it was just written");
    assert_eq!(hit.content.loaded.cluster, content.loaded.cluster);
    assert_eq!(hit.content.loaded.held, content.loaded.held);
    assert_eq!(hit.content.schedulers, content.schedulers);
    let bytes = std::fs::read(&index).expect("it was just read");
    std::fs::remove_file(&index).expect("it was just read");
    Case { question, given: given(), bytes }
}

impl Case {
    fn read(&self, bytes: &[u8]) -> Result<Hit, Reason> {
        read_bytes(bytes, &self.question, &self.given)
    }

    /// Signs bytes anew, as somebody would who wants them believed.
    fn forged(&self, at: usize, byte: u8) -> Vec<u8> {
        let mut forged = self.bytes.clone();
        forged[at] = byte;
        let end = forged.len() - DIGEST;
        let digest = given::content_digest(&forged[..end]);
        forged[end..].copy_from_slice(&digest);
        forged
    }
}

#[test]
fn pods_of_one_template_share_their_spec_again() {
    let case = case("share", &["fixtures/new-default-class"]);
    let hit = case.read(&case.bytes).expect("nothing was changed");
    let pods = &hit.content.loaded.cluster.pods;
    let pairs = || pods.iter().zip(&pods[1..]);
    assert!(pairs().any(|(a, b)| Arc::ptr_eq(&a.spec, &b.spec)));
    assert!(pairs().all(|(a, b)| Arc::ptr_eq(&a.spec, &b.spec) || a.spec != b.spec));
}

#[test]
fn every_flipped_bit_and_every_cut_is_noticed() {
    let case = case("flips", &["fixtures/few-candidates"]);
    for length in 0..case.bytes.len() {
        assert!(case.read(&case.bytes[..length]).is_err(), "cut to {length}");
    }
    let mut bytes = case.bytes.clone();
    for at in MAGIC.len()..bytes.len() {
        for bit in 0..8 {
            bytes[at] ^= 1 << bit;
            assert!(case.read(&bytes).is_err(), "byte {at}, bit {bit}");
            bytes[at] ^= 1 << bit;
        }
    }
    let longer = [&case.bytes[..], &[0]].concat();
    assert!(case.read(&longer).is_err());
    assert!(case.read(&case.bytes).is_ok());
}

/// Reads forged bytes and asks what an engine does with them: it may answer anything, but it may not break.
fn survive(case: &Case, bytes: &[u8]) {
    let Ok(hit) = case.read(bytes) else { return };
    let release = Release::newest();
    let gates = Gates::defaults(release);
    let cluster = Arc::new(hit.content.loaded.cluster);
    let snapshot = Snapshot::new(cluster, Arc::new(Behavior::of(release, &gates)));
    let profile = Profile::default_for(release, &gates);
    for pod in snapshot.cluster.pod_range() {
        std::hint::black_box(cycle::schedule(&PodCycle { snapshot: &snapshot, pod, profile: &profile, changed: None }));
    }
}

#[test]
fn a_forged_index_breaks_nothing() {
    for (name, path) in [("forged-a", "fixtures/few-candidates"), ("forged-b", "fixtures/exclusive-claim")] {
        let case = case(name, &[path]);
        for at in MAGIC.len()..case.bytes.len() - DIGEST {
            // Every number is made up of bytes: at one of them or the next, each of these stands.
            let byte = [0xff, case.bytes[at].wrapping_add(1), 0, 0x7f, 1][at % 5];
            survive(&case, &case.forged(at, byte));
        }
    }
}

#[test]
fn another_program_or_another_question_gets_nothing() {
    let case = case("other", &["fixtures/tie", "fixtures/fits"]);
    let other = |change: &dyn Fn(&mut Question)| {
        let mut question = case.question.clone();
        change(&mut question);
        read_bytes(&case.bytes, &question, &case.given).map(drop)
    };
    assert_eq!(other(&|_| ()), Ok(()));
    assert_eq!(other(&|it| it.options = String::new()), Err(Reason::OtherDump));
    assert_eq!(other(&|it| it.digests = true), Err(Reason::OtherDump));
    assert_eq!(other(&|it| it.listing.passed_over += 1), Err(Reason::OtherDump));
    assert_eq!(other(&|it| drop(it.listing.files.pop())), Err(Reason::OtherDump));
    let mut older = case.bytes.clone();
    older[MAGIC.len()] = 0;
    assert_eq!(case.read(&older).map(drop), Err(Reason::OtherProgram));
    older = case.bytes.clone();
    older[MAGIC.len() + 8] ^= 1;
    assert_eq!(case.read(&older).map(drop), Err(Reason::OtherProgram));
}

#[test]
fn times_go_there_and_back() {
    for time in [Duration::ZERO, Duration::new(1_700_000_000, 123_456_789)] {
        let time = SystemTime::UNIX_EPOCH + time;
        for time in [Some(time), SystemTime::UNIX_EPOCH.checked_sub(Duration::from_millis(1500)), None] {
            let mut bytes = Vec::new();
            time.put(&mut bytes);
            assert_eq!(In::new(&bytes, Sizes::default()).take::<Option<SystemTime>>(), Ok(time));
        }
    }
}
