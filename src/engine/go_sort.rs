//! Go's `sort.Slice`, which is not stable: where elements are equal, or the comparison contradicts itself, the algorithm
//! decides the order. Both that Go used are here.

use crate::kube::behavior::SortAlgorithm;

/// Sorts as a Go program does; `less` may contradict itself.
pub(crate) fn sort<T>(items: &mut [T], algorithm: SortAlgorithm, less: impl FnMut(&T, &T) -> bool) {
    let length = items.len();
    let mut data = Data { items, less };
    match algorithm {
        SortAlgorithm::Quick => data.quicksort(0, length, 2 * bit_length(length)),
        SortAlgorithm::PatternDefeatingShort => data.pattern_defeating(0, length, bit_length(length), [13, 17, 5]),
        SortAlgorithm::PatternDefeating => data.pattern_defeating(0, length, bit_length(length), [13, 7, 17]),
    }
}

/// Up to this length both algorithms fall back on insertion.
const SHORT: usize = 12;

fn bit_length(number: usize) -> u32 {
    usize::BITS - number.leading_zeros()
}

struct Data<'d, T, L> {
    items: &'d mut [T],
    less: L,
}

/// What the choice of a pivot saw of the order.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Hint {
    Unknown,
    Increasing,
    Decreasing,
}

