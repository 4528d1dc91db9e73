//! Volumes of pods, and the same sources in PersistentVolumes.

use super::primitive::{Text, filled};
use super::tables::Tables;
use crate::model::volume::{PodVolume, PodVolumeSource};
use serde::Deserialize;
use serde::de::IgnoredAny;

/// `v1.Volume`, the sources that some filter looks at. `v1.PersistentVolumeSource` has the same disks. Every pod has a
/// volume and next to none has a disk, so these are boxed.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RawPodVolume<'a> {
    #[serde(borrow, default)]
    name: Option<Text<'a>>,
    #[serde(borrow, default)]
    persistent_volume_claim: Option<RawClaimVolume<'a>>,
    #[serde(default)]
    ephemeral: Option<IgnoredAny>,
    #[serde(borrow, default)]
    gce_persistent_disk: Option<Box<RawGceDisk<'a>>>,
    #[serde(borrow, default)]
    aws_elastic_block_store: Option<Box<RawVolumeId<'a>>>,
    #[serde(borrow, default)]
    azure_disk: Option<Box<RawAzureDisk<'a>>>,
    #[serde(borrow, default)]
    cinder: Option<Box<RawVolumeId<'a>>>,
    #[serde(borrow, default)]
    portworx_volume: Option<Box<RawVolumeId<'a>>>,
    #[serde(borrow, default)]
    azure_file: Option<Box<RawAzureFile<'a>>>,
    #[serde(borrow, default)]
    vsphere_volume: Option<Box<RawVsphereDisk<'a>>>,
    #[serde(borrow, default)]
    iscsi: Option<Box<RawIscsi<'a>>>,
    #[serde(borrow, default)]
    rbd: Option<Box<RawRbd<'a>>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawClaimVolume<'a> {
    #[serde(borrow, default)]
    claim_name: Option<Text<'a>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawGceDisk<'a> {
    #[serde(borrow, default)]
    pd_name: Option<Text<'a>>,
    #[serde(default)]
    read_only: Option<bool>,
}

#[derive(Debug, Deserialize)]
struct RawVolumeId<'a> {
    #[serde(rename = "volumeID", borrow, default)]
    volume_id: Option<Text<'a>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawAzureDisk<'a> {
    #[serde(borrow, default)]
    disk_name: Option<Text<'a>>,
    #[serde(rename = "diskURI", borrow, default)]
    disk_uri: Option<Text<'a>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawAzureFile<'a> {
    #[serde(borrow, default)]
    share_name: Option<Text<'a>>,
    #[serde(borrow, default)]
    secret_name: Option<Text<'a>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawVsphereDisk<'a> {
    #[serde(borrow, default)]
    volume_path: Option<Text<'a>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawIscsi<'a> {
    #[serde(borrow, default)]
    iqn: Option<Text<'a>>,
    #[serde(default)]
    read_only: Option<bool>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawRbd<'a> {
    #[serde(borrow, default)]
    monitors: Option<Vec<Text<'a>>>,
    #[serde(borrow, default)]
    pool: Option<Text<'a>>,
    #[serde(borrow, default)]
    image: Option<Text<'a>>,
    #[serde(default)]
    read_only: Option<bool>,
}

/// A volume of the pod of this name, if some filter looks at its source.
pub(super) fn pod_volume(raw: &RawPodVolume<'_>, pod: &str, tables: &mut Tables) -> Option<PodVolume> {
    let name = filled(raw.name.as_ref()).unwrap_or_default();
    let source = if let Some(claim) = &raw.persistent_volume_claim {
        PodVolumeSource::Claim(tables.or_empty(claim.claim_name.as_ref()))
    } else if raw.ephemeral.is_some() {
        PodVolumeSource::Ephemeral(tables.symbol(&format!("{pod}-{name}")))
    } else {
        raw.disk(tables)?
    };
    Some(PodVolume { name: tables.symbol(name), source })
}

impl RawPodVolume<'_> {
    /// The disk, of a pod's volume or of a PersistentVolume's `spec`.
    pub(super) fn disk(&self, tables: &mut Tables) -> Option<PodVolumeSource> {
        Some(if let Some(it) = &self.gce_persistent_disk {
            let read_only = it.read_only.unwrap_or(false);
            PodVolumeSource::GcePersistentDisk { pd_name: tables.or_empty(it.pd_name.as_ref()), read_only }
        } else if let Some(it) = &self.aws_elastic_block_store {
            PodVolumeSource::AwsElasticBlockStore { volume_id: tables.or_empty(it.volume_id.as_ref()) }
        } else if let Some(it) = &self.azure_disk {
            PodVolumeSource::AzureDisk {
                disk_name: tables.or_empty(it.disk_name.as_ref()),
                disk_uri: tables.or_empty(it.disk_uri.as_ref()),
            }
        } else if let Some(it) = &self.cinder {
            PodVolumeSource::Cinder { volume_id: tables.or_empty(it.volume_id.as_ref()) }
        } else if let Some(it) = &self.portworx_volume {
            PodVolumeSource::Portworx { volume_id: tables.or_empty(it.volume_id.as_ref()) }
        } else if let Some(it) = &self.azure_file {
            PodVolumeSource::AzureFile {
                share_name: tables.or_empty(it.share_name.as_ref()),
                secret_name: tables.or_empty(it.secret_name.as_ref()),
            }
        } else if let Some(it) = &self.vsphere_volume {
            PodVolumeSource::Vsphere { volume_path: tables.or_empty(it.volume_path.as_ref()) }
        } else if let Some(it) = &self.iscsi {
            let read_only = it.read_only.unwrap_or(false);
            PodVolumeSource::Iscsi { iqn: tables.or_empty(it.iqn.as_ref()), read_only }
        } else {
            let it = self.rbd.as_ref()?;
            PodVolumeSource::Rbd {
                monitors: it.monitors.iter().flatten().map(|monitor| tables.symbol(monitor)).collect(),
                pool: tables.symbol(filled(it.pool.as_ref()).unwrap_or("rbd")),
                image: tables.or_empty(it.image.as_ref()),
                read_only: it.read_only.unwrap_or(false),
            }
        })
    }
}

#[cfg(test)]
pub(super) mod typed;
