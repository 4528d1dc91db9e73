//! In-tree volumes as the CSI driver sees them to which Kubernetes moved them.
//! Upstream: `csi-translation-lib`, `nodevolumelimits/utils.go` isCSIMigrationOn, `volumebinding/binder.go`.

use crate::kube::behavior::{
    AzureDiskMigration, CinderMigration, EbsMigration, GcePdMigration, PortworxMigration, VolumesBehavior,
};
use crate::model::cluster::Cluster;
use crate::model::id::Symbol;
use crate::model::selector::{NodeRequirement, NodeSelector, NodeSelectorTerm, Operator, Requirement};
use crate::model::volume::{CsiNode, PodVolumeSource, Volume};
use std::borrow::Cow;

/// Stands for a text that no object of the cluster uses: it is no label's key or value.
pub(crate) const UNUSED: Symbol = Symbol::LAST;

/// An in-tree volume plugin that limits and bindings follow to its CSI driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InTreePlugin {
    /// `awsElasticBlockStore`.
    AwsEbs,
    /// `gcePersistentDisk`.
    GcePd,
    /// `azureDisk`.
    AzureDisk,
    /// `cinder`.
    Cinder,
    /// `portworxVolume`.
    Portworx,
}

/// When the volumes of a plugin are their CSI driver's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Migration {
    Never,
    ByAnnotation,
    Always,
}

impl InTreePlugin {
    const ALL: [InTreePlugin; 5] = [
        InTreePlugin::AwsEbs,
        InTreePlugin::GcePd,
        InTreePlugin::AzureDisk,
        InTreePlugin::Cinder,
        InTreePlugin::Portworx,
    ];

    /// The plugin of a volume. The other types of volumes were moved as well, but nothing here depends on it: they are
    /// not attached, or their move was never on by default.
    pub(crate) fn of(source: &PodVolumeSource) -> Option<InTreePlugin> {
        match source {
            PodVolumeSource::AwsElasticBlockStore { .. } => Some(InTreePlugin::AwsEbs),
            PodVolumeSource::GcePersistentDisk { .. } => Some(InTreePlugin::GcePd),
            PodVolumeSource::AzureDisk { .. } => Some(InTreePlugin::AzureDisk),
            PodVolumeSource::Cinder { .. } => Some(InTreePlugin::Cinder),
            PodVolumeSource::Portworx { .. } => Some(InTreePlugin::Portworx),
            PodVolumeSource::Claim(_)
            | PodVolumeSource::Ephemeral(_)
            | PodVolumeSource::AzureFile { .. }
            | PodVolumeSource::Vsphere { .. }
            | PodVolumeSource::Iscsi { .. }
            | PodVolumeSource::Rbd { .. } => None,
        }
    }

    /// The plugin of a StorageClass's provisioner.
    pub(crate) fn by_name(provisioner: &str) -> Option<InTreePlugin> {
        InTreePlugin::ALL.into_iter().find(|plugin| plugin.name() == provisioner)
    }

