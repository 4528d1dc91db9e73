//! A share of the work: which dumps, or which pods, one of several processes answers.

use super::failure::Failure;
use super::io::Io;
use std::cmp::Reverse;
use std::str::FromStr;

/// A Job of `completionMode: Indexed` gives each pod its number, from 0.
pub(crate) const INDEX_VARIABLE: &str = "JOB_COMPLETION_INDEX";

/// What `--shard` says: `0/4` … `3/4`, or `auto/4`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ShardArg {
    /// Which one, from 0; `None` is what a Job says.
    pub(crate) index: Option<u32>,
    /// How many there are.
    pub(crate) count: u32,
}

impl FromStr for ShardArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let form = || "write it as 0/4, or auto/4 in a Job of completionMode Indexed".to_owned();
        let (index, count) = text.split_once('/').ok_or_else(form)?;
        let number = |it: &str| it.parse::<u32>().ok().ok_or_else(form);
        let count = number(count)?;
        let index = match index {
            "auto" => None,
            index => Some(number(index)?),
        };
        match index {
            _ if count == 0 => Err("there is no share of 0".to_owned()),
            Some(index) if index >= count => Err(beyond(index, count)),
            index => Ok(ShardArg { index, count }),
        }
    }
}

fn beyond(index: u32, count: u32) -> String {
    format!("shards are counted from 0: the last of {count} is {}/{count}, and {index} is beyond it", count - 1)
}

/// One share of several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shard {
    index: usize,
    count: usize,
}

impl Shard {
    /// Everything.
    pub(crate) const WHOLE: Shard = Shard { index: 0, count: 1 };

    /// What was asked for.
    pub(crate) fn of(arg: Option<ShardArg>, io: &Io<'_>) -> Result<Self, Failure> {
        let Some(ShardArg { index, count }) = arg else { return Ok(Shard::WHOLE) };
        let index = index.map_or_else(|| job_index(count, io), Ok)?;
        Ok(Shard { index: index as usize, count: count as usize })
    }

    /// Whether this share has the item at a position of a list that every share sees alike: they take turns.
    pub(crate) fn takes(self, position: usize) -> bool {
        position % self.count == self.index
    }

    /// The positions that this share has of items of these sizes, in order. The largest goes first to whoever has least,
    /// so that shares are about equal; every process that sees the same sizes comes to the same end.
    pub(crate) fn of_sizes(self, sizes: &[u64]) -> Vec<usize> {
        if self.count == 1 {
            return (0..sizes.len()).collect();
        }
        let mut positions: Vec<usize> = (0..sizes.len()).collect();
        positions.sort_by_key(|&at| (Reverse(sizes[at]), at));
        // More shares than items stay empty.
        let mut loads: Vec<(u64, usize, usize)> = (0..self.count.min(sizes.len())).map(|shard| (0, 0, shard)).collect();
        let mut mine = Vec::new();
        for at in positions {
            let Some(least) = loads.iter_mut().min() else { break };
            (least.0, least.1) = (least.0.saturating_add(sizes[at]), least.1 + 1);
            if least.2 == self.index {
                mine.push(at);
            }
        }
        mine.sort_unstable();
        mine
    }
}

fn job_index(count: u32, io: &Io<'_>) -> Result<u32, Failure> {
    let help =
        format!("run it in a Job of completionMode Indexed with {count} completions, or name the shard: 0/{count}");
    let Some(text) = io.variable(INDEX_VARIABLE) else {
        return Err(Failure::new(format!("--shard auto/{count}: ${INDEX_VARIABLE} is not set")).help(help));
    };
    match text.parse() {
        Ok(index) if index < count => Ok(index),
        Ok(index) => Err(Failure::new(format!("${INDEX_VARIABLE}: {}", beyond(index, count))).help(help)),
        Err(_) => Err(Failure::new(format!("${INDEX_VARIABLE} is `{text}`, which is no number")).help(help)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_counted_from_zero() {
        assert_eq!("0/4".parse(), Ok(ShardArg { index: Some(0), count: 4 }));
        assert_eq!("auto/4".parse(), Ok(ShardArg { index: None, count: 4 }));
        for wrong in ["4/4", "0/0", "1", "-1/4", "1/", "/4", "a/b", "1/4/2", ""] {
            assert!(wrong.parse::<ShardArg>().is_err(), "{wrong}");
        }
        assert!("4/4".parse::<ShardArg>().unwrap_err().contains("the last of 4 is 3/4"));
    }

    #[test]
    fn shares_are_disjoint_whole_and_about_equal() {
        let sizes: Vec<u64> = (0..40).map(|at| if at == 7 { 1000 } else { at * 37 % 90 }).collect();
        for count in 1..50 {
            let shares: Vec<Vec<usize>> = (0..count).map(|index| Shard { index, count }.of_sizes(&sizes)).collect();
            let mut all: Vec<usize> = shares.concat();
            all.sort_unstable();
            assert_eq!(all, (0..40).collect::<Vec<_>>(), "{count}");
            let turns = (0..count).flat_map(|index| (0..40).filter(move |at| Shard { index, count }.takes(*at)));
            assert_eq!(turns.count(), 40);
        }
        let three = |index| Shard { index, count: 3 }.of_sizes(&sizes);
        let load = |index| three(index).into_iter().map(|at| sizes[at]).sum::<u64>();
        assert!(three(0).contains(&7), "the largest goes first");
        assert!(load(1).abs_diff(load(2)) < 90);
        assert_eq!(
            Shard { index: 1, count: 2 }.of_sizes(&[0, 0, 0, 0]).len(),
            2,
            "unknown sizes are shared out as well"
        );
    }
}
