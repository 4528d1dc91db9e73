//! Lines and columns of problems: counted once a file, for all problems together.

use crate::problem::{self, Problem};
use crate::source::files::{FileTable, Form};
use crate::source::packed::{self, Packed};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// The problems by place, the first of each code, with lines and columns.
pub(super) fn resolve(files: &FileTable, mut problems: Vec<Problem>) -> Vec<Problem> {
    let mut positions: FxHashMap<&str, usize> = FxHashMap::default();
    for (at, file) in files.files.iter().enumerate() {
        positions.entry(&file.path).or_insert(at);
    }
    let position = |problem: &Problem| positions.get(problem.path.as_deref()?).copied();
    problems.sort_by_cached_key(|problem| (position(problem), problem.offset, problem.message.clone()));
    let mut problems = problem::cap(problems);
    find_in_streams(files, &problems, position);
    let mut counted = (None, 0, 1, 0);
    for problem in &mut problems {
        let (Some(file), Some(offset)) = (position(problem), problem.offset) else { continue };
        if let Some(packed) = files.files[file].packed() {
            let place = packed.place(offset);
            (problem.line, problem.column) = (place.as_ref().map(|it| it.line), place.map(|it| it.column));
            continue;
        }
        let bytes = &files.files[file].bytes;
        let end = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
        if counted.0 != Some(file) {
            counted = (Some(file), 0, 1, 0);
        }
        let (_, from, mut line, mut begin) = counted;
        for newline in memchr::memchr_iter(b'\n', &bytes[from..end]) {
            line += 1;
            begin = from + newline + 1;
        }
        counted = (Some(file), end, line, begin);
        problem.line = Some(line);
        problem.column = Some((end - begin) as u64 + 1);
        if files.files[file].form == Form::Yaml {
            // Only the line is the file's own.
            (problem.offset, problem.column) = (None, None);
        }
    }
    problems
}

/// Looks for the places of problems in files whose text is not at hand, which are read once more for that.
fn find_in_streams(files: &FileTable, problems: &[Problem], position: impl Fn(&Problem) -> Option<usize>) {
    let mut offsets: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
    for problem in problems {
        if let (Some(file), Some(offset)) = (position(problem), problem.offset) {
            offsets.entry(file).or_default().push(offset);
        }
    }
    let packed = |(file, offsets): (usize, Vec<u64>)| Some((files.files[file].packed()?, offsets));
    let texts: Vec<(&Packed, Vec<u64>)> = offsets.into_iter().filter_map(packed).collect();
    for beside in texts.chunk_by(|a, b| a.0.is_beside(b.0)) {
        packed::find(beside);
    }
}
