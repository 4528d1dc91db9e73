//! A cluster as sections that are written and read by all processors at once.
//!
//! Strings and their hash table are copied as they are. What pods share, their specs and what they ask for, stands in
//! tables of its own, so that pods of one template share it again; a pod is a row of ids, and may be read without those
//! before it.

use super::Damaged;
use super::wire::{In, Sizes, Wire, put_all, put_length};
use crate::model::cluster::{Cluster, Coverage, Namespace, Origin, SelectorOwner};
use crate::model::id::{LabelSetId, NamespaceId, NodeId, Symbol};
use crate::model::labels::LabelSets;
use crate::model::node::Node;
use crate::model::pdb::{Pdb, PriorityClass};
use crate::model::pod::{Disruption, Phase, Pod, PodSpec, RequestParts};
use crate::model::symbols::Symbols;
use crate::model::time::Time;
use crate::model::uid::Uid;
use crate::model::volume::Storage;
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The sections of a cluster.
pub(super) const SECTIONS: usize = 5;

/// How many entries the tables of a cluster have.
pub(super) fn sizes(cluster: &Cluster, files: usize) -> Sizes {
    let size = |length: usize| u32::try_from(length).expect("no table outgrows its ids");
    Sizes {
        symbols: size(cluster.symbols.len()),
        label_sets: size(cluster.label_sets.len()),
        namespaces: size(cluster.namespaces.len()),
        nodes: size(cluster.nodes.len()),
        pods: size(cluster.pods.len()),
        resources: size(cluster.resources.len()),
        files: size(files),
    }
}

/// Writes a cluster.
pub(super) fn put(cluster: &Cluster) -> [Vec<u8>; SECTIONS] {
    let shared = Shared::of(cluster);
    let (mut symbols, mut labels, mut tables, mut rest) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    put_symbols(&cluster.symbols, &mut symbols);
    put_length(cluster.label_sets.len(), &mut labels);
    cluster.label_sets.ids().for_each(|id| put_all(cluster.label_sets.pairs(id), &mut labels));
    shared.put(&mut tables);
    put_rest(cluster, &mut rest);
    [symbols, labels, tables, put_pods(cluster, &shared), rest]
}

/// Reads a cluster.
pub(super) fn take(sections: [&[u8]; SECTIONS], sizes: Sizes) -> Result<Cluster, Damaged> {
    let [symbols, labels, tables, pods, rest] = sections;
    let section = |bytes| In::new(bytes, sizes);
    let texts = || {
        let labels = || whole(section(labels), take_labels);
        rayon::join(|| take_symbols(symbols, sizes), labels)
    };
    let objects = || {
        let pods = || -> Result<Vec<Pod>, Damaged> { take_pods(pods, &whole(section(tables), Tables::take)?, sizes) };
        rayon::join(pods, || whole(section(rest), take_rest))
    };
    let ((symbols, label_sets), (pods, rest)) = rayon::join(texts, objects);
    let mut cluster = Cluster { symbols: symbols?, label_sets: label_sets?, pods: pods?, ..rest? };
    let lengths = self::sizes(&cluster, sizes.files as usize);
    if lengths != sizes {
        return Err(Damaged);
    }
    cluster.node_ids = cluster.nodes.iter().enumerate().map(|(at, node)| (node.name, NodeId::at(at))).collect();
    cluster.storage.index();
    Ok(cluster)
}

fn whole<'b, T>(mut from: In<'b>, take: impl FnOnce(&mut In<'b>) -> Result<T, Damaged>) -> Result<T, Damaged> {
    let value = take(&mut from)?;
    from.end()?;
    Ok(value)
}

fn put_symbols(symbols: &Symbols, out: &mut Vec<u8>) {
    let (buffer, ends, slots) = symbols.parts();
    put_length(ends.len(), out);
    put_length(slots.len(), out);
    out.extend(ends.iter().flat_map(|end| (*end as u64).to_le_bytes()));
    out.extend(slots.iter().flat_map(|slot| slot.to_le_bytes()));
    out.extend_from_slice(buffer.as_bytes());
}

fn take_symbols(bytes: &[u8], sizes: Sizes) -> Result<Symbols, Damaged> {
    let mut from = In::new(bytes, sizes);
    let (ends, slots) = (from.take::<u32>()? as usize, from.take::<u32>()? as usize);
    let mut numbers = |count: usize| -> Result<Vec<u64>, Damaged> {
        let (numbers, _) = from.bytes(count.checked_mul(8).ok_or(Damaged)?)?.as_chunks();
        Ok(numbers.iter().map(|it| u64::from_le_bytes(*it)).collect())
    };
    let (ends, slots) = (numbers(ends)?, numbers(slots)?);
    let rest = bytes.len() - 8 - 8 * (ends.len() + slots.len());
    let buffer = String::from_utf8(from.bytes(rest)?.to_vec()).ok().ok_or(Damaged)?;
    let ends = ends.into_iter().map(|it| usize::try_from(it).ok()).collect::<Option<Vec<usize>>>().ok_or(Damaged)?;
    Symbols::from_parts(buffer, ends, slots).ok_or(Damaged)
}

