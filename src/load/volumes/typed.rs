//! The same volumes from k8s-openapi's types.

use super::*;
use k8s_openapi::api::core::v1;
use std::borrow::Cow;

fn text(it: &str) -> Option<Text<'_>> {
    Some(Text(Cow::Borrowed(it)))
}

fn opt(it: Option<&String>) -> Option<Text<'_>> {
    it.and_then(|it| text(it))
}

/// A pod's volume.
pub(in crate::load) fn pod_volume(it: &v1::Volume) -> RawPodVolume<'_> {
    RawPodVolume {
        name: text(&it.name),
        persistent_volume_claim: it
            .persistent_volume_claim
            .as_ref()
            .map(|it| RawClaimVolume { claim_name: text(&it.claim_name) }),
        ephemeral: it.ephemeral.as_ref().map(|_| IgnoredAny),
        gce_persistent_disk: it
            .gce_persistent_disk
            .as_ref()
            .map(|it| Box::new(RawGceDisk { pd_name: text(&it.pd_name), read_only: it.read_only })),
        aws_elastic_block_store: it
            .aws_elastic_block_store
            .as_ref()
            .map(|it| Box::new(RawVolumeId { volume_id: text(&it.volume_id) })),
        azure_disk: it
            .azure_disk
            .as_ref()
            .map(|it| Box::new(RawAzureDisk { disk_name: text(&it.disk_name), disk_uri: text(&it.disk_uri) })),
        cinder: it.cinder.as_ref().map(|it| Box::new(RawVolumeId { volume_id: text(&it.volume_id) })),
        portworx_volume: it.portworx_volume.as_ref().map(|it| Box::new(RawVolumeId { volume_id: text(&it.volume_id) })),
        azure_file: it
            .azure_file
            .as_ref()
            .map(|it| Box::new(RawAzureFile { share_name: text(&it.share_name), secret_name: text(&it.secret_name) })),
        vsphere_volume: it
            .vsphere_volume
            .as_ref()
            .map(|it| Box::new(RawVsphereDisk { volume_path: text(&it.volume_path) })),
        iscsi: it.iscsi.as_ref().map(|it| Box::new(RawIscsi { iqn: text(&it.iqn), read_only: it.read_only })),
        rbd: it.rbd.as_ref().map(|it| {
            Box::new(RawRbd {
                monitors: Some(it.monitors.iter().filter_map(|it| text(it)).collect()),
                pool: opt(it.pool.as_ref()),
                image: text(&it.image),
                read_only: it.read_only,
            })
        }),
    }
}