    /// Its in-tree name, which is also the provisioner of its classes.
    pub(crate) fn name(self) -> &'static str {
        match self {
            InTreePlugin::AwsEbs => "kubernetes.io/aws-ebs",
            InTreePlugin::GcePd => "kubernetes.io/gce-pd",
            InTreePlugin::AzureDisk => "kubernetes.io/azure-disk",
            InTreePlugin::Cinder => "kubernetes.io/cinder",
            InTreePlugin::Portworx => "kubernetes.io/portworx-volume",
        }
    }

    /// The CSI driver that took its volumes over.
    pub(crate) fn driver(self) -> &'static str {
        match self {
            InTreePlugin::AwsEbs => "ebs.csi.aws.com",
            InTreePlugin::GcePd => "pd.csi.storage.gke.io",
            InTreePlugin::AzureDisk => "disk.csi.azure.com",
            InTreePlugin::Cinder => "cinder.csi.openstack.org",
            InTreePlugin::Portworx => "pxd.portworx.com",
        }
    }

    /// The driver's node label for the zone, where a volume's zone is translated to it.
    fn zone_label(self) -> Option<&'static str> {
        match self {
            InTreePlugin::AwsEbs => Some("topology.ebs.csi.aws.com/zone"),
            InTreePlugin::GcePd => Some("topology.gke.io/zone"),
            InTreePlugin::Cinder => Some("topology.cinder.csi.openstack.org/zone"),
            InTreePlugin::AzureDisk | InTreePlugin::Portworx => None,
        }
    }

    fn migration(self, behavior: &VolumesBehavior) -> Migration {
        match self {
            InTreePlugin::AwsEbs => match behavior.ebs_migration {
                EbsMigration::EbsInTree => Migration::Never,
                EbsMigration::EbsByAnnotation => Migration::ByAnnotation,
                EbsMigration::EbsAlways => Migration::Always,
            },
            InTreePlugin::GcePd => match behavior.gce_pd_migration {
                GcePdMigration::GcePdInTree => Migration::Never,
                GcePdMigration::GcePdByAnnotation => Migration::ByAnnotation,
                GcePdMigration::GcePdAlways => Migration::Always,
            },
            InTreePlugin::AzureDisk => match behavior.azure_disk_migration {
                AzureDiskMigration::AzureDiskInTree => Migration::Never,
                AzureDiskMigration::AzureDiskByAnnotation => Migration::ByAnnotation,
                AzureDiskMigration::AzureDiskAlways => Migration::Always,
            },
            InTreePlugin::Cinder => match behavior.cinder_migration {
                CinderMigration::CinderInTree => Migration::Never,
                CinderMigration::CinderByAnnotation => Migration::ByAnnotation,
                CinderMigration::CinderAlways => Migration::Always,
            },
            InTreePlugin::Portworx => match behavior.portworx_migration {
                PortworxMigration::PortworxInTree => Migration::Never,
                PortworxMigration::PortworxByAnnotation => Migration::ByAnnotation,
                PortworxMigration::PortworxAlways => Migration::Always,
            },
        }
    }

    /// Whether volumes of the plugin can be their CSI driver's on some node.
    pub(crate) fn may_be_migrated(self, behavior: &VolumesBehavior) -> bool {
        self.migration(behavior) != Migration::Never
    }

    /// Whether volume limits take the volumes of the plugin for their CSI driver's on a node.
    pub(crate) fn is_migrated_for_limits(
        self,
        behavior: &VolumesBehavior,
        cluster: &Cluster,
        node: Option<&CsiNode>,
    ) -> bool {
        match self.migration(behavior) {
            Migration::Never => false,
            Migration::ByAnnotation => self.is_annotated(cluster, node),
            Migration::Always => node.is_some(),
        }
    }

    /// Whether VolumeBinding does: it wants the annotation in every release.
    pub(crate) fn is_migrated_for_binding(
        self,
        behavior: &VolumesBehavior,
        cluster: &Cluster,
        node: Option<&CsiNode>,
    ) -> bool {
        self.may_be_migrated(behavior) && self.is_annotated(cluster, node)
    }

    fn is_annotated(self, cluster: &Cluster, node: Option<&CsiNode>) -> bool {
        node.is_some_and(|node| node.migrated_plugins.iter().any(|&plugin| cluster.text(plugin) == self.name()))
    }
}

/// The `volumeHandle` of an in-tree volume that a pod names without a claim; `None` where upstream fails to translate it.
pub(crate) fn inline_handle<'a>(cluster: &'a Cluster, source: &PodVolumeSource) -> Option<Cow<'a, str>> {
    handle(cluster, source, &[])
}

/// The `volumeHandle` of an in-tree PersistentVolume; `None` where upstream fails to translate it.
pub(crate) fn volume_handle<'a>(
    cluster: &'a Cluster,
    volume: &Volume,
    source: &PodVolumeSource,
) -> Option<Cow<'a, str>> {
    let label = |key: &str| Some(cluster.text(cluster.label_sets.value(volume.labels, cluster.symbols.get(key)?)?));
    let zones = label(BETA_ZONE).filter(|zones| !zones.is_empty()).or_else(|| label(ZONE)).unwrap_or("");
    let zones: Vec<&str> = if zones.is_empty() { Vec::new() } else { zones.split(ZONE_DELIMITER).collect() };
    handle(cluster, source, &zones)
}

fn handle<'a>(cluster: &'a Cluster, source: &PodVolumeSource, zones: &[&str]) -> Option<Cow<'a, str>> {
    match source {
        PodVolumeSource::AwsElasticBlockStore { volume_id } => ebs_volume(cluster.text(*volume_id)).map(Cow::Borrowed),
        PodVolumeSource::GcePersistentDisk { pd_name, .. } => {
            let place = match zones {
                [] => "zones/UNSPECIFIED".to_owned(),
                [zone] => ["zones/", *zone].concat(),
                [..] => ["regions/", gce_region(zones)?].concat(),
            };
            Some(Cow::Owned(["projects/UNSPECIFIED/", &place, "/disks/", cluster.text(*pd_name)].concat()))
        }
        PodVolumeSource::AzureDisk { disk_uri, .. } => Some(Cow::Borrowed(cluster.text(*disk_uri))),
        PodVolumeSource::Cinder { volume_id } | PodVolumeSource::Portworx { volume_id } => {
            Some(Cow::Borrowed(cluster.text(*volume_id)))
        }
        PodVolumeSource::Claim(_)
        | PodVolumeSource::Ephemeral(_)
        | PodVolumeSource::AzureFile { .. }
        | PodVolumeSource::Vsphere { .. }
        | PodVolumeSource::Iscsi { .. }
        | PodVolumeSource::Rbd { .. } => None,
    }
}

