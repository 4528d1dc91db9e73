//! Releases of kube-scheduler, and the texts that name them.

use std::fmt;

/// A release `1.minor.patch`, with the patch resolved: [`Version::parse`] takes the newest known one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Release {
    /// The minor release, 18 … 37 for the known ones.
    pub minor: u16,
    /// The patch.
    pub patch: u16,
}

/// The oldest release whose behaviour is known.
pub const OLDEST_MINOR: u16 = 18;
/// The newest.
pub const NEWEST_MINOR: u16 = 37;

/// The newest known patch of each known minor release, from the oldest on.
const NEWEST_PATCHES: [u16; (NEWEST_MINOR - OLDEST_MINOR + 1) as usize] =
    [20, 16, 15, 14, 17, 17, 17, 16, 15, 16, 15, 15, 14, 14, 13, 13, 4, 4, 3, 2];

impl Release {
    /// A release.
    pub const fn new(minor: u16, patch: u16) -> Self {
        Release { minor, patch }
    }

    /// The newest known patch of a minor release; a minor release that is not known stands for the nearest that is.
    pub fn of_minor(minor: u16) -> Self {
        let minor = minor.clamp(OLDEST_MINOR, NEWEST_MINOR);
        Release { minor, patch: NEWEST_PATCHES[usize::from(minor - OLDEST_MINOR)] }
    }

    /// The newest known release.
    pub fn newest() -> Self {
        Release::of_minor(NEWEST_MINOR)
    }

    /// The newest known patch of every known minor release, oldest first.
    pub fn known() -> impl Iterator<Item = Release> {
        (OLDEST_MINOR..=NEWEST_MINOR).map(Release::of_minor)
    }

    /// Whether this is the minor release or a later one.
    pub const fn since(self, minor: u16) -> bool {
        self.minor >= minor
    }

    /// Whether this has a change that came with `minor`.0 and was picked back to the patches named, as `(minor, patch)`.
    pub fn since_patched(self, minor: u16, backports: &[(u16, u16)]) -> bool {
        self.since(minor) || backports.iter().any(|&(branch, patch)| self.minor == branch && self.patch >= patch)
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "1.{}.{}", self.minor, self.patch)
    }
}

/// A version as somebody wrote it, and the releases it may mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    /// The release whose behaviour is used: where the patch is not known, the newest of the minor release.
    pub release: Release,
    /// The oldest release it may mean; the same as `release` where the patch is known.
    pub oldest: Release,
    /// What stands in the way of an exact answer.
    pub note: Option<VersionNote>,
}

/// What stands in the way of an exact answer about a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VersionNote {
    /// Only the minor release is given, and its patches may differ.
    PatchUnknown,
    /// The minor release is newer than the newest known one, whose behaviour is used, with the few changes of the next one
    /// that are known already.
    NewerThanKnown {
        /// The minor release asked for.
        minor: u16,
    },
    /// The minor release is older than the oldest known one, whose behaviour is used.
    OlderThanKnown {
        /// The minor release asked for.
        minor: u16,
    },
    /// The patch is newer than the newest known of its minor release, which it is taken to behave like.
    PatchNewerThanKnown,
    /// An alpha, beta or release candidate, which is taken to behave like the release.
    Prerelease,
}

/// Why a text names no release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VersionError {
    /// It is no version of Kubernetes.
    NotAVersion,
    /// It is a version of OpenShift, which is built on this minor release of Kubernetes.
    OpenShift {
        /// The minor release of Kubernetes.
        minor: u16,
    },
}

impl Version {
    /// A release that is exactly known.
    pub const fn exact(release: Release) -> Self {
        Version { release, oldest: release, note: None }
    }

