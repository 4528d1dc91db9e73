//! Problems for people: grouped by code and capped, each with its place.

use super::amount::count;
use super::escape::{safe, safe_lines};
use super::json::ProblemRow;
use crate::problem::{Problem, ProblemCode, Severity};
use crate::source::files::SourceFile;
use miette::{
    Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteError, MietteSpanContents, SourceCode,
    SourceSpan, SpanContents, ThemeCharacters, ThemeStyles,
};
use std::collections::BTreeMap;
use std::fmt;
use std::fmt::Write as _;

/// As many problems of one sort are shown in full; of more, the first is, and the places of the next.
const SHOWN: usize = 3;
/// How many sorts of one code are shown.
const SORTS: usize = 4;

/// Problems as text for standard error. However many there are, it is bounded.
pub fn render(problems: &[Problem], files: &[SourceFile], width: u16, color: bool) -> String {
    let mut codes: BTreeMap<(std::cmp::Reverse<Severity>, ProblemCode), Vec<&Problem>> = BTreeMap::new();
    for problem in problems {
        codes.entry((std::cmp::Reverse(problem.code.severity()), problem.code)).or_default().push(problem);
    }
    let styles = if color { ThemeStyles::ansi() } else { ThemeStyles::none() };
    let theme = GraphicalTheme { characters: ThemeCharacters::unicode(), styles };
    let handler = GraphicalReportHandler::new_themed(theme).with_width(usize::from(width)).with_links(false);
    let mut out = String::new();
    for ((_, code), group) in codes {
        let sorts = sorts(&group);
        for sort in sorts.iter().take(SORTS) {
            let in_full = if sort.len() > SHOWN { 1 } else { sort.len() };
            for problem in &sort[..in_full] {
                let shown = Shown::new(problem, files);
                if handler.render_report(&mut out, &shown).is_err() {
                    out.push_str(&safe(&problem.message));
                }
                out.push('\n');
            }
            if sort.len() > in_full {
                // Paths are not broken: a terminal that knows links knows whole ones.
                let options = textwrap::Options::new(usize::from(width))
                    .word_separator(textwrap::WordSeparator::AsciiSpace)
                    .word_splitter(textwrap::WordSplitter::NoHyphenation)
                    .break_words(false);
                let _ = write!(out, "{}\n\n", textwrap::fill(&like_it(&sort[in_full..]), options));
            }
        }
        let unseen: usize = sorts.iter().skip(SORTS).map(Vec::len).sum();
        let more = group.iter().fold(unseen as u64, |sum, it| sum.saturating_add(it.more));
        if more > 0 {
            let more = count(usize::try_from(more).unwrap_or(usize::MAX), "more problem");
            let _ = write!(out, "… and {more} of {} ({})\n\n", code.text(), code.title());
        }
    }
    out
}

/// The problems that say the same of different places stand together.
fn sorts<'p>(problems: &[&'p Problem]) -> Vec<Vec<&'p Problem>> {
    let mut sorts: Vec<Vec<&Problem>> = Vec::new();
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    for problem in problems {
        let mut said = problem.message.clone();
        for name in [&problem.object, &problem.path].into_iter().flatten() {
            said = said.replace(name.as_str(), "");
        }
        let at = *known.entry(said).or_insert(sorts.len());
        if at == sorts.len() {
            sorts.push(Vec::new());
        }
        sorts[at].push(problem);
    }
    sorts
}

/// `… and 997 like it: Pod shop/a (dump.json:31), Pod shop/b (dump.json:92) and 995 more`
fn like_it(problems: &[&Problem]) -> String {
    let place = |it: &&Problem| {
        let line = it.line.map_or(String::new(), |line| format!(":{line}"));
        let file = it.path.as_deref().map(|path| format!("{}{line}", safe(path)));
        match (it.object.as_deref().map(safe), file) {
            (Some(object), Some(file)) => format!("{object} ({file})"),
            (Some(object), None) => object.into_owned(),
            (None, file) => file.unwrap_or_else(|| safe(&it.message).into_owned()),
        }
    };
    let places: Vec<String> = problems.iter().take(SHOWN).map(place).collect();
    let more = match problems.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("… and {} like it: {}{more}", problems.len(), places.join(", "))
}

/// The same for programs.
pub fn row(problem: &Problem) -> ProblemRow {
    ProblemRow {
        code: problem.code.text(),
        severity: problem.code.severity().to_string(),
        message: problem.message.clone(),
        path: problem.path.clone(),
        offset: problem.offset,
        line: problem.line,
        object: problem.object.clone(),
        help: problem.help.clone(),
        more: Some(problem.more).filter(|it| *it > 0),
    }
}