fn take_labels(from: &mut In<'_>) -> Result<LabelSets, Damaged> {
    let sets: Vec<Vec<(Symbol, Symbol)>> = from.take()?;
    LabelSets::from_sets(sets.into_iter().map(Arc::from).collect()).ok_or(Damaged)
}

/// What pods share, each once, by number.
#[derive(Default)]
struct Shared<'c> {
    specs: Vec<&'c PodSpec>,
    spec_numbers: FxHashMap<*const PodSpec, u32>,
    /// By their bytes: equal amounts may be written differently.
    requests: Vec<Vec<u8>>,
    request_numbers: FxHashMap<Vec<u8>, u32>,
    messages: Vec<&'c Arc<str>>,
    message_numbers: FxHashMap<&'c str, u32>,
    /// Of each pod.
    numbers: Vec<Numbers>,
}

/// Where a pod's shared parts stand.
#[derive(Clone, Copy)]
struct Numbers {
    spec: u32,
    requests: u32,
    message: Option<u32>,
}

fn number_of(length: usize) -> u32 {
    u32::try_from(length).expect("no table outgrows its ids")
}

impl<'c> Shared<'c> {
    fn of(cluster: &'c Cluster) -> Self {
        let mut shared = Shared::default();
        for pod in &cluster.pods {
            let numbers = shared.numbers_of(pod);
            shared.numbers.push(numbers);
        }
        shared
    }

    fn numbers_of(&mut self, pod: &'c Pod) -> Numbers {
        let Shared { specs, spec_numbers, requests, request_numbers, messages, message_numbers, .. } = self;
        let spec = *spec_numbers.entry(Arc::as_ptr(&pod.spec)).or_insert_with(|| {
            specs.push(&pod.spec);
            number_of(specs.len() - 1)
        });
        let mut bytes = Vec::new();
        pod.requests.put(&mut bytes);
        let parts = *request_numbers.entry(bytes).or_insert_with_key(|bytes| {
            requests.push(bytes.clone());
            number_of(requests.len() - 1)
        });
        let message = pod.scheduled_message.as_ref().map(|message| {
            *message_numbers.entry(message).or_insert_with(|| {
                messages.push(message);
                number_of(messages.len() - 1)
            })
        });
        Numbers { spec, requests: parts, message }
    }

    fn put(&self, out: &mut Vec<u8>) {
        put_length(self.specs.len(), out);
        self.specs.iter().for_each(|it| it.put(out));
        put_length(self.requests.len(), out);
        self.requests.iter().for_each(|it| out.extend_from_slice(it));
        put_length(self.messages.len(), out);
        self.messages.iter().for_each(|it| it.put(out));
    }
}

/// What pods share, by number.
struct Tables {
    specs: Vec<Arc<PodSpec>>,
    requests: Vec<Arc<RequestParts>>,
    messages: Vec<Arc<str>>,
}

impl Tables {
    fn take(from: &mut In<'_>) -> Result<Self, Damaged> {
        let specs: Vec<PodSpec> = from.take()?;
        let requests: Vec<RequestParts> = from.take()?;
        Ok(Tables {
            specs: specs.into_iter().map(Arc::new).collect(),
            requests: requests.into_iter().map(Arc::new).collect(),
            messages: from.take()?,
        })
    }
}

/// The rows of all pods, each behind the last, and before them where each ends.
fn put_pods(cluster: &Cluster, shared: &Shared<'_>) -> Vec<u8> {
    let row = |(pod, numbers): (&Pod, &Numbers)| {
        let mut row = Vec::with_capacity(128);
        put_pod(pod, *numbers, &mut row);
        row
    };
    let rows: Vec<Vec<u8>> = cluster.pods.par_iter().zip(&shared.numbers).map(row).collect();
    let mut out = Vec::new();
    let mut end = 0_u64;
    for row in &rows {
        end += row.len() as u64;
        end.put(&mut out);
    }
    rows.iter().for_each(|row| out.extend_from_slice(row));
    out
}

fn take_pods(bytes: &[u8], tables: &Tables, sizes: Sizes) -> Result<Vec<Pod>, Damaged> {
    let count = sizes.pods as usize;
    let (ends, rows) = bytes.split_at_checked(count.checked_mul(8).ok_or(Damaged)?).ok_or(Damaged)?;
    let (ends, _) = ends.as_chunks::<8>();
    let end = |at: usize| usize::try_from(u64::from_le_bytes(ends[at])).ok();
    let span = |at: usize| -> Option<Range<usize>> { Some(if at == 0 { 0 } else { end(at - 1)? }..end(at)?) };
    if count.checked_sub(1).map_or(Some(0), end) != Some(rows.len()) {
        return Err(Damaged);
    }
    let read = |at: usize| -> Result<Pod, Damaged> {
        let row = rows.get(span(at).ok_or(Damaged)?).ok_or(Damaged)?;
        whole(In::new(row, sizes), |from| take_pod(from, tables))
    };
    let Some(first) = (count > 0).then(|| read(0)).transpose()? else { return Ok(Vec::new()) };
    // A vector is filled in place only where nothing may fail: a damaged row is stood in for, and remembered.
    let damaged = AtomicBool::new(false);
    let row = |at: usize| {
        read(at).unwrap_or_else(|Damaged| {
            damaged.store(true, Ordering::Relaxed);
            first.clone()
        })
    };
    let pods: Vec<Pod> = (0..count).into_par_iter().with_min_len(1024).map(row).collect();
    if damaged.into_inner() { Err(Damaged) } else { Ok(pods) }
}

