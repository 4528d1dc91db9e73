//! A line on a terminal that says how far the work has come, once it takes long.

use super::io::Io;
use crate::source::meter::{Meter, Reached, Step};
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Nothing is shown before.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often the line is written anew.
const EVERY: Duration = Duration::from_millis(200);
/// Takes the cursor to the beginning of the line and clears it.
pub(crate) const CLEAR: &str = "\r\x1b[K";
/// Characters of a bar.
const BAR: usize = 20;

/// `[########------------]`
pub(crate) fn bar(done: u64, total: u64) -> String {
    let width = BAR as u64;
    let full = done.min(total).checked_mul(width).and_then(|it| it.checked_div(total)).unwrap_or(width);
    let full = usize::try_from(full).unwrap_or(BAR);
    format!("[{}{}]", "#".repeat(full), "-".repeat(BAR - full))
}

/// Shows how far a meter has come, until it is dropped.
pub(crate) struct Progress(Option<(Sender<()>, JoinHandle<()>)>);

impl Progress {
    /// Shows a meter on standard error, if somebody watches there.
    pub(crate) fn of(meter: &Arc<Meter>, io: &Io<'_>) -> Self {
        let watched = io.stderr_is_terminal
            && io.variable("TERM").is_none_or(|it| it != "dumb")
            && io.variable("CI").is_none_or(|it| it == "false");
        if watched { Progress::start(Arc::clone(meter), io::stderr()) } else { Progress(None) }
    }

    /// The same for answers, which must not be written to the same terminal meanwhile.
    pub(crate) fn of_answers(meter: &Arc<Meter>, pods: usize, io: &Io<'_>) -> Self {
        meter.begin(Step::Answering, pods as u64);
        if io.stdout_is_terminal { Progress(None) } else { Progress::of(meter, io) }
    }

    fn start(meter: Arc<Meter>, mut out: impl Write + Send + 'static) -> Self {
        let (end, ended) = mpsc::channel();
        let show = move || {
            let begun = Instant::now();
            let mut teller = Teller::default();
            while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(EVERY) {
                if let Some(line) = teller.tell(begun.elapsed(), meter.reached()) {
                    // Nobody is left to be told that standard error is closed.
                    let _ = out.write_all(line.as_bytes()).and_then(|()| out.flush());
                }
            }
            let _ = out.write_all(teller.end().as_bytes()).and_then(|()| out.flush());
        };
        // Without a thread to spare the work goes on unwatched.
        Progress(std::thread::Builder::new().spawn(show).ok().map(|thread| (end, thread)))
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((end, thread)) = self.0.take() {
            drop(end);
            let _ = thread.join();
        }
    }
}

/// Decides what is written, and when.
#[derive(Default)]
struct Teller {
    /// The step at hand, and when it was first seen.
    step: Option<(Step, Duration)>,
    told: bool,
}

impl Teller {
    /// What to write after so much time.
    fn tell(&mut self, elapsed: Duration, reached: Reached) -> Option<String> {
        let since = match self.step {
            Some((step, since)) if step == reached.step => since,
            None => Duration::ZERO,
            Some(_) => elapsed,
        };
        self.step = Some((reached.step, since));
        if elapsed < PATIENCE {
            return None;
        }
        self.told = true;
        Some(format!("{CLEAR}{}", line(reached, elapsed.saturating_sub(since))))
    }

    /// What to write at last.
    fn end(&self) -> &'static str {
        if self.told { CLEAR } else { "" }
    }
}

/// `[########------------]  41 %  reading, 740 MB of 1.8 GB, 410 MB/s`: fits into 80 columns.
fn line(Reached { step, done, total }: Reached, elapsed: Duration) -> String {
    let (doing, amount): (_, fn(u64) -> String) = match step {
        Step::Opening => ("opening", bytes),
        Step::Reading => ("reading", bytes),
        Step::Answering => ("answering", |pods| pods.to_string()),
    };
    let unit = if step == Step::Answering { " pods" } else { "" };
    let millis = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
    let rate = u128::from(done) * 1000 / u128::from(millis.max(1));
    let rate = match elapsed < EVERY {
        true => String::new(),
        false => format!(", {}{unit}/s", amount(u64::try_from(rate).unwrap_or(u64::MAX))),
    };
    if total == 0 || done > total {
        return format!("{doing}, {}{unit}{rate}", amount(done));
    }
    let percent = u128::from(done) * 100 / u128::from(total);
    format!("{} {percent:>3} %  {doing}, {} of {}{unit}{rate}", bar(done, total), amount(done), amount(total))
}