impl<T, L: FnMut(&T, &T) -> bool> Data<'_, T, L> {
    fn less(&mut self, one: usize, other: usize) -> bool {
        (self.less)(&self.items[one], &self.items[other])
    }

    fn swap(&mut self, one: usize, other: usize) {
        self.items.swap(one, other);
    }

    fn swap_if_less(&mut self, one: usize, other: usize) {
        if self.less(one, other) {
            self.swap(one, other);
        }
    }

    fn insertion(&mut self, low: usize, high: usize) {
        for start in low + 1..high {
            let mut at = start;
            while at > low && self.less(at, at - 1) {
                self.swap(at, at - 1);
                at -= 1;
            }
        }
    }

    fn heap(&mut self, low: usize, high: usize) {
        let length = high - low;
        for root in (0..length.div_ceil(2)).rev() {
            self.sift_down(root, length, low);
        }
        for end in (0..length).rev() {
            self.swap(low, low + end);
            self.sift_down(0, end, low);
        }
    }

    fn sift_down(&mut self, mut root: usize, length: usize, first: usize) {
        loop {
            let mut child = 2 * root + 1;
            if child >= length {
                return;
            }
            if child + 1 < length && self.less(first + child, first + child + 1) {
                child += 1;
            }
            if !self.less(first + root, first + child) {
                return;
            }
            self.swap(first + root, first + child);
            root = child;
        }
    }

    // Go up to 1.18.

    fn quicksort(&mut self, mut low: usize, mut high: usize, mut depth: u32) {
        while high - low > SHORT {
            if depth == 0 {
                self.heap(low, high);
                return;
            }
            depth -= 1;
            let (middle_low, middle_high) = self.three_way_partition(low, high);
            // The shorter part by recursion, the longer one in this loop.
            if middle_low - low < high - middle_high {
                self.quicksort(low, middle_low, depth);
                low = middle_high;
            } else {
                self.quicksort(middle_high, high, depth);
                high = middle_low;
            }
        }
        if high - low > 1 {
            for at in low + 6..high {
                self.swap_if_less(at, at - 6);
            }
            self.insertion(low, high);
        }
    }

    /// Moves the median of three to the first place named.
    fn median_to(&mut self, middle: usize, low: usize, high: usize) {
        self.swap_if_less(middle, low);
        if self.less(high, middle) {
            self.swap(high, middle);
            self.swap_if_less(middle, low);
        }
    }

    /// Less than the pivot below the first place returned, equal up to the second, greater from there.
    fn three_way_partition(&mut self, low: usize, high: usize) -> (usize, usize) {
        let middle = usize::midpoint(low, high);
        if high - low > 40 {
            let step = (high - low) / 8;
            self.median_to(low, low + step, low + 2 * step);
            self.median_to(middle, middle - step, middle + step);
            self.median_to(high - 1, high - 1 - step, high - 1 - 2 * step);
        }
        self.median_to(low, middle, high - 1);
        let pivot = low;
        let (mut less_end, mut greater) = (low + 1, high - 1);
        while less_end < greater && self.less(less_end, pivot) {
            less_end += 1;
        }
        let mut unseen = less_end;
        loop {
            while unseen < greater && !self.less(pivot, unseen) {
                unseen += 1;
            }
            while unseen < greater && self.less(pivot, greater - 1) {
                greater -= 1;
            }
            if unseen >= greater {
                break;
            }
            self.swap(unseen, greater - 1);
            unseen += 1;
            greater -= 1;
        }
        // Few greater than the pivot: look for many equal ones, which would make the sort quadratic.
        let mut many_equal = high - greater < 5;
        if !many_equal && high - greater < (high - low) / 4 {
            let mut equal = 0;
            if !self.less(pivot, high - 1) {
                self.swap(greater, high - 1);
                greater += 1;
                equal += 1;
            }
            if !self.less(unseen - 1, pivot) {
                unseen -= 1;
                equal += 1;
            }
            if !self.less(middle, pivot) {
                self.swap(middle, unseen - 1);
                unseen -= 1;
                equal += 1;
            }
            many_equal = equal > 1;
        }
        if many_equal {
            loop {
                while less_end < unseen && !self.less(unseen - 1, pivot) {
                    unseen -= 1;
                }
                while less_end < unseen && self.less(less_end, pivot) {
                    less_end += 1;
                }
                if less_end >= unseen {
                    break;
                }
                self.swap(less_end, unseen - 1);
                less_end += 1;
                unseen -= 1;
            }
        }
        self.swap(pivot, unseen - 1);
        (unseen - 1, greater)
    }

    // Go since 1.19.

    fn pattern_defeating(&mut self, mut low: usize, mut high: usize, mut bad_allowed: u32, shifts: [u32; 3]) {
        let (mut was_balanced, mut was_partitioned) = (true, true);
        loop {
            let length = high - low;
            if length <= SHORT {
                self.insertion(low, high);
                return;
            }
            if bad_allowed == 0 {
                self.heap(low, high);
                return;
            }
            if !was_balanced {
                self.break_patterns(low, high, shifts);
                bad_allowed -= 1;
            }
            let (mut pivot, mut hint) = self.choose_pivot(low, high);
            if hint == Hint::Decreasing {
                self.items[low..high].reverse();
                pivot = (high - 1) - (pivot - low);
                hint = Hint::Increasing;
            }
            if was_balanced && was_partitioned && hint == Hint::Increasing && self.partial_insertion(low, high) {
                return;
            }
            // An element before the range is not less than the pivot, so the range starts with elements equal to it.
            if low > 0 && !self.less(low - 1, pivot) {
                low = self.partition_equal(low, high, pivot);
                continue;
            }
            let (middle, already) = self.partition(low, high, pivot);
            was_partitioned = already;
            let (left, right) = (middle - low, high - middle);
            let enough = length / 8;
            if left < right {
                was_balanced = left >= enough;
                self.pattern_defeating(low, middle, bad_allowed, shifts);
                low = middle + 1;
            } else {
                was_balanced = right >= enough;
                self.pattern_defeating(middle + 1, high, bad_allowed, shifts);
                high = middle;
            }
        }
    }

    /// Less than the pivot before the place returned, not less after it; and whether it was so before.
    fn partition(&mut self, low: usize, high: usize, pivot: usize) -> (usize, bool) {
        self.swap(low, pivot);
        let (mut left, mut right) = (low + 1, high - 1);
        while left <= right && self.less(left, low) {
            left += 1;
        }
        while left <= right && !self.less(right, low) {
            right -= 1;
        }
        if left > right {
            self.swap(right, low);
            return (right, true);
        }
        self.swap(left, right);
        left += 1;
        right -= 1;
        loop {
            while left <= right && self.less(left, low) {
                left += 1;
            }
            while left <= right && !self.less(right, low) {
                right -= 1;
            }
            if left > right {
                break;
            }
            self.swap(left, right);
            left += 1;
            right -= 1;
        }
        self.swap(right, low);
        (right, false)
    }

    /// Equal to the pivot before the place returned, greater from there.
    fn partition_equal(&mut self, low: usize, high: usize, pivot: usize) -> usize {
        self.swap(low, pivot);
        let (mut left, mut right) = (low + 1, high - 1);
        loop {
            while left <= right && !self.less(low, left) {
                left += 1;
            }
            while left <= right && self.less(low, right) {
                right -= 1;
            }
            if left > right {
                return left;
            }
            self.swap(left, right);
            left += 1;
            right -= 1;
        }
    }

    /// Repairs a few places that are out of order; whether all is in order then.
    fn partial_insertion(&mut self, low: usize, high: usize) -> bool {
        const STEPS: usize = 5;
        const SHORTEST_SHIFT: usize = 50;
        let mut at = low + 1;
        for _ in 0..STEPS {
            while at < high && !self.less(at, at - 1) {
                at += 1;
            }
            if at == high {
                return true;
            }
            if high - low < SHORTEST_SHIFT {
                return false;
            }
            self.swap(at, at - 1);
            // Upstream goes on from the start of the slice, not of the range; the last comparison of the first walk is with
            // its second element.
            if at - low >= 2 {
                for back in (1..at).rev() {
                    if !self.less(back, back - 1) {
                        break;
                    }
                    self.swap(back, back - 1);
                }
            }
            if high - at >= 2 {
                for ahead in at + 1..high {
                    if !self.less(ahead, ahead - 1) {
                        break;
                    }
                    self.swap(ahead, ahead - 1);
                }
            }
        }
        false
    }

    fn break_patterns(&mut self, low: usize, high: usize, shifts: [u32; 3]) {
        let length = high - low;
        if length < 8 {
            return;
        }
        let mut random = length as u64;
        let mask = (1u64 << bit_length(length)) - 1;
        let middle = low + (length / 4) * 2 - 1;
        for offset in 0..3 {
            random ^= random << shifts[0];
            random ^= random >> shifts[1];
            random ^= random << shifts[2];
            let mut other = usize::try_from(random & mask).expect("the mask is a length");
            if other >= length {
                other -= length;
            }
            self.swap(middle + offset, low + other);
        }
    }

    fn choose_pivot(&mut self, low: usize, high: usize) -> (usize, Hint) {
        const SHORTEST_NINTHER: usize = 50;
        const MOST_SWAPS: u32 = 4 * 3;
        let length = high - low;
        let mut swaps = 0;
        let quarter = length / 4;
        let (mut i, mut j, mut k) = (low + quarter, low + quarter * 2, low + quarter * 3);
        if length >= 8 {
            if length >= SHORTEST_NINTHER {
                i = self.median(i - 1, i, i + 1, &mut swaps);
                j = self.median(j - 1, j, j + 1, &mut swaps);
                k = self.median(k - 1, k, k + 1, &mut swaps);
            }
            j = self.median(i, j, k, &mut swaps);
        }
        let hint = match swaps {
            0 => Hint::Increasing,
            MOST_SWAPS => Hint::Decreasing,
            _ => Hint::Unknown,
        };
        (j, hint)
    }

    fn median(&mut self, mut one: usize, mut two: usize, mut three: usize, swaps: &mut u32) -> usize {
        let mut order = |this: &mut Self, first: &mut usize, second: &mut usize| {
            if this.less(*second, *first) {
                *swaps += 1;
                std::mem::swap(first, second);
            }
        };
        order(self, &mut one, &mut two);
        order(self, &mut two, &mut three);
        order(self, &mut one, &mut two);
        two
    }
}

