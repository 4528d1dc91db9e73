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
    /// Any scalar name. Upstream: `schedutil.IsScalarResourceName`.
    Scalar(ResourceId),
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