fn put_pod(pod: &Pod, numbers: Numbers, out: &mut Vec<u8>) {
    let Pod {
        namespace,
        name,
        uid,
        labels,
        spec_priority,
        priority_class,
        node_name,
        node,
        nominated_node_name,
        phase,
        created,
        deleted,
        grace_seconds,
        started,
        disruption,
        owner,
        requests: _,
        spec: _,
        mirror,
        status_missing,
        scheduled_message: _,
        origin,
    } = pod;
    (*namespace, *name).put(out);
    (*uid, *labels).put(out);
    (*spec_priority, *priority_class).put(out);
    (*node_name, *node).put(out);
    (*nominated_node_name, *phase).put(out);
    (*created, *deleted).put(out);
    (*grace_seconds, *started).put(out);
    (*disruption, *owner).put(out);
    (*mirror, *status_missing).put(out);
    origin.put(out);
    (numbers.spec, numbers.requests).put(out);
    numbers.message.put(out);
}

fn take_pod(from: &mut In<'_>, tables: &Tables) -> Result<Pod, Damaged> {
    let (namespace, name) = from.take::<(NamespaceId, Symbol)>()?;
    let (uid, labels) = from.take::<(Option<Uid>, LabelSetId)>()?;
    let (spec_priority, priority_class) = from.take::<(Option<i32>, Option<Symbol>)>()?;
    let (node_name, node) = from.take::<(Option<Symbol>, Option<NodeId>)>()?;
    let (nominated_node_name, phase) = from.take::<(Option<Symbol>, Phase)>()?;
    let (created, deleted) = from.take::<(Option<Time>, Option<Time>)>()?;
    let (grace_seconds, started) = from.take::<(Option<i64>, Option<Time>)>()?;
    let (disruption, owner) = from.take::<(Disruption, _)>()?;
    let (mirror, status_missing) = from.take::<(bool, bool)>()?;
    let origin = from.take::<Origin>()?;
    let (spec, requests) = from.take::<(u32, u32)>()?;
    let message = from.take::<Option<u32>>()?;
    let message = message.map(|it| tables.messages.get(it as usize).ok_or(Damaged)).transpose()?;
    Ok(Pod {
        namespace,
        name,
        uid,
        labels,
        spec_priority,
        priority_class,
        node_name,
        node,
        nominated_node_name,
        phase,
        created,
        deleted,
        grace_seconds,
        started,
        disruption,
        owner,
        requests: Arc::clone(tables.requests.get(requests as usize).ok_or(Damaged)?),
        spec: Arc::clone(tables.specs.get(spec as usize).ok_or(Damaged)?),
        mirror,
        status_missing,
        scheduled_message: message.map(Arc::clone),
        origin,
    })
}

/// Everything but strings, labels and pods.
fn put_rest(cluster: &Cluster, out: &mut Vec<u8>) {
    let Cluster {
        symbols: _,
        label_sets: _,
        nodes,
        pods: _,
        pdbs,
        priority_classes,
        namespaces,
        storage,
        selector_owners,
        resources,
        coverage,
        as_of,
        node_ids: _,
    } = cluster;
    nodes.put(out);
    pdbs.put(out);
    priority_classes.put(out);
    namespaces.put(out);
    storage.claims.put(out);
    storage.volumes.put(out);
    storage.classes.put(out);
    storage.csi_nodes.put(out);
    storage.csi_drivers.put(out);
    storage.capacities.put(out);
    storage.attachments.put(out);
    selector_owners.put(out);
    resources.put(out);
    coverage.put(out);
    as_of.put(out);
}

fn take_rest(from: &mut In<'_>) -> Result<Cluster, Damaged> {
    let mut cluster = Cluster {
        nodes: from.take::<Vec<Node>>()?,
        pdbs: from.take::<Vec<Pdb>>()?,
        priority_classes: from.take::<Vec<PriorityClass>>()?,
        namespaces: from.take::<Vec<Namespace>>()?,
        ..Cluster::default()
    };
    let mut storage = Storage::default();
    storage.claims = from.take()?;
    storage.volumes = from.take()?;
    storage.classes = from.take()?;
    storage.csi_nodes = from.take()?;
    storage.csi_drivers = from.take()?;
    storage.capacities = from.take()?;
    storage.attachments = from.take()?;
    cluster.storage = storage;
    cluster.selector_owners = from.take::<Vec<SelectorOwner>>()?;
    cluster.resources = from.take::<Vec<Symbol>>()?;
    cluster.coverage = from.take::<Vec<Coverage>>()?;
    cluster.as_of = from.take()?;
    Ok(cluster)
}
