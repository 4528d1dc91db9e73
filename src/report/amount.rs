//! Amounts as people write them.

use crate::explain::numbers::Shortfall;
use crate::model::cluster::Cluster;
use crate::model::resources::{ResourceName, Resources};
use crate::model::time::Time;

/// A resource's name.
pub fn resource_name(cluster: &Cluster, resource: ResourceName) -> &str {
    match resource {
        ResourceName::Cpu => "cpu",
        ResourceName::Memory => "memory",
        ResourceName::EphemeralStorage => "ephemeral-storage",
        ResourceName::Pods => "pods",
        ResourceName::HugePages(id) | ResourceName::Scalar(id) => cluster.resource_name(id),
    }
}

/// An amount of a resource: `1900m`, `4`, `6Gi`.
pub fn amount(resource: ResourceName, value: i64) -> String {
    match resource {
        ResourceName::Cpu if value % 1000 == 0 => (value / 1000).to_string(),
        ResourceName::Cpu => format!("{value}m"),
        ResourceName::Memory | ResourceName::EphemeralStorage | ResourceName::HugePages(_) => bytes(value),
        ResourceName::Pods | ResourceName::Scalar(_) => value.to_string(),
    }
}

/// Bytes in the largest unit that leaves a whole number, but never fewer than needed to be exact.
fn bytes(value: i64) -> String {
    for (shift, unit) in [(40, "Ti"), (30, "Gi"), (20, "Mi"), (10, "Ki")] {
        let size = 1_i64 << shift;
        if value != 0 && value % size == 0 {
            return format!("{}{unit}", value / size);
        }
    }
    value.to_string()
}

/// `cpu: 1900m in use + 2 asked > 4`: the arithmetic of one shortfall. `own` is the part of what is in use that the pod
/// in question takes.
pub fn arithmetic(cluster: &Cluster, it: &Shortfall, own: Option<i64>) -> String {
    let of = |value| amount(it.resource, value);
    let used = match own {
        Some(own) => format!("{} others + {} its own", of(it.used.saturating_sub(own)), of(own)),
        None => format!("{} in use", of(it.used)),
    };
    let nominated = match it.nominated {
        0 => String::new(),
        some => format!(" + {} nominated", of(some)),
    };
    let name = resource_name(cluster, it.resource);
    format!("{name} {used}{nominated} + {} asked > {}", of(it.asked), of(it.allocatable))
}

/// How much of one resource there is among several.
pub fn of_resource(resources: &Resources, resource: ResourceName) -> i64 {
    match resource {
        ResourceName::Cpu => resources.milli_cpu,
        ResourceName::Memory => resources.memory,
        ResourceName::EphemeralStorage => resources.ephemeral_storage,
        ResourceName::Pods => 1,
        ResourceName::HugePages(id) | ResourceName::Scalar(id) => resources.scalar(id),
    }
}

/// `3 of the 4 cpu asked for are free`.
pub fn free_of_asked(cluster: &Cluster, it: &Shortfall) -> String {
    let name = resource_name(cluster, it.resource);
    let free = amount(it.resource, it.free().max(0));
    format!("{free} of the {} {name} asked for", amount(it.resource, it.asked))
}

/// A time to the second, as a person reads it.
pub fn clock(time: Time) -> String {
    match jiff::Timestamp::from_second(time.seconds()) {
        Ok(it) => it.strftime("%Y-%m-%d %H:%M:%S").to_string(),
        Err(_) => "-".to_owned(),
    }
}

/// A span of seconds: `210 s`, `35 min`, `5 h`, `12 d`.
pub fn span(seconds: i64) -> String {
    match seconds {
        ..600 => format!("{seconds} s"),
        600..7_200 => format!("{} min", seconds / 60),
        7_200..172_800 => format!("{} h", seconds / 3_600),
        172_800.. => format!("{} d", seconds / 86_400),
    }
}

/// `1 pod`, `2 pods`.
pub fn count(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {}", plural(what)) }
}

/// `pods`, `StorageClasses`, `CSIStorageCapacities`.
pub fn plural(what: &str) -> String {
    match what.strip_suffix('y') {
        Some(stem) => format!("{stem}ies"),
        None if what.ends_with('s') => format!("{what}es"),
        None => format!("{what}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_exact_and_short() {
        assert_eq!(amount(ResourceName::Cpu, 4000), "4");
        assert_eq!(amount(ResourceName::Cpu, 1900), "1900m");
        assert_eq!(amount(ResourceName::Memory, 6 << 30), "6Gi");
        assert_eq!(amount(ResourceName::Memory, (6 << 30) + 1), "6442450945");
        assert_eq!(amount(ResourceName::Memory, 0), "0");
    }
}