/// A problem as miette shows it.
#[derive(Debug)]
struct Shown<'p> {
    problem: &'p Problem,
    message: String,
    help: Option<String>,
    excerpt: Option<Excerpt>,
}

impl<'p> Shown<'p> {
    fn new(problem: &'p Problem, files: &[SourceFile]) -> Self {
        let mut message = safe(&problem.message).into_owned();
        let excerpt = Excerpt::of(problem, files);
        if excerpt.is_none()
            && let Some(path) = &problem.path
            && !problem.message.contains(path.as_str())
        {
            let line = problem.line.map_or(String::new(), |it| format!(":{it}"));
            message = format!("{}{line}: {message}", safe(path));
        }
        if let Some(object) = &problem.object
            && !problem.message.contains(object.as_str())
        {
            message = format!("{message} ({})", safe(object));
        }
        Shown { problem, message, help: problem.help.as_deref().map(safe_lines), excerpt }
    }
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Shown<'_> {}

impl Diagnostic for Shown<'_> {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(self.problem.code.text()))
    }

    fn severity(&self) -> Option<miette::Severity> {
        Some(match self.problem.code.severity() {
            Severity::Note => miette::Severity::Advice,
            Severity::Warning => miette::Severity::Warning,
            Severity::Error => miette::Severity::Error,
        })
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help.as_ref().map(|it| Box::new(it) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.excerpt.as_ref().map(|it| it as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let excerpt = self.excerpt.as_ref()?;
        let label = LabeledSpan::new_with_span(Some("here".to_owned()), excerpt.span);
        Some(Box::new(std::iter::once(label)))
    }
}

/// The line of a problem, cut short, with its place in the file.
#[derive(Debug)]
struct Excerpt {
    name: String,
    text: String,
    span: SourceSpan,
    line: usize,
    column: usize,
}

impl Excerpt {
    fn of(problem: &Problem, files: &[SourceFile]) -> Option<Self> {
        let path = problem.path.as_deref()?;
        let offset = usize::try_from(problem.offset?).ok()?;
        let line = usize::try_from(problem.line?).ok()?;
        let around = files.iter().find(|it| it.path == path)?.around(problem.offset?)?;
        let clean = |text: &[u8]| safe(&String::from_utf8_lossy(text)).into_owned();
        let (before, after) = (clean(&around.before), clean(&around.after));
        let start = around.line_begin.and_then(|it| usize::try_from(it).ok());
        let column = start.unwrap_or(offset.min(1 << 16)) - before.len().min(start.unwrap_or(offset));
        let length = after.chars().next().map_or(0, char::len_utf8);
        Some(Excerpt {
            name: safe(path).into_owned(),
            span: SourceSpan::from((before.len(), length)),
            text: format!("{before}{after}"),
            line: line.saturating_sub(1),
            column,
        })
    }
}

impl SourceCode for Excerpt {
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        _lines_before: usize,
        _lines_after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        if span.offset() > self.text.len() {
            return Err(MietteError::OutOfBounds);
        }
        let whole = SourceSpan::from((0, self.text.len()));
        let data = self.text.as_bytes();
        Ok(Box::new(MietteSpanContents::new_named(self.name.clone(), data, whole, self.line, self.column, 1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn damaged(pod: usize, what: &str) -> Problem {
        let object = format!("Pod shop/web-{pod}");
        let mut problem = Problem::new(ProblemCode::DamagedObject, format!("{object}: {what}"));
        (problem.path, problem.line) = (Some("dump.json".to_owned()), Some(pod as u64 + 1));
        problem.object = Some(object);
        problem
    }

    #[test]
    fn thousands_of_one_sort_are_one_group_and_do_not_hide_another() {
        let mut problems: Vec<Problem> = (0..900).map(|pod| damaged(pod, "want a number")).collect();
        problems.push(Problem { more: 5, ..damaged(7, "want a \u{1b}list") });
        let text = render(&problems, &[], 80, false);
        assert_eq!(text.matches("want a number").count(), 1, "{text}");
        assert!(text.contains("… and 899 like it: Pod shop/web-1 (dump.json:2)"), "{text}");
        assert!(text.contains("896 more"), "{text}");
        assert!(text.contains("want a \\u{1b}list"), "{text}");
        assert!(text.contains("… and 5 more problems of PA0104"), "{text}");
        assert!(text.contains("help"), "{text}");
    }

    #[test]
    fn what_is_printed_is_bounded() {
        let all = |at: usize| ProblemCode::ALL.iter().map(move |code| Problem::new(*code, format!("sort {at}")));
        let problems: Vec<Problem> = (0..1000).flat_map(all).collect();
        let text = render(&problems, &[], 80, false);
        assert!(text.lines().count() < ProblemCode::ALL.len() * (SORTS * 8 + 2), "{}", text.lines().count());
    }
}
