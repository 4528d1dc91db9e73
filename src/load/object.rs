//! One object's JSON to the model, by kind.

use super::fault::{self, Fault};
use super::meta::Meta;
use super::node::RawNode;
use super::objects::{self, Parts, RawPriorityClass};
use super::pod::RawPod;
use super::primitive::{Seen, Text, filled};
use super::remap::Links;
use super::storage::{self, RawCapacity, RawStorageClass};
use super::tables::{DEFAULT_NAMESPACE, Tables};
use crate::model::cluster::{Kind, Origin, SelectorOwner, SelectorOwnerKind};
use crate::model::id::{LabelSetId, Symbol};
use crate::model::node::Node;
use crate::model::pdb::{Pdb, PriorityClass};
use crate::model::pod::Pod;
use crate::model::time::Time;
use crate::model::uid::Uid;
use crate::model::volume::{Claim, CsiDriver, CsiNode, CsiStorageCapacity, StorageClass, Volume, VolumeAttachment};
use serde::Deserialize;

/// What an object says, in the ids of the tables it was read into.
#[derive(Debug)]
pub(super) enum Fact {
    Node(Box<Node>),
    Pod(Box<Pod>, Links),
    Pdb(Box<Pdb>),
    PriorityClass(Box<PriorityClass>),
    Namespace(LabelSetId),
    Volume(Box<Volume>),
    Claim(Box<Claim>),
    Class(Box<StorageClass>),
    CsiNode(Box<CsiNode>),
    CsiDriver(Box<CsiDriver>),
    Capacity(Box<CsiStorageCapacity>),
    Attachment(Box<VolumeAttachment>),
    Owner(Box<SelectorOwner>),
    /// An object of a kind that is only counted.
    Counted,
}

/// An object that was read.
pub(super) struct Object {
    /// Its namespace; `None` for kinds that live in none.
    pub(super) namespace: Option<Symbol>,
    pub(super) name: Symbol,
    /// `metadata.resourceVersion`, where it is a number.
    pub(super) version: Option<u64>,
    /// `metadata.uid` of kinds whose fact does not hold it.
    pub(super) uid: Option<Uid>,
    /// The newest time it carries.
    pub(super) newest: Option<Time>,
    /// How many pods of its namespace it says there are.
    pub(super) claims: u64,
    pub(super) fact: Fact,
    /// A part of it that could not be read.
    pub(super) damage: Option<Fault>,
}

/// How a text begins that is to be read.
#[derive(Clone, Copy)]
pub(super) struct Source<'b> {
    pub(super) json: &'b [u8],
    pub(super) kind: Kind,
    pub(super) api_version: &'b str,
    pub(super) origin: Origin,
    /// Its keys were followed before. Otherwise it may still name another kind, or turn out to be another thing.
    pub(super) followed: bool,
    /// Only `serde_json` may read it.
    pub(super) plainly: bool,
}

impl<'b> Source<'b> {
    fn read<T: Deserialize<'b>>(self) -> Result<T, Fault> {
        if self.plainly { fault::read_plainly(self.json) } else { fault::read(self.json) }
    }
}

/// Why an object was not read.
pub(super) enum Refusal {
    /// It is damaged.
    Damaged(Fault),
    /// It is not what it was taken for.
    OtherKind,
}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Self {
        Refusal::Damaged(fault)
    }
}

