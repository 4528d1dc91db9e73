//! Sentences that users see.

use super::behaviors;

behaviors! {
    /// Sentences that users see.
    pub struct TextsBehavior {
        /// How an untolerated taint is told. Upstream: `tainttoleration/taint_toleration.go` (#135023).
        taint: TaintText {
            /// `node(s) had taint {KEY: VALUE}, that the pod didn't tolerate`.
            HadTaint,
            /// `node(s) had untolerated taint {KEY: VALUE}`.
            Untolerated,
            /// `node(s) had untolerated taint(s)`.
            WithoutKey,
        } = |r, _g| if r.since_patched(35, &[(34, 2)]) { WithoutKey } else if r.since(24) { Untolerated } else { HadTaint },
            proof "config-s001@1.37.2";

        /// How another requested node is told. Upstream: `nodename/node_name.go`.
        node_name: NodeNameText {
            /// `node(s) didn't match the requested hostname`.
            Hostname,
            /// `node(s) didn't match the requested node name`.
            NodeName,
        } = |r, _g| if r.since(21) { NodeName } else { Hostname },
            proof "scenario:another_node_name_was_called_a_hostname_up_to_1_20";

        /// How a node outside of the pod's node affinity is told. Upstream: `nodeaffinity/node_affinity.go`.
        node_affinity: NodeAffinityText {
            /// `node(s) didn't match node selector`.
            Selector,
            /// `node(s) didn't match Pod's node affinity`.
            Affinity,
            /// `node(s) didn't match Pod's node affinity/selector`.
            AffinitySelector,
        } = |r, _g| if r.since(21) { AffinitySelector } else if r.since(20) { Affinity } else { Selector },
            proof "config-s000@1.37.2";

        /// Which general reason InterPodAffinity puts before its own. Upstream: `interpodaffinity/filtering.go`.
        pod_affinity: PodAffinityText {
            /// `node(s) didn't match pod affinity/anti-affinity`.
            General,
            /// `node(s) didn't match pod affinity/anti-affinity rules`.
            GeneralRules,
            /// None.
            OwnOnly,
        } = |r, _g| if r.since(22) { OwnOnly } else if r.since(21) { GeneralRules } else { General },
            proof "interpod-s000@1.37.2";

        /// How the node affinity of a bound volume is told. Upstream: `volumebinding/binder.go`.
        volume_affinity: VolumeAffinityText {
            /// `node(s) had volume node affinity conflict`.
            Conflict,
            /// `node(s) didn't match PersistentVolume's node affinity`.
            DidntMatch,
        } = |r, _g| if r.since(33) { DidntMatch } else { Conflict },
            proof "volumes-s002@1.37.2";

        /// How a bound claim without its volume is told. Upstream: `volumebinding/binder.go`.
        missing_volume: MissingVolumeText {
            /// `pvc(s) bound to non-existent pv(s)`.
            Claims,
            /// `node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)`.
            Nodes,
        } = |r, _g| if r.since(23) { Nodes } else { Claims },
            proof "texts-w002@1.37.2";

        /// How a ReadWriteOncePod claim in use is told. Upstream: `volumerestrictions/volume_restrictions.go`.
        read_write_once_pod: ReadWriteOncePodText {
            /// `node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode`.
            SameName,
            /// `node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another
            /// pod`.
            InUse,
        } = |r, _g| if r.since(34) { InUse } else { SameName },
            proof "volumes-s005@1.37.2";

        /// How a claim of a generic ephemeral volume that belongs to somebody else is told. Upstream:
        /// `volumebinding/volume_binding.go`, `component-helpers/storage/ephemeral`.
        claim_not_owned: ClaimNotOwnedText {
            /// `persistentvolumeclaim "CLAIM" was not created for the pod`.
            NotForThePod,
            /// `PVC NAMESPACE/CLAIM was not created for pod NAMESPACE/POD (pod is not owner)`.
            NotOwner,
        } = |r, _g| if r.since(23) { NotOwner } else { NotForThePod },
            proof "texts-w000@1.37.2";

        /// How an error of a Filter plugin is told. Upstream: `runtime/framework.go` RunFilterPlugins.
        filter_error: FilterErrorText {
            /// `running "PLUGIN" filter plugin for pod "POD": ERROR`.
            PodNamed,
            /// `running "PLUGIN" filter plugin: ERROR`.
            PluginOnly,
        } = |r, _g| if r.since(21) { PluginOnly } else { PodNamed },
            proof "volumes-s029@1.18.2";

        /// How a missing feature of the node is told. Upstream: `nodedeclaredfeatures`.
        missing_features: MissingFeaturesText {
            /// `node declared features check failed - unsatisfied requirements: FEATURES`.
            Listed,
            /// `node(s) didn't match Pod's required features`.
            DidntMatch,
        } = |r, _g| if r.since(36) { DidntMatch } else { Listed },
            proof "texts-w001@1.37.2";

        /// How a PreFilter rejection is told in the FailedScheduling text. Upstream: `types.go` FitError.
        pre_filter: PreFilterText {
            /// Once a node: `0/3 nodes are available: 3 REASON.`
            CountedPerNode,
            /// Alone: `0/3 nodes are available: REASON.`
            Alone,
        } = |r, _g| if r.since(26) { Alone } else { CountedPerNode },
            proof "legacyvolumes-s005@1.37.2";

        /// What the FailedScheduling text says where no node has a reason. Upstream: `types.go` FitError.
        empty_histogram: EmptyHistogramText {
            /// `0/3 nodes are available: .`
            LoneStop,
            /// `0/3 nodes are available:`
            Nothing,
        } = |r, _g| if r.since(26) { Nothing } else { LoneStop },
            proof "daemonset-s004@1.31.1";

        /// How what PostFilter says joins the FailedScheduling text. Upstream: `types.go` FitError.
        post_filter: PostFilterText {
            /// Not at all.
            Untold,
            /// After a blank.
            Appended,
            /// After a blank and with a full stop, the second one after most texts.
            AppendedWithStop,
        } = |r, _g| if r.since(29) { Appended } else if r.since(26) { AppendedWithStop } else if r.since(24) { Appended } else { Untold },
            proof "config-s011@1.37.2";

        /// Whether the FailedScheduling text tells the chosen node. Upstream: `preemption.go` (1.37).
        nomination: NominationText {
            /// No: nothing follows the reasons.
            Untold,
            /// `preemption: found a potential placement for pod on node NODE, preempting K victims`.
            FoundPlacement,
        } = |r, _g| if r.since(37) { FoundPlacement } else { Untold },
            proof "scenario:the_chosen_node_is_told_since_1_37";

        /// What the dry run says of a node without pods of lower priority. Upstream: `default_preemption.go`
        /// SelectVictimsOnNode.
        no_victims: NoVictimsText {
            /// Nothing: the dry run of a node has no status.
            Untold,
            /// `No victims found on node NODE for preemptor pod POD`.
            OnNode,
            /// `No preemption victims found for incoming pod`.
            IncomingPod,
        } = |r, _g| if r.since(24) { IncomingPod } else if r.since(21) { OnNode } else { Untold },
            proof "config-s001@1.37.2";

        /// The note of the event on a victim. Upstream: `preemption.go` prepareCandidate.
        victim_event: VictimEventText {
            /// `Preempted by NAMESPACE/NAME on node NODE`.
            ByName,
            /// `Preempted by a pod on node NODE`.
            ByAPod,
            /// `Preempted by pod UID on node NODE`.
            ByUid,
        } = |r, _g| if r.since(29) { ByUid }
            else if r.since_patched(27, &[(23, 16), (24, 10), (25, 6), (26, 1)]) { ByAPod } else { ByName },
            proof "scenario:the_victims_event_names_the_preemptor_less_and_less";

        /// The DisruptionTarget condition on a victim. Upstream: `preemption.go` prepareCandidate.
        victim_condition: VictimCondition {
            /// None.
            None,
            /// Reason `PreemptionByKubeScheduler`, message `Kube-scheduler: preempting`.
            KubeSchedulerPreempting,
            /// Reason `PreemptionByKubeScheduler`, message `SCHEDULER: preempting to accommodate a higher priority pod`.
            ByKubeScheduler,
            /// Reason `PreemptionByScheduler`, message `SCHEDULER: preempting to accommodate a higher priority pod`.
            ByScheduler,
        } = |r, g| if !g.on(crate::kube::gates::Gate::PodDisruptionConditions) { None }
            else if r.since(27) { ByScheduler } else if r.since(26) { ByKubeScheduler } else { KubeSchedulerPreempting },
            proof "scenario:the_victims_condition_names_the_scheduler_since_1_27";
    }
}
