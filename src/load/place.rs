//! Lines and columns of problems: counted once a file, for all problems together.

use crate::problem::{self, Problem};
use crate::source::files::{FileTable, Form};
use rustc_hash::FxHashMap;

/// The problems by place, the first of each code, with lines and columns.
pub(super) fn resolve(files: &FileTable, mut problems: Vec<Problem>) -> Vec<Problem> {
    let mut positions: FxHashMap<&str, usize> = FxHashMap::default();
    for (at, file) in files.files.iter().enumerate() {
        positions.entry(&file.path).or_insert(at);
    }
    let position = |problem: &Problem| positions.get(problem.path.as_deref()?).copied();
    problems.sort_by_cached_key(|problem| (position(problem), problem.offset, problem.message.clone()));
    let mut problems = problem::cap(problems);
    let mut counted = (None, 0, 1, 0);
    for problem in &mut problems {
        let (Some(file), Some(offset)) = (position(problem), problem.offset) else { continue };
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
