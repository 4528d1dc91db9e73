//! What the program knows by heart: `explain-code`, `schema`, `completions`.

use super::args::{Cli, ReportKind, When};
use super::exit::Exit;
use super::failure::Failure;
use super::io::Io;
use crate::problem::ProblemCode;
use crate::report::inspect::InspectReport;
use crate::report::json::{CompareReport, ComparedPod, ExplainReport, PodReport, VersionsReport};
use crate::report::ndjson::{PodLine, ProblemLine};
use clap::CommandFactory;
use schemars::generate::SchemaSettings;

/// `explain-code`: one code at length, or all of them.
pub(crate) fn explain_code(code: Option<&str>, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let Some(asked) = code else {
        let line = |it: &ProblemCode| format!("{}  {:<7}  {}\n", it.text(), it.severity().to_string(), it.title());
        io.print(&ProblemCode::ALL.iter().map(line).collect::<String>())?;
        return Ok(Exit::Clean);
    };
    let Some(code) = ProblemCode::ALL.iter().find(|it| it.text().eq_ignore_ascii_case(asked)) else {
        return Err(Failure::new(format!("there is no problem code `{asked}`")).help("`explain-code` alone lists all"));
    };
    let explanation: Vec<&str> = code.explanation().lines().map(str::trim).collect();
    let mut page = io.page(When::Never);
    page.sentence(0, &format!("{} ({}): {}", code.text(), code.severity(), code.title()));
    page.gap();
    page.sentence(0, explanation.join(" ").trim());
    page.gap();
    page.sentence(0, &format!("What it changes: {}.", code.changes()));
    page.sentence(0, &format!("What to do: {}.", code.remedy()));
    io.print(page.text())?;
    Ok(Exit::Clean)
}

/// `schema`: the JSON Schema of a report.
pub(crate) fn schema(report: ReportKind, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let schema = match report {
        ReportKind::Explain => generator.into_root_schema_for::<ExplainReport<Vec<PodReport<'_>>>>(),
        ReportKind::Compare => generator.into_root_schema_for::<CompareReport<Vec<ComparedPod>>>(),
        ReportKind::PodLine => generator.into_root_schema_for::<PodLine>(),
        ReportKind::ProblemLine => generator.into_root_schema_for::<ProblemLine>(),
        ReportKind::Inspect => generator.into_root_schema_for::<InspectReport>(),
        ReportKind::Versions => generator.into_root_schema_for::<VersionsReport>(),
    };
    super::explain::write_json(&schema, io)?;
    Ok(Exit::Clean)
}

/// `completions`: a script for a shell.
pub(crate) fn completions(shell: clap_complete::Shell, io: &mut Io<'_>) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "preempt-audit", &mut script);
    io.print(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Clean)
}
