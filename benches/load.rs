//! Loading a dump, and explaining one pending pod of it, beside a plain reading of the same bytes in the same run:
//! `cargo bench --bench load -- cluster.json`.
//!
//! The ratio is what counts: seconds are the machine's. Without a file a small dump is made up.

#![expect(clippy::print_stdout, reason = "a benchmark prints")]

mod common;

use common::{ms, ratio};
use preempt_audit::engine::cycle;
use preempt_audit::engine::framework::PodCycle;
use preempt_audit::engine::snapshot::Snapshot;
use preempt_audit::kube::behavior::Behavior;
use preempt_audit::kube::gates::Gates;
use preempt_audit::kube::profile::Profile;
use preempt_audit::kube::release::Release;
use preempt_audit::load;
use preempt_audit::source::files::FileTable;
use serde::de::IgnoredAny;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The program's own.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    let arguments = std::env::args_os().skip(1).filter(|it| !it.to_string_lossy().starts_with("--"));
    let paths: Vec<PathBuf> = arguments.map(PathBuf::from).collect();
    if std::env::var_os(ONLY_SKIM).is_some() {
        return skim(&FileTable::open(&paths).0);
    }
    let files = if paths.is_empty() { made_up() } else { FileTable::open(&paths).0 };
    let bytes: usize = files.files.iter().map(|file| file.bytes.len()).sum();
    println!("{} files, {:.1} MB, {} threads", files.files.len(), mb(bytes), rayon::current_num_threads());

    // The first reading brings the file in from the disk.
    skim(&files);
    let before = private_bytes();
    // What later runs leave behind would count.
    let faults = page_faults();
    let peak = watched(|| drop(explain_one(&files)));
    let after = page_faults();
    let (mut skims, mut loads, mut explains, mut objects) = (Vec::new(), Vec::new(), Vec::new(), 0);
    for _ in 0..3 {
        skims.push(time(&files, || skim(&files)));
        loads.push(time(&files, || {
            let loaded = load::load(&files);
            objects = loaded.cluster.nodes.len() + loaded.cluster.pods.len();
            loaded
        }));
        explains.push(time(&files, || explain_one(&files)));
    }
    let (skim, load, explain) = (best(&skims), best(&loads), best(&explains));
    println!("skim, one core: {:.3} s wall, {:.3} s cpu", skim.0.as_secs_f64(), skim.1.as_secs_f64());
    println!(
        "load:           {:.3} s wall, {:.3} s cpu, {objects} nodes and pods",
        load.0.as_secs_f64(),
        load.1.as_secs_f64()
    );
    println!("ratio:          {:.2} wall, {:.2} cpu", ratio(load.0, skim.0), ratio(load.1, skim.1));
    println!("explain one pod: {:.3} s wall, {:.3} s cpu", explain.0.as_secs_f64(), explain.1.as_secs_f64());
    println!("ratio:          {:.2} wall, {:.2} cpu", ratio(explain.0, skim.0), ratio(explain.1, skim.1));
    let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build().map(|pool| {
        let runs: Vec<_> = (0..3).map(|_| time(&files, || pool.install(|| load::load(&files)))).collect();
        best(&runs)
    });
    if let Ok(alone) = alone {
        let threads = rayon::current_num_threads();
        println!("one thread:     {:.3} s wall, {:.2} of {threads}", alone.0.as_secs_f64(), ratio(alone.0, load.0));
    }
    if let Some(half) = half(&files) {
        let skims: Vec<_> = (0..3).map(|_| time(&half, || self::skim(&half))).collect();
        let loads: Vec<_> = (0..3).map(|_| time(&half, || load::load(&half))).collect();
        let (skim_of_half, load_of_half) = (best(&skims), best(&loads));
        println!(
            "half of it:     {:.3} s wall, {:.2} of the whole; skim {:.2} of the whole",
            load_of_half.0.as_secs_f64(),
            ratio(load_of_half.0, load.0),
            ratio(skim_of_half.0, skim.0)
        );
    }
    let faults = after.zip(faults).map(|(after, before)| (after.0 - before.0, after.1 - before.1));
    if let Some((minor, major)) = faults {
        println!("pages: {minor} brought in from memory, {major} from disk");
    }
    match before.zip(peak) {
        Some((before, peak)) => println!("private memory: {:.0} MB at most, {:.0} MB before", mb(peak), mb(before)),
        None => println!("private memory: not known on this system"),
    }
    if let [path] = paths.as_slice() {
        whole(path);
    }
}

/// Says to this program that it is to skim and do nothing else.
const ONLY_SKIM: &str = "PREEMPT_AUDIT_ONLY_SKIM";

/// Both as a shell sees them: the program for one pod, and a program that skims, from start to end.
fn whole(path: &Path) {
    let Some(pod) = common::pending(path, 1).pop() else { return };
    let took = |command: &mut Command| (0..5).map(|_| common::took(command)).min().unwrap_or_default();
    let program = took(Command::new(env!("CARGO_BIN_EXE_preempt-audit")).args(["explain", "--pod", &pod]).arg(path));
    let Ok(this) = std::env::current_exe() else { return };
    let skim = took(Command::new(this).arg(path).env(ONLY_SKIM, "1"));
    println!("as programs:     skim {} wall, explain one pod {}", ms(skim), ms(program));
    println!("ratio:          {:.2} wall", ratio(program, skim));
}

