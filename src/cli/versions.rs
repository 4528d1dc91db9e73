//! `versions`: what differs between releases.

use super::args::{Form, Versions};
use super::exit::Exit;
use super::failure::Failure;
use super::io::Io;
use super::scheduler;
use crate::kube::behavior::{Behavior, Field};
use crate::kube::gates::Gates;
use crate::kube::release::Release;
use crate::report::json::{API_VERSION, FieldRow, Tool, VariantRow, VersionsReport};
use crate::report::page::{Ink, Page, TableRow, words};

/// Runs `versions`.
pub(crate) fn run(args: &Versions, io: &mut Io<'_>) -> Result<Exit, Failure> {
    if args.output.form() == Form::Ndjson {
        return Err(Failure::new("-o ndjson is for answers about pods").help("ask with -o json"));
    }
    let releases: Vec<Release> = if args.releases.is_empty() {
        Release::known().flat_map(|it| (0..=it.patch).map(move |patch| Release::new(it.minor, patch))).collect()
    } else {
        args.releases.iter().map(|it| scheduler::parse(it).map(|it| it.release)).collect::<Result<_, _>>()?
    };
    let behaviors: Vec<Behavior> = releases.iter().map(|it| Behavior::of(*it, &Gates::defaults(*it))).collect();
    let table = Table { releases, behaviors, asked: !args.releases.is_empty() };
    if args.output.form() == Form::Json {
        super::explain::write_json(&table.report(), io)?;
    } else {
        let mut page = io.page(args.output.color);
        if table.asked {
            table.side_by_side(&mut page);
        } else {
            table.by_field(&mut page);
        }
        io.print(&page.take())?;
    }
    Ok(Exit::Clean)
}

struct Table {
    releases: Vec<Release>,
    behaviors: Vec<Behavior>,
    /// The releases were named; without, they are all there are.
    asked: bool,
}

impl Table {
    /// Fields that differ between the releases; all where one release alone is asked about.
    fn fields(&self) -> impl Iterator<Item = (usize, &'static str, &'static Field)> {
        let differs = |at: usize| self.behaviors.iter().any(|it| it.get(at) != self.behaviors[0].get(at));
        let all = Behavior::fields().into_iter().enumerate().map(|(at, (group, field))| (at, group, field));
        all.filter(move |(at, ..)| self.behaviors.len() == 1 || differs(*at))
    }

    fn report(&self) -> VersionsReport {
        let row = |(at, group, field): (usize, &str, &'static Field)| FieldRow {
            name: format!("{group}.{}", field.name),
            doc: one_line(field.doc),
            variants: field
                .variants
                .iter()
                .enumerate()
                .map(|(variant, (name, meaning))| VariantRow {
                    name,
                    meaning: one_line(meaning),
                    releases: self.ranges(at, variant),
                })
                .collect(),
            proof: Some(field.proof).filter(|it| !it.is_empty()),
        };
        VersionsReport {
            api_version: API_VERSION,
            kind: "VersionsReport",
            tool: Tool::THIS,
            releases: self.releases.iter().map(Release::to_string).collect(),
            fields: self.fields().map(row).collect(),
        }
    }

    /// The releases that do a variant, as ranges.
    fn ranges(&self, field: usize, variant: usize) -> Vec<String> {
        let does = |at: usize| self.behaviors[at].get(field) == variant;
        if self.asked {
            return (0..self.releases.len()).filter(|at| does(*at)).map(|at| self.releases[at].to_string()).collect();
        }
        let mut ranges = Vec::new();
        let mut at = 0;
        while at < self.releases.len() {
            if !does(at) {
                at += 1;
                continue;
            }
            let start = at;
            while at < self.releases.len() && does(at) {
                at += 1;
            }
            ranges.push(range(self.releases[start], self.releases[at - 1]));
        }
        ranges
    }

    fn by_field(&self, page: &mut Page) {
        for (at, group, field) in self.fields() {
            page.heading(&format!("{group}.{}", field.name));
            page.painted(2, Some(Ink::Faint), &one_line(field.doc));
            for (variant, (name, meaning)) in field.variants.iter().enumerate() {
                let ranges = self.ranges(at, variant);
                if !ranges.is_empty() {
                    page.sentence(2, &format!("{}: {name}: {}", ranges.join(", "), one_line(meaning)));
                }
            }
        }
    }

    fn side_by_side(&self, page: &mut Page) {
        let mut rows = Vec::new();
        for (at, group, field) in self.fields() {
            let mut cells = vec![format!("{group}.{}", field.name)];
            cells.extend(self.behaviors.iter().map(|it| field.variants[it.get(at)].0.to_owned()));
            rows.push(TableRow::new(cells).below(one_line(field.doc)));
        }
        if rows.is_empty() {
            return page.sentence(0, "These releases behave alike in everything that is computed here.");
        }
        let titles: Vec<String> = self.releases.iter().map(Release::to_string).collect();
        let mut columns = vec![words("BEHAVIOUR")];
        columns.extend(titles.iter().map(|it| words(it)));
        page.table(&columns, rows);
    }
}

fn range(first: Release, last: Release) -> String {
    let whole = |it: Release| it.patch == Release::of_minor(it.minor).patch;
    match (first.patch, whole(last)) {
        (0, true) if first.minor == last.minor => format!("1.{}", first.minor),
        (0, true) => format!("1.{} – 1.{}", first.minor, last.minor),
        (0, false) if first.minor == last.minor => format!("{first} – {last}"),
        (0, false) => format!("1.{} – {last}", first.minor),
        (_, true) if first.minor == last.minor => format!("{first} on"),
        (_, true) => format!("{first} – 1.{}", last.minor),
        (_, false) if first == last => first.to_string(),
        (_, false) => format!("{first} – {last}"),
    }
}

/// Documentation as one line.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
