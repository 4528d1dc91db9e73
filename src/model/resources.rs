//! Resource names, lists of quantities, and the integers the scheduler computes with.

use super::id::ResourceId;
use super::quantity::Quantity;

/// A resource that the scheduler knows. Other names (no slash, no known prefix) are dropped when a dump is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ResourceName {
    /// `cpu`.
    Cpu,
    /// `memory`.
    Memory,
    /// `ephemeral-storage`.
    EphemeralStorage,
    /// `pods`; only in a node's allocatable.
    Pods,
    /// A scalar of huge pages, `hugepages-…`: besides cpu and memory the only kind that counts for a pod as a whole.
    HugePages(ResourceId),
    /// Any other scalar name. Upstream: `schedutil.IsScalarResourceName`.
    Scalar(ResourceId),
}

impl ResourceName {
    /// The id of a scalar.
    pub(crate) fn scalar(self) -> Option<ResourceId> {
        match self {
            ResourceName::HugePages(id) | ResourceName::Scalar(id) => Some(id),
            ResourceName::Cpu | ResourceName::Memory | ResourceName::EphemeralStorage | ResourceName::Pods => None,
        }
    }
}

/// What a resource's name makes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ResourceClass {
    /// `cpu`.
    Cpu,
    /// `memory`.
    Memory,
    /// `ephemeral-storage`.
    EphemeralStorage,
    /// `pods`.
    Pods,
    /// A scalar of huge pages, `hugepages-…`.
    HugePages,
    /// A scalar that device plugins and administrators may name: `example.com/gpu`.
    Extended,
    /// Another scalar: `kubernetes.io/…`, `attachable-volumes-…`.
    OtherScalar,
    /// None that the scheduler knows; it is passed over in requests and allocatable.
    Unknown,
}

/// What a resource's name makes of it. Upstream: `IsScalarResourceName`, `IsExtendedResourceName`.
pub fn classify(name: &str) -> ResourceClass {
    match name {
        "cpu" => ResourceClass::Cpu,
        "memory" => ResourceClass::Memory,
        "ephemeral-storage" => ResourceClass::EphemeralStorage,
        "pods" => ResourceClass::Pods,
        _ if name.starts_with("hugepages-") => ResourceClass::HugePages,
        _ if is_extended(name) => ResourceClass::Extended,
        _ if name.contains("kubernetes.io/") || name.starts_with("attachable-volumes-") => ResourceClass::OtherScalar,
        _ => ResourceClass::Unknown,
    }
}

fn is_extended(name: &str) -> bool {
    !name.contains("kubernetes.io/") && !name.starts_with("requests.") && is_qualified_quota_name(name)
}

/// Whether the name with `requests.` before it, as quota names it, is qualified: `prefix/name`, both parts well-formed.
fn is_qualified_quota_name(name: &str) -> bool {
    let Some((prefix, last)) = name.split_once('/') else { return false };
    let word = |part: &str, longest: usize, between: fn(u8) -> bool| {
        let bytes = part.as_bytes();
        (1..=longest).contains(&bytes.len())
            && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || between(*byte))
            && bytes[0].is_ascii_alphanumeric()
            && bytes[bytes.len() - 1].is_ascii_alphanumeric()
    };
    let dns_label =
        |part: &str| word(part, 253, |byte| byte == b'-') && !part.bytes().any(|it| it.is_ascii_uppercase());
    word(last, 63, |byte| matches!(byte, b'-' | b'_' | b'.'))
        && prefix.len() + "requests.".len() <= 253
        && prefix.split('.').all(dns_label)
}

/// A `v1.ResourceList`, sorted by name, each name once.
pub type ResourceList = Box<[(ResourceName, Quantity)]>;

/// What a pod asks for, or a node has, in the integers upstream computes with. Upstream: `framework.Resource`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Resources {
    /// Thousandths of a CPU.
    pub milli_cpu: i64,
    /// Bytes.
    pub memory: i64,
    /// Bytes.
    pub ephemeral_storage: i64,
    /// Allocatable pods; 0 in a request.
    pub pods: i64,
    /// Scalars in whole units, sorted by id. An entry of 0 is not the same as no entry.
    pub scalars: Vec<(ResourceId, i64)>,
}

impl Resources {
    /// The amount of a scalar; 0 where there is no entry.
    pub fn scalar(&self, id: ResourceId) -> i64 {
        self.scalars.binary_search_by_key(&id, |entry| entry.0).map_or(0, |at| self.scalars[at].1)
    }

    /// Becomes equal to another, in the room it has.
    pub fn copy_from(&mut self, other: &Resources) {
        let mut scalars = std::mem::take(&mut self.scalars);
        scalars.clear();
        scalars.extend_from_slice(&other.scalars);
        let Resources { milli_cpu, memory, ephemeral_storage, pods, scalars: _ } = *other;
        *self = Resources { milli_cpu, memory, ephemeral_storage, pods, scalars };
    }

    /// Adds a request; wraps as Go does.
    pub fn add(&mut self, more: &Resources) {
        self.milli_cpu = self.milli_cpu.wrapping_add(more.milli_cpu);
        self.memory = self.memory.wrapping_add(more.memory);
        self.ephemeral_storage = self.ephemeral_storage.wrapping_add(more.ephemeral_storage);
        for &(id, amount) in &more.scalars {
            self.add_scalar(id, amount);
        }
    }

    /// Takes a request away; wraps as Go does.
    pub fn subtract(&mut self, less: &Resources) {
        self.milli_cpu = self.milli_cpu.wrapping_sub(less.milli_cpu);
        self.memory = self.memory.wrapping_sub(less.memory);
        self.ephemeral_storage = self.ephemeral_storage.wrapping_sub(less.ephemeral_storage);
        for &(id, amount) in &less.scalars {
            self.add_scalar(id, amount.wrapping_neg());
        }
    }

    /// Adds to one scalar, making the entry where there is none.
    pub fn add_scalar(&mut self, id: ResourceId, amount: i64) {
        match self.scalars.binary_search_by_key(&id, |entry| entry.0) {
            Ok(at) => self.scalars[at].1 = self.scalars[at].1.wrapping_add(amount),
            Err(at) => self.scalars.insert(at, (id, amount)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_apart_as_upstream_does() {
        let rows = [
            ("cpu", ResourceClass::Cpu),
            ("pods", ResourceClass::Pods),
            ("hugepages-2Mi", ResourceClass::HugePages),
            ("nvidia.com/gpu", ResourceClass::Extended),
            ("example.com/a_b.c-D", ResourceClass::Extended),
            ("kubernetes.io/batch", ResourceClass::OtherScalar),
            ("pool.kubernetes.io/x", ResourceClass::OtherScalar),
            ("attachable-volumes-aws-ebs", ResourceClass::OtherScalar),
            ("foo", ResourceClass::Unknown),
            ("storage", ResourceClass::Unknown),
            ("requests.nvidia.com/gpu", ResourceClass::Unknown),
            ("example.com/", ResourceClass::Unknown),
            ("Example.com/gpu", ResourceClass::Unknown),
            ("a/b/c", ResourceClass::Unknown),
        ];
        for (name, class) in rows {
            assert_eq!(classify(name), class, "{name}");
        }
    }
}