/// Brings in the pages that were let go, so that both sides find them.
fn touch(files: &FileTable) {
    let pages =
        files.files.iter().map(|file| file.bytes.iter().step_by(4096).map(|byte| u64::from(*byte)).sum::<u64>());
    std::hint::black_box(pages.sum::<u64>());
}

#[expect(clippy::cast_precision_loss, reason = "for people")]
fn mb(bytes: usize) -> f64 {
    bytes as f64 / 1e6
}

fn best(times: &[(Duration, Duration)]) -> (Duration, Duration) {
    let wall = times.iter().map(|time| time.0).min().unwrap_or_default();
    (wall, times.iter().map(|time| time.1).min().unwrap_or_default())
}

/// Wall time and the process's time on all cores. What the work leaves is dropped later: the program leaves it to the system.
fn time<T>(files: &FileTable, work: impl FnOnce() -> T) -> (Duration, Duration) {
    touch(files);
    let (begin, cpu) = (Instant::now(), cpu_time());
    let left = work();
    let spent = (begin.elapsed(), cpu_time().saturating_sub(cpu));
    drop(left);
    spent
}

/// What any reading of the JSON costs: every byte is looked at, nothing is kept.
fn skim(files: &FileTable) {
    for file in &files.files {
        for value in serde_json::Deserializer::from_slice(&file.bytes).into_iter::<IgnoredAny>() {
            if value.is_err() {
                break;
            }
        }
    }
}

/// Everything that `explain` computes for the first pending pod, printing left out.
fn explain_one(files: &FileTable) -> Snapshot {
    let cluster = load::load(files).cluster;
    let release = Release::newest();
    let gates = Gates::defaults(release);
    let snapshot = Snapshot::new(Arc::new(cluster), Arc::new(Behavior::of(release, &gates)));
    let profile = Profile::default_for(release, &gates);
    let pending = snapshot.cluster.pod_range().find(|pod| snapshot.cluster.pod(*pod).node_name.is_none());
    if let Some(pod) = pending {
        std::hint::black_box(cycle::schedule(&PodCycle { snapshot: &snapshot, pod, profile: &profile, changed: None }));
    }
    snapshot
}

/// The time of all threads on processors.
fn cpu_time() -> Duration {
    let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let spent = threads.filter_map(|thread| {
        let times = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
        times.split(' ').next()?.parse().ok().map(Duration::from_nanos)
    });
    spent.sum()
}

/// Faults of pages since the process began: of those in memory, of those on disk.
fn page_faults() -> Option<(u64, u64)> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split(' ').collect();
    Some((fields.get(7)?.parse().ok()?, fields.get(9)?.parse().ok()?))
}

/// The first half of a long list's items, as a list; `None` if the first file is not indented as kubectl does it.
fn half(files: &FileTable) -> Option<FileTable> {
    const END: &[u8] = b"\n        }";
    let bytes: &[u8] = &files.files.first()?.bytes;
    let end =
        bytes[..bytes.len() / 2].windows(END.len() + 2).rposition(|it| it.starts_with(END) && it.ends_with(b",\n"))?;
    let list = [&bytes[..end + END.len()], b"\n    ],\n    \"kind\": \"List\"\n}\n"].concat();
    Some(FileTable::from_bytes(vec![("half.json".to_owned(), list)]))
}

fn status_bytes(key: &str) -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(key))?;
    Some(line.split_whitespace().next()?.parse::<usize>().ok()? * 1024)
}

/// Memory that belongs to nobody else: mapped files not counted.
fn private_bytes() -> Option<usize> {
    status_bytes("RssAnon:")
}

/// Runs the work and watches the private memory meanwhile.
fn watched(work: impl FnOnce()) -> Option<usize> {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let mut peak = None;
            while !done.load(Ordering::Relaxed) {
                peak = peak.max(private_bytes());
                std::thread::sleep(Duration::from_millis(2));
            }
            peak
        });
        work();
        done.store(true, Ordering::Relaxed);
        watcher.join().ok().flatten()
    })
}

fn made_up() -> FileTable {
    let pod = |number: usize| {
        let node = number % 100;
        format!(
            "        {{\n            \"apiVersion\": \"v1\",\n            \"kind\": \"Pod\",\n            \"metadata\": {{\n                \
             \"name\": \"pod-{number}\",\n                \"namespace\": \"shop\",\n                \"labels\": {{\n                    \
             \"app\": \"app-{node}\"\n                }}\n            }},\n            \"spec\": {{\n                \
             \"containers\": [\n                    {{\n                        \"name\": \"main\"\n                    }}\n                \
             ],\n                \"nodeName\": \"node-{node}\"\n            }}\n        }}"
        )
    };
    let pods: Vec<String> = (0..50_000).map(pod).collect();
    let text = format!(
        "{{\n    \"apiVersion\": \"v1\",\n    \"items\": [\n{}\n    ],\n    \"kind\": \"List\"\n}}\n",
        pods.join(",\n")
    );
    FileTable::from_bytes(vec![("made-up.json".to_owned(), text.into_bytes())])
}
