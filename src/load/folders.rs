//! The folders of the input, archives among them, as a tree.

use std::collections::BTreeMap;

/// How deep folders are told apart: deeper ones count as their ancestor.
const MAX_DEPTH: usize = 64;

/// A folder.
#[derive(Debug)]
pub(super) struct Folder<'p> {
    /// As the user would name it; the root's is empty.
    pub(super) path: &'p str,
    pub(super) parent: usize,
    depth: usize,
    /// Files that lie in it.
    pub(super) files: Vec<usize>,
    /// Folders in it.
    pub(super) folders: Vec<usize>,
}

impl<'p> Folder<'p> {
    /// The last part of its path.
    pub(super) fn name(&self) -> &'p str {
        self.path.rsplit(is_border).next().unwrap_or_default()
    }
}

/// All folders. A folder's number is higher than its parent's.
#[derive(Debug)]
pub(super) struct Tree<'p> {
    pub(super) folders: Vec<Folder<'p>>,
    /// The folder of each file.
    home: Vec<usize>,
    /// The path of each file.
    paths: Vec<&'p str>,
}

/// What stands between parts of a path; `!` stands behind an archive's name.
pub(super) fn is_border(letter: char) -> bool {
    matches!(letter, '/' | '\\' | '!')
}

impl<'p> Tree<'p> {
    /// The tree of some files.
    pub(super) fn of(paths: impl Iterator<Item = &'p str>) -> Self {
        let root = Folder { path: "", parent: 0, depth: 0, files: Vec::new(), folders: Vec::new() };
        let mut tree = Tree { folders: vec![root], home: Vec::new(), paths: Vec::new() };
        let mut known: BTreeMap<&str, usize> = BTreeMap::new();
        for (file, path) in paths.enumerate() {
            let mut at = 0;
            for (end, _) in path.match_indices(is_border).filter(|it| it.0 > 0).take(MAX_DEPTH) {
                let next = tree.folders.len();
                let folder = *known.entry(&path[..end]).or_insert(next);
                if folder == next {
                    let depth = tree.folders[at].depth + 1;
                    let path = &path[..end];
                    tree.folders.push(Folder { path, parent: at, depth, files: Vec::new(), folders: Vec::new() });
                    tree.folders[at].folders.push(next);
                }
                at = folder;
            }
            tree.folders[at].files.push(file);
            tree.home.push(at);
            tree.paths.push(path);
        }
        tree
    }

    /// The path of a file.
    pub(super) fn file_path(&self, file: usize) -> &'p str {
        self.paths[file]
    }

    /// The innermost folder that holds both files.
    pub(super) fn common(&self, a: usize, b: usize) -> usize {
        let (mut a, mut b) = (self.home[a], self.home[b]);
        while a != b {
            if self.folders[a].depth >= self.folders[b].depth {
                a = self.folders[a].parent;
            } else {
                b = self.folders[b].parent;
            }
        }
        a
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn archives_are_folders() {
        let paths = ["d/a.tar.gz!x/pods.json", "d/a.tar.gz!nodes.json", "d/b.json"];
        let tree = Tree::of(paths.into_iter());
        let folders: Vec<&str> = tree.folders.iter().map(|it| it.path).collect();
        assert_eq!(folders, ["", "d", "d/a.tar.gz", "d/a.tar.gz!x"]);
        assert_eq!((tree.common(0, 1), tree.common(0, 2), tree.common(2, 2)), (2, 1, 1));
        assert_eq!(tree.folders[2].name(), "a.tar.gz");
    }
}