/// Reads an object.
pub(super) fn read(source: Source<'_>, tables: &mut Tables) -> Result<Object, Refusal> {
    let Source { kind, origin, .. } = source;
    let other_kind = |own: Option<&Text<'_>>, python: Seen| {
        let other = python.0 || own.is_some_and(|own| **own != *kind.name());
        if !source.followed && other { Err(Refusal::OtherKind) } else { Ok(()) }
    };
    match kind {
        Kind::Node => {
            let raw: RawNode<'_> = source.read()?;
            other_kind(raw.kind.as_ref(), raw.python)?;
            let head = Head::of(kind, raw.metadata.as_ref(), tables)?;
            Ok(head.object(Fact::Node(Box::new(raw.convert(origin, tables))), raw.newest()))
        }
        Kind::Pod => {
            let raw: RawPod<'_> = source.read()?;
            other_kind(raw.kind.as_ref(), raw.python)?;
            let head = Head::of(kind, raw.metadata.as_ref(), tables)?;
            let namespace = head.namespace.unwrap_or_else(|| tables.symbol(DEFAULT_NAMESPACE));
            let (pod, links) = raw.convert((namespace, head.name), origin, tables);
            Ok(head.object(Fact::Pod(Box::new(pod), links), raw.newest()))
        }
        Kind::PriorityClass => {
            let raw: RawPriorityClass<'_> = source.read()?;
            let head = Head::of(kind, raw.metadata.as_ref(), tables)?;
            let fact = Fact::PriorityClass(Box::new(raw.convert(origin, tables)));
            Ok(head.object(fact, raw.metadata.as_ref().and_then(Meta::newest)))
        }
        Kind::StorageClass => {
            let raw: RawStorageClass<'_> = source.read()?;
            let head = Head::of(kind, raw.metadata.as_ref(), tables)?;
            let fact = Fact::Class(Box::new(raw.convert(origin, tables)));
            Ok(head.object(fact, raw.metadata.as_ref().and_then(Meta::newest)))
        }
        Kind::CsiStorageCapacity => {
            let raw: RawCapacity<'_> = source.read()?;
            let head = Head::of(kind, raw.metadata.as_ref(), tables)?;
            let fact = Fact::Capacity(Box::new(raw.convert(tables)));
            Ok(head.object(fact, raw.metadata.as_ref().and_then(Meta::newest)))
        }
        Kind::Event => {
            let raw: RawEvent<'_> = source.read()?;
            let head = Head::of(kind, raw.metadata.as_ref(), tables)?;
            Ok(head.object(Fact::Counted, raw.newest()))
        }
        _ => Ok(read_parts(source, tables)?),
    }
}

/// Reads an object of a kind whose parts are read one by one.
fn read_parts(source: Source<'_>, tables: &mut Tables) -> Result<Object, Fault> {
    let Source { json, kind, origin, .. } = source;
    // The parts stay text, which `serde_json` alone knows how to give.
    let parts: Parts<'_> = fault::read_plainly(json)?;
    let metadata = parts.metadata.as_ref();
    let head = Head::of(kind, metadata, tables)?;
    let mut damage = None;
    let mut owner = |kind| objects::selector_owner(&parts, json, kind, tables).map(|it| Fact::Owner(Box::new(it)));
    let fact = match kind {
        Kind::Service => owner(SelectorOwnerKind::Service)?,
        Kind::ReplicationController => owner(SelectorOwnerKind::ReplicationController)?,
        Kind::ReplicaSet => owner(SelectorOwnerKind::ReplicaSet)?,
        Kind::StatefulSet => owner(SelectorOwnerKind::StatefulSet)?,
        Kind::PodDisruptionBudget => {
            let v1beta1 = source.api_version == "policy/v1beta1";
            let (pdb, fault) = objects::pdb(&parts, json, v1beta1, origin, tables)?;
            damage = fault;
            Fact::Pdb(Box::new(pdb))
        }
        Kind::Namespace => Fact::Namespace(tables.labels(metadata.and_then(|metadata| metadata.labels.as_ref()))),
        Kind::PersistentVolume => Fact::Volume(Box::new(storage::volume(&parts, json, origin, tables)?)),
        Kind::PersistentVolumeClaim => Fact::Claim(Box::new(storage::claim(&parts, json, origin, tables)?)),
        Kind::CsiNode => Fact::CsiNode(Box::new(storage::csi_node(&parts, json, tables)?)),
        Kind::CsiDriver => Fact::CsiDriver(Box::new(storage::csi_driver(&parts, json, tables)?)),
        Kind::VolumeAttachment => Fact::Attachment(Box::new(storage::attachment(&parts, json, tables)?)),
        // Counted only, or read whole.
        Kind::ResourceClaim
        | Kind::ResourceSlice
        | Kind::DeviceClass
        | Kind::DeviceTaintRule
        | Kind::PodGroup
        | Kind::Event
        | Kind::Node
        | Kind::Pod
        | Kind::PriorityClass
        | Kind::StorageClass
        | Kind::CsiStorageCapacity => Fact::Counted,
    };
    let claims = match &fact {
        Fact::Pdb(pdb) => pdb.health.map_or(0, |health| u64::try_from(health.current).unwrap_or(0)),
        Fact::Owner(_) => objects::replicas(&parts, json),
        _ => 0,
    };
    Ok(Object { claims, damage, ..head.object(fact, metadata.and_then(Meta::newest)) })
}

