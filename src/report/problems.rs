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

/// How many problems of one code are shown in full.
const SHOWN: usize = 3;
/// How many bytes around a problem's place are shown.
const AROUND: usize = 60;

/// Problems as text for standard error.
pub fn render(problems: &[Problem], files: &[SourceFile], width: u16, color: bool) -> String {
    let mut groups: BTreeMap<(std::cmp::Reverse<Severity>, ProblemCode), Vec<&Problem>> = BTreeMap::new();
    for problem in problems {
        groups.entry((std::cmp::Reverse(problem.code.severity()), problem.code)).or_default().push(problem);
    }
    let styles = if color { ThemeStyles::ansi() } else { ThemeStyles::none() };
    let theme = GraphicalTheme { characters: ThemeCharacters::unicode(), styles };
    let handler = GraphicalReportHandler::new_themed(theme).with_width(usize::from(width)).with_links(false);
    let mut out = String::new();
    for ((_, code), group) in groups {
        for problem in group.iter().take(SHOWN) {
            let shown = Shown::new(problem, files);
            if handler.render_report(&mut out, &shown).is_err() {
                out.push_str(&safe(&problem.message));
            }
            out.push('\n');
        }
        if group.len() > SHOWN {
            let more = count(group.len() - SHOWN, "more problem");
            let _ = write!(out, "… and {more} of {} ({})\n\n", code.text(), code.title());
        }
    }
    out
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
        let bytes: &[u8] = &files.iter().find(|it| it.path == path)?.bytes;
        if offset >= bytes.len() {
            return None;
        }
        let before = &bytes[offset.saturating_sub(AROUND)..offset];
        let before = before.rsplit(|it| *it == b'\n').next().unwrap_or_default();
        let after = &bytes[offset..bytes.len().min(offset + AROUND)];
        let after = after.split(|it| *it == b'\n').next().unwrap_or_default();
        let clean = |text: &[u8]| safe(&String::from_utf8_lossy(text)).into_owned();
        let (before, after) = (clean(before), clean(after));
        let start = bytes[..offset].iter().rev().take(1 << 16).position(|it| *it == b'\n');
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
