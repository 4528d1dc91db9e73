//! Which of the things in which two releases differ make the difference to an answer.

use crate::kube::behavior::Behavior;
use crate::kube::profile::Profile;
use std::sync::Arc;

/// What two schedulers may differ in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Difference {
    /// A field of the behaviour, by position in [`Behavior::fields`].
    Field(usize),
    /// The profile: plugins, their order and arguments.
    Profile,
}

/// A scheduler, as far as decisions depend on it.
#[derive(Clone, Debug)]
pub struct Setup {
    /// What it does.
    pub behavior: Arc<Behavior>,
    /// Its profile.
    pub profile: Arc<Profile>,
}

impl Setup {
    fn with(&self, difference: Difference, of: &Setup) -> Setup {
        match difference {
            Difference::Profile => Setup { behavior: Arc::clone(&self.behavior), profile: Arc::clone(&of.profile) },
            Difference::Field(at) => {
                let mut behavior = Behavior::clone(&self.behavior);
                behavior.set(at, of.behavior.get(at));
                Setup { behavior: Arc::new(behavior), profile: Arc::clone(&self.profile) }
            }
        }
    }

    fn differences(&self, other: &Setup) -> Vec<Difference> {
        // Sentences, and what follows a choice, decide nothing.
        let decides = |group: &str| group != "texts" && group != "effects";
        let fields = Behavior::fields().into_iter().enumerate().filter(|(_, (group, _))| decides(group));
        let differs = |at: &usize| self.behavior.get(*at) != other.behavior.get(*at);
        let differing = fields.map(|(at, _)| at).filter(differs).map(Difference::Field);
        let profile = (self.profile != other.profile).then_some(Difference::Profile);
        differing.chain(profile).collect()
    }
}

/// The differences between two schedulers that make their answers differ: those without which the later one answers
/// otherwise, and those that alone make the earlier one answer like it. Where no single one does either, all of them.
pub fn causes<Answer: PartialEq>(before: &Setup, after: &Setup, answer: impl Fn(&Setup) -> Answer) -> Vec<Difference> {
    let (old, new) = (answer(before), answer(after));
    if old == new {
        return Vec::new();
    }
    let all = before.differences(after);
    let matters = |it: &Difference| answer(&after.with(*it, before)) != new || answer(&before.with(*it, after)) == new;
    let single: Vec<Difference> = all.iter().copied().filter(matters).collect();
    if single.is_empty() { all } else { single }
}
