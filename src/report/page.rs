//! Plain text for people: paint, tables and wrapped sentences, as wide as the terminal.

use super::escape::safe;
use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table, presets};
use std::fmt::Write as _;

/// Width where there is no terminal.
pub const DEFAULT_WIDTH: u16 = 80;

/// How text is painted. Without colour nothing but text is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paint {
    /// Not at all.
    Plain,
    /// With ANSI escapes.
    Color,
}

/// What a piece of text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    /// A heading.
    Heading,
    /// Something that is lost.
    Bad,
    /// Something that is kept.
    Good,
    /// Something to be careful about.
    Careful,
    /// Something beside the point.
    Faint,
}

impl Paint {
    /// The text, painted.
    pub fn on(self, ink: Ink, text: &str) -> String {
        let code = match (self, ink) {
            (Paint::Plain, _) => return text.to_owned(),
            (Paint::Color, Ink::Heading) => "1",
            (Paint::Color, Ink::Bad) => "31",
            (Paint::Color, Ink::Good) => "32",
            (Paint::Color, Ink::Careful) => "33",
            (Paint::Color, Ink::Faint) => "2",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}

/// Text that grows line by line. Whatever is put on it has its unsafe characters escaped.
#[derive(Debug)]
pub struct Page {
    /// How it is painted.
    pub paint: Paint,
    /// Columns.
    pub width: u16,
    out: String,
    resumed: bool,
}

impl Page {
    /// An empty page.
    pub fn new(paint: Paint, width: u16) -> Self {
        Page { paint, width: width.max(40), out: String::new(), resumed: false }
    }

    /// What stands on it.
    pub fn text(&self) -> &str {
        &self.out
    }

    /// Takes what stands on it.
    pub fn take(&mut self) -> String {
        std::mem::take(&mut self.out)
    }

    /// Goes on after what was taken.
    pub fn resume(&mut self) {
        self.resumed = true;
    }

    /// An empty line, unless the page is empty.
    pub fn gap(&mut self) {
        if self.resumed || !self.out.is_empty() {
            self.out.push('\n');
        }
    }

    /// A heading after an empty line.
    pub fn heading(&mut self, text: &str) {
        self.gap();
        let text = self.paint.on(Ink::Heading, &safe(text));
        let _ = writeln!(self.out, "{text}");
    }

    /// A sentence, wrapped, its first line indented by `indent` and the others by two more.
    pub fn sentence(&mut self, indent: usize, text: &str) {
        self.painted(indent, None, text);
    }

    /// A painted sentence.
    pub fn painted(&mut self, indent: usize, ink: Option<Ink>, text: &str) {
        let text = safe(text);
        let first = " ".repeat(indent);
        let rest = " ".repeat(indent + 2);
        let options = textwrap::Options::new(usize::from(self.width))
            .initial_indent(&first)
            .subsequent_indent(&rest)
            .break_words(false)
            .word_splitter(textwrap::WordSplitter::NoHyphenation);
        for line in textwrap::wrap(&text, options) {
            let line = match ink {
                Some(ink) => self.paint.on(ink, &line),
                None => line.into_owned(),
            };
            let _ = writeln!(self.out, "{line}");
        }
    }

    /// A line that is never wrapped, such as a command to be copied.
    pub fn verbatim(&mut self, indent: usize, text: &str) {
        let _ = writeln!(self.out, "{:indent$}{}", "", safe(text));
    }

    /// A table, indented by two, each row with lines of its own beneath it.
    pub fn table(&mut self, columns: &[Column<'_>], rows: Vec<TableRow>) {
        let mut table = Table::new();
        table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
        table.set_header(columns.iter().map(|it| it.title));
        for row in &rows {
            table.add_row(row.cells.iter().map(|it| safe(it).into_owned()));
        }
        for (at, column) in columns.iter().enumerate() {
            if let Some(it) = table.column_mut(at) {
                it.set_padding((0, 2));
                it.set_constraint(ColumnConstraint::ContentWidth);
                it.set_cell_alignment(if column.right { CellAlignment::Right } else { CellAlignment::Left });
            }
        }
        let mut lines = table.lines();
        let head = lines.next().unwrap_or_default();
        let head = self.paint.on(Ink::Faint, head.trim_end());
        let _ = writeln!(self.out, "  {head}");
        for (row, line) in rows.iter().zip(lines) {
            let line = match row.ink {
                Some(ink) => self.paint.on(ink, line.trim_end()),
                None => line.trim_end().to_owned(),
            };
            let _ = writeln!(self.out, "  {line}");
            for below in &row.below {
                self.painted(4, Some(Ink::Faint), below);
            }
        }
    }
}

/// A column of a table.
#[derive(Clone, Copy, Debug)]
pub struct Column<'t> {
    title: &'t str,
    right: bool,
}

/// A column of words.
pub const fn words(title: &str) -> Column<'_> {
    Column { title, right: false }
}

/// A column of numbers.
pub const fn numbers(title: &str) -> Column<'_> {
    Column { title, right: true }
}

/// A row of a table.
#[derive(Debug, Default)]
pub struct TableRow {
    cells: Vec<String>,
    below: Vec<String>,
    ink: Option<Ink>,
}

impl TableRow {
    /// A row of cells.
    pub fn new(cells: Vec<String>) -> Self {
        TableRow { cells, ..TableRow::default() }
    }

    /// With a line beneath.
    #[must_use]
    pub fn below(mut self, line: impl Into<String>) -> Self {
        self.below.push(line.into());
        self
    }

    /// Painted.
    #[must_use]
    pub fn painted(mut self, ink: Ink) -> Self {
        self.ink = Some(ink);
        self
    }
}