    /// Understands `1.34`, `v1.34.2`, `1.34.x`, and what vendors append: `v1.29.7-gke.1104000`, `v1.30.4-eks-a737599`,
    /// `v1.28.9+rke2r1`, `v1.27.3+k3s1`. What is appended does not matter, unless it says alpha, beta or rc.
    pub fn parse(text: &str) -> Result<Self, VersionError> {
        let text = text.trim();
        let text = text.strip_prefix(['v', 'V']).unwrap_or(text);
        let (numbers, suffix) = match text.find(['-', '+']) {
            Some(at) => text.split_at(at),
            None => (text, ""),
        };
        let mut parts = numbers.split('.');
        let major = number(parts.next());
        let minor = number(parts.next());
        let (Some(major), Some(minor)) = (major, minor) else { return Err(VersionError::NotAVersion) };
        let patch = match parts.next() {
            None | Some("x" | "X" | "*") => None,
            part @ Some(_) => Some(number(part).ok_or(VersionError::NotAVersion)?),
        };
        if parts.next().is_some() {
            return Err(VersionError::NotAVersion);
        }
        match major {
            1 => Ok(Version::of(minor, patch, is_prerelease(suffix))),
            // OpenShift 4.16 is built on Kubernetes 1.29, and so on since 4.3.
            4 => Err(VersionError::OpenShift { minor: minor.saturating_add(13) }),
            _ => Err(VersionError::NotAVersion),
        }
    }

    fn of(minor: u16, patch: Option<u16>, prerelease: bool) -> Self {
        let newest = Release::of_minor(minor);
        if minor > NEWEST_MINOR {
            let next = Release::new(NEWEST_MINOR + 1, 0);
            return Version { note: Some(VersionNote::NewerThanKnown { minor }), ..Version::exact(next) };
        }
        if minor < OLDEST_MINOR {
            let oldest_known = Release::new(OLDEST_MINOR, 0);
            return Version { note: Some(VersionNote::OlderThanKnown { minor }), ..Version::exact(oldest_known) };
        }
        match patch {
            None => Version { release: newest, oldest: Release::new(minor, 0), note: Some(VersionNote::PatchUnknown) },
            Some(patch) => Version {
                note: if prerelease {
                    Some(VersionNote::Prerelease)
                } else {
                    (patch > newest.patch).then_some(VersionNote::PatchNewerThanKnown)
                },
                ..Version::exact(Release::new(minor, patch))
            },
        }
    }

    /// Whether the patch is known.
    pub fn is_exact(&self) -> bool {
        self.release == self.oldest
    }
}

fn number(part: Option<&str>) -> Option<u16> {
    let part = part?;
    let digits = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| part.parse().ok()).flatten()
}

fn is_prerelease(suffix: &str) -> bool {
    ["-alpha", "-beta", "-rc"].iter().any(|mark| suffix.starts_with(mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Version {
        Version::parse(text).expect("a version")
    }

    #[test]
    fn vendors_suffixes_do_not_matter() {
        for text in ["v1.29.7-gke.1104000", "1.29.7", "v1.29.7+k3s1", "1.29.7+rke2r1", "v1.29.7-eks-a737599"] {
            assert_eq!(parsed(text), Version::exact(Release::new(29, 7)), "{text}");
        }
    }

    #[test]
    fn without_a_patch_all_patches_are_meant() {
        let version = parsed("1.34");
        assert_eq!(version.release, Release::new(34, 4));
        assert_eq!(version.oldest, Release::new(34, 0));
        assert_eq!(version.note, Some(VersionNote::PatchUnknown));
        assert!(!version.is_exact());
    }

    #[test]
    fn unknown_releases_stand_for_the_nearest() {
        assert_eq!(parsed("1.44.1").note, Some(VersionNote::NewerThanKnown { minor: 44 }));
        assert_eq!(parsed("1.44.1").release, Release::new(NEWEST_MINOR + 1, 0));
        assert_eq!(parsed("v1.16.9").release, Release::new(18, 0));
        assert_eq!(parsed("1.34.99").note, Some(VersionNote::PatchNewerThanKnown));
        assert_eq!(parsed("v1.19.0-rc.4").note, Some(VersionNote::Prerelease));
    }

    #[test]
    fn what_is_no_version_is_refused() {
        for text in ["", "latest", "1", "1.", "1.2.3.4", "2.1", "1.thirty", "1.-3", "1.34.4.1", "v"] {
            assert_eq!(Version::parse(text), Err(VersionError::NotAVersion), "{text}");
        }
        assert_eq!(Version::parse("4.16.3"), Err(VersionError::OpenShift { minor: 29 }));
    }

    #[test]
    fn backports_count_from_their_patch_on() {
        let fixed = |minor, patch| Release::new(minor, patch).since_patched(27, &[(24, 10), (25, 6), (26, 1)]);
        assert!(!fixed(24, 9) && fixed(24, 10) && !fixed(25, 5) && fixed(26, 1) && fixed(27, 0) && !fixed(23, 99));
    }
}