/// What identifies an object.
struct Head {
    namespace: Option<Symbol>,
    name: Symbol,
    version: Option<u64>,
    uid: Option<Uid>,
}

impl Head {
    fn of(kind: Kind, metadata: Option<&Meta<'_>>, tables: &mut Tables) -> Result<Self, Fault> {
        let name = metadata.and_then(|metadata| filled(metadata.name.as_ref()));
        let (Some(metadata), Some(name)) = (metadata, name) else {
            return Err(Fault::new(0, "`metadata.name` is missing"));
        };
        let namespace = kind.is_namespaced().then(|| tables.symbol(metadata.namespace()));
        // Of nodes and pods the fact tells, and nobody asks for that of an Event.
        let tells = !matches!(kind, Kind::Node | Kind::Pod | Kind::Event);
        let uid = metadata.uid.as_ref().filter(|_| tells);
        let (name, uid) = (tables.symbol(name), tables.uid(uid));
        Ok(Head { namespace, name, version: metadata.version(), uid })
    }

    fn object(self, fact: Fact, newest: Option<Time>) -> Object {
        let Head { namespace, name, version, uid } = self;
        Object { namespace, name, version, uid, newest, claims: 0, fact, damage: None }
    }
}

/// `v1` and `events.k8s.io` Events: only when.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawEvent<'a> {
    #[serde(borrow, default)]
    metadata: Option<Meta<'a>>,
    #[serde(default)]
    last_timestamp: Option<Time>,
    #[serde(default)]
    deprecated_last_timestamp: Option<Time>,
    #[serde(default)]
    event_time: Option<Time>,
}

impl RawEvent<'_> {
    fn newest(&self) -> Option<Time> {
        let seen = self.last_timestamp.max(self.deprecated_last_timestamp).max(self.event_time);
        seen.max(self.metadata.as_ref().and_then(Meta::newest))
    }
}

/// `Pod shop/web-0`, or less where the object does not say.
pub(super) fn title(kind: Kind, namespace: Option<&str>, name: Option<&str>) -> String {
    match (namespace, name) {
        (_, None) => format!("{} without a readable name", kind.name()),
        (None, Some(name)) => format!("{} {name}", kind.name()),
        (Some(namespace), Some(name)) => format!("{} {namespace}/{name}", kind.name()),
    }
}

/// The title of an object that could not be read whole.
pub(super) fn title_of(kind: Kind, json: &[u8]) -> String {
    #[derive(Default, Deserialize)]
    struct Names<'a> {
        #[serde(borrow, default)]
        name: Option<Text<'a>>,
        #[serde(borrow, default)]
        namespace: Option<Text<'a>>,
    }
    #[derive(Default, Deserialize)]
    struct Named<'a> {
        #[serde(borrow, default)]
        metadata: Option<Names<'a>>,
    }
    let named: Option<Named<'_>> = serde_json::from_slice(json).ok();
    // Where it is no JSON further on, what stands before that may still be.
    let first = || {
        let rest = &json[memchr::memmem::find(json, b"\"metadata\":")? + "\"metadata\":".len()..];
        serde_json::Deserializer::from_slice(rest).into_iter::<Names<'_>>().next()?.ok()
    };
    let names = named.and_then(|it| it.metadata).or_else(first).unwrap_or_default();
    let namespace = filled(names.namespace.as_ref()).filter(|_| kind.is_namespaced());
    title(kind, namespace, filled(names.name.as_ref()))
}