/// `aws://<zone>/vol-…`, `aws:///vol-…` or any text without that scheme. Upstream: `KubernetesVolumeIDToEBSVolumeID`.
fn ebs_volume(id: &str) -> Option<&str> {
    let Some(rest) = id.strip_prefix("aws://") else {
        return Some(id);
    };
    let path = rest.split_once('/').map_or("", |(_, path)| path);
    let path = path.split(['?', '#']).next().unwrap_or("").trim_matches('/');
    (path.starts_with("vol-") && !path.contains('/')).then_some(path)
}

/// The region of zones `region-x`, if they agree. Upstream: `gceGetRegionFromZones`.
fn gce_region<'z>(zones: &[&'z str]) -> Option<&'z str> {
    let region =
        |zone: &'z str| zone.rsplit_once('-').map(|(region, _)| region).filter(|it| it.split('-').count() == 2);
    let first = region(zones.first()?)?;
    zones.iter().all(|zone| region(zone) == Some(first)).then_some(first)
}

const ZONE: &str = "topology.kubernetes.io/zone";
const REGION: &str = "topology.kubernetes.io/region";
const BETA_ZONE: &str = "failure-domain.beta.kubernetes.io/zone";
const BETA_REGION: &str = "failure-domain.beta.kubernetes.io/region";
const ZONE_DELIMITER: &str = "__";

/// The required node affinity of an in-tree volume once it is translated: its zone asks for the driver's own label.
/// Upstream: `translateTopologyFromInTreeToCSI`, as it is since 1.21.
pub(crate) fn translated_affinity(cluster: &Cluster, volume: &Volume, plugin: InTreePlugin) -> Option<NodeSelector> {
    let symbol = |text: &str| cluster.symbols.get(text).unwrap_or(UNUSED);
    let affinity = volume.node_affinity.clone();
    let Some(zone_label) = plugin.zone_label() else {
        return affinity;
    };
    let label = |key: &str| cluster.label_sets.value(volume.labels, symbol(key));
    let has_key = |key: &str| {
        let terms = affinity.iter().flat_map(|it| &it.terms).flat_map(|term| &term.expressions);
        terms.into_iter().any(|one| one.requirement.key == symbol(key))
    };
    let beta = !has_key(ZONE) && (has_key(BETA_ZONE) || (label(ZONE).is_none() && label(BETA_ZONE).is_some()));
    let (zone, region) = if beta { (BETA_ZONE, BETA_REGION) } else { (ZONE, REGION) };
    let mut terms: Vec<NodeSelectorTerm> = affinity.map_or(Vec::new(), |it| it.terms.into_vec());
    if values_of(&terms, symbol(zone)) > 0 {
        replace_key(&mut terms, symbol(zone), symbol(zone_label));
    } else if let Some(zones) = label(zone) {
        add_zones(cluster, &mut terms, symbol(zone_label), cluster.text(zones));
    }
    if beta && values_of(&terms, symbol(region)) > 0 {
        replace_key(&mut terms, symbol(region), symbol(REGION));
    }
    (volume.node_affinity.is_some() || !terms.is_empty()).then(|| NodeSelector { terms: terms.into() })
}

fn values_of(terms: &[NodeSelectorTerm], key: Symbol) -> usize {
    let all = terms.iter().flat_map(|term| &term.expressions);
    all.filter(|one| one.requirement.key == key).map(|one| one.requirement.values.len()).sum()
}

fn replace_key(terms: &mut [NodeSelectorTerm], old: Symbol, new: Symbol) {
    for one in terms.iter_mut().flat_map(|term| &mut term.expressions) {
        if one.requirement.key == old {
            one.requirement.key = new;
        }
    }
}

/// Adds the zones of a volume's label to every term, making one where there is none.
fn add_zones(cluster: &Cluster, terms: &mut Vec<NodeSelectorTerm>, key: Symbol, zones: &str) {
    let zones: Vec<&str> = zones.split(ZONE_DELIMITER).map(str::trim).filter(|zone| !zone.is_empty()).collect();
    if zones.is_empty() {
        return;
    }
    let mut values: Vec<Symbol> = zones.iter().map(|zone| cluster.symbols.get(zone).unwrap_or(UNUSED)).collect();
    values.sort_unstable();
    values.dedup();
    if terms.is_empty() {
        terms.push(NodeSelectorTerm { expressions: Box::default(), fields: Box::default(), invalid: false });
    }
    let requirement = Requirement { key, operator: Operator::In, values: values.into() };
    for term in terms {
        let mut expressions = std::mem::take(&mut term.expressions).into_vec();
        expressions.push(NodeRequirement { requirement: requirement.clone(), number: None });
        term.expressions = expressions.into();
    }
}
