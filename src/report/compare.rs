//! One pod under several releases, for people.

use super::amount::count;
use super::json::{ComparedAnswer, ComparedPod, Decision, Level, PodOutcome};
use super::page::{Ink, Page};

/// Tells how releases answer about a pod.
pub fn tell(page: &mut Page, pod: &ComparedPod) {
    page.gap();
    let verdict = match pod.answers.len() {
        0 => format!("{} is not in the dump.", pod.pod),
        1 => format!("{}: all of these releases decide alike.", pod.pod),
        many => format!("{}: these releases give {many} answers.", pod.pod),
    };
    page.painted(0, Some(Ink::Heading), &verdict);
    let mut told: Vec<&str> = Vec::new();
    for answer in &pod.answers {
        page.gap();
        page.painted(0, Some(Ink::Heading), &range(answer));
        page.sentence(2, &decision(&answer.decision));
        if answer.certainty == Level::Undetermined {
            let text = format!("undetermined: the dump lacks something; see --kube-version {}", answer.from);
            page.painted(2, Some(Ink::Careful), &text);
        }
        for because in &answer.because {
            let doc = if told.contains(&because.field.as_str()) { "" } else { because.doc.as_str() };
            told.push(&because.field);
            let text = format!("because {}: {} → {}. {doc}", because.field, because.before, because.after);
            page.painted(2, Some(Ink::Careful), &text);
        }
    }
}

fn range(answer: &ComparedAnswer) -> String {
    if answer.from == answer.to { answer.from.clone() } else { format!("{} – {}", answer.from, answer.to) }
}

/// A decision in a sentence.
pub fn decision(it: &Decision) -> String {
    let nodes = it.nodes.join(" or ");
    let mut text = match it.outcome {
        PodOutcome::Feasible => format!("fits without preemption on {}", shortened(&it.nodes)),
        PodOutcome::Nominated => {
            let victims = match it.victims.len() {
                0 => "nobody".to_owned(),
                _ => shortened(&it.victims),
            };
            let violations = match it.pdb_violations {
                0 => String::new(),
                some => format!(", {}", count(usize::try_from(some).unwrap_or(0), "PDB violation")),
            };
            format!("preempts {victims} on {nodes}{violations}")
        }
        PodOutcome::NoCandidates => "stays pending: preemption frees no node".to_owned(),
        PodOutcome::NoPotentialNodes => "stays pending: preemption cannot help on any node".to_owned(),
        PodOutcome::Ineligible => "may not preempt".to_owned(),
        PodOutcome::Gated => "is held before the queue".to_owned(),
        PodOutcome::OtherScheduler => "is another scheduler's".to_owned(),
        PodOutcome::Deleting => "is being deleted".to_owned(),
        PodOutcome::Terminal => "is finished".to_owned(),
        PodOutcome::Bound => "has a node already".to_owned(),
        PodOutcome::Error => "the attempt ends with an error, before preemption".to_owned(),
        PodOutcome::NotFound => "is not in the dump".to_owned(),
    };
    if !it.cleared_nominations.is_empty() {
        text += "; ";
        text += &shortened(&it.cleared_nominations);
        text += " lose their nomination";
    }
    text
}

fn shortened(names: &[String]) -> String {
    const SHOWN: usize = 5;
    let mut text = names.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN {
        text = format!("{text} and {} more", names.len() - SHOWN);
    }
    text
}