/// `740 MB`, `1.8 GB`
fn bytes(count: u64) -> String {
    const UNITS: [&str; 6] = ["kB", "MB", "GB", "TB", "PB", "EB"];
    let (mut tenths, mut unit) = (count / 100, 0);
    while tenths >= 10_000 && unit + 1 < UNITS.len() {
        (tenths, unit) = (tenths / 1000, unit + 1);
    }
    match tenths {
        small @ ..100 => format!("{}.{} {}", small / 10, small % 10, UNITS[unit]),
        large => format!("{} {}", large / 10, UNITS[unit]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    fn at(done: u64, total: u64) -> Reached {
        Reached { step: Step::Reading, done, total }
    }

    #[test]
    fn the_first_second_passes_in_silence() {
        let mut teller = Teller::default();
        assert_eq!(teller.tell(Duration::from_millis(999), at(1, 2)), None);
        assert_eq!(teller.end(), "");
        let told = teller.tell(Duration::from_secs(1), at(1, 2)).unwrap();
        assert!(told.starts_with(CLEAR) && !told.contains('\n'), "{told:?}");
        assert_eq!(teller.end(), CLEAR);
    }

    #[test]
    fn a_line_tells_how_much_of_what_and_how_fast() {
        let second = Duration::from_secs(2);
        let told = line(at(740_000_000, 1_800_000_000), second);
        assert_eq!(told, "[########------------]  41 %  reading, 740 MB of 1.8 GB, 370 MB/s");
        let pods = Reached { step: Step::Answering, done: 300, total: 1000 };
        assert_eq!(line(pods, second), "[######--------------]  30 %  answering, 300 of 1000 pods, 150 pods/s");
        // From a pipe nobody knows how much will come.
        assert_eq!(
            line(Reached { step: Step::Opening, done: 5_000_000, total: 0 }, second),
            "opening, 5.0 MB, 2.5 MB/s"
        );
        for reached in [at(0, 0), at(0, 1), at(u64::MAX, u64::MAX), at(u64::MAX - 1, u64::MAX)] {
            assert!(line(reached, Duration::from_millis(1)).len() < 80, "{}", line(reached, second));
        }
    }

    #[test]
    fn the_rate_is_that_of_the_step() {
        let mut teller = Teller::default();
        let opening = Reached { step: Step::Opening, done: 1, total: 1 };
        teller.tell(Duration::from_secs(9), opening);
        teller.tell(Duration::from_secs(10), at(0, 50_000_000));
        let told = teller.tell(Duration::from_secs(12), at(20_000_000, 50_000_000)).unwrap();
        assert!(told.ends_with("10 MB/s"), "{told}");
    }

    #[derive(Clone, Default)]
    struct Screen(Arc<Mutex<Vec<u8>>>);

    impl Write for Screen {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn the_line_is_cleared_at_the_end_and_never_written_for_short_work() {
        let screen = Screen::default();
        drop(Progress::start(Arc::new(Meter::default()), screen.clone()));
        assert!(screen.0.lock().unwrap().is_empty());
        let meter = Arc::new(Meter::default());
        meter.begin(Step::Reading, 4000);
        let progress = Progress::start(Arc::clone(&meter), screen.clone());
        meter.advance(1000);
        std::thread::sleep(PATIENCE + 2 * EVERY);
        drop(progress);
        let told = String::from_utf8(screen.0.lock().unwrap().clone()).unwrap();
        assert!(told.contains("25 %  reading, 1.0 kB of 4.0 kB"), "{told:?}");
        assert!(told.ends_with(CLEAR), "{told:?}");
    }
}