#[cfg(test)]
mod tests {
    use super::sort;
    use crate::kube::behavior::SortAlgorithm;

    struct Random(u64);

    impl Random {
        fn next(&mut self) -> i64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            i64::try_from(self.0 >> 33).unwrap()
        }
    }

    /// Keys of ten shapes: few and many values, sorted, reversed, piped, runs, teeth, equal, nearly sorted, swapped about.
    fn keys(shape: usize, length: i64, random: &mut Random) -> Vec<(i64, i64)> {
        let key = |at: i64, random: &mut Random| match shape {
            0 => random.next() % 3,
            1 => random.next() % 1000,
            2 => at,
            3 => length - at,
            4 => at.min(length - at),
            5 => at / 7,
            6 => (at * 7919) % 13,
            7 => 0,
            8 if random.next() % 20 == 0 => random.next() % (length + 1),
            8 => at,
            _ => at ^ 5,
        };
        (0..length).map(|at| (key(at, random), at)).collect()
    }

    /// A hash over the orders in which an algorithm leaves 8,000 lists, half of them under a comparison that contradicts
    /// itself. The same lists sorted by programs built with Go 1.18, 1.23 and 1.26 gave the numbers below.
    fn fingerprint(algorithm: SortAlgorithm) -> u64 {
        let mut random = Random(1);
        let mut hash: u64 = 14_695_981_039_346_656_037;
        for length in 0..400 {
            for shape in 0..10 {
                for contradictory in [false, true] {
                    let mut items = keys(shape, length, &mut random);
                    sort(&mut items, algorithm, |one, other| {
                        (contradictory && one.0 % 2 == 0 && one.0 == other.0) || one.0 < other.0
                    });
                    for (_, id) in items {
                        hash = (hash ^ u64::try_from(id).unwrap()).wrapping_mul(1_099_511_628_211);
                    }
                }
            }
        }
        hash
    }

    #[test]
    fn quicksort_leaves_equal_elements_as_go_1_18_does() {
        assert_eq!(fingerprint(SortAlgorithm::Quick), 0x071e_a5eb_c1d7_0645);
    }

    #[test]
    fn pattern_defeating_quicksort_leaves_them_as_go_1_23_does() {
        assert_eq!(fingerprint(SortAlgorithm::PatternDefeatingShort), 0x32e1_779a_1142_898b);
    }

    #[test]
    fn pattern_defeating_quicksort_leaves_them_as_go_1_26_does() {
        assert_eq!(fingerprint(SortAlgorithm::PatternDefeating), 0xb9cd_d16f_98cf_66a9);
    }
}
