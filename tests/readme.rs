//! The README shows real output: every `console` block is run, and what it shows is what the program prints.
//!
//! `UPDATE_README=1 cargo test --test readme` writes the blocks anew; read the difference before you commit it.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use preempt_audit::problem::ProblemCode;
use std::fs;

const PROMPT: &str = "$ preempt-audit ";

/// The README with every block's output, and the table of problem codes, as they are now.
fn as_it_should_be(readme: &str) -> String {
    let mut out = String::new();
    let mut lines = readme.lines();
    while let Some(line) = lines.next() {
        if line == "PROBLEM_CODES" || line == "| code | severity | what |" {
            out.push_str(&problem_codes());
            if line != "PROBLEM_CODES" {
                lines.by_ref().find(|it| it.is_empty());
                out.push('\n');
            }
            continue;
        }
        out.push_str(line);
        out.push('\n');
        if let Some(arguments) = line.strip_prefix(PROMPT) {
            let output = common::run(&arguments.split(' ').collect::<Vec<_>>());
            assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
            out.push_str(&String::from_utf8(output.stdout).unwrap());
            lines.by_ref().find(|it| *it == "```");
            out.push_str("```\n");
        }
    }
    out
}

fn problem_codes() -> String {
    let mut table = "| code | severity | what |\n| --- | --- | --- |\n".to_owned();
    for code in ProblemCode::ALL {
        table = format!("{table}| {} | {} | {} |\n", code.text(), code.severity(), code.title());
    }
    table
}

#[test]
fn the_readme_shows_what_the_program_prints() {
    let readme = fs::read_to_string("README.md").unwrap();
    let wanted = as_it_should_be(&readme);
    if std::env::var_os("UPDATE_README").is_some() {
        fs::write("README.md", &wanted).unwrap();
        return;
    }
    for (at, (is, should)) in readme.lines().zip(wanted.lines()).enumerate() {
        assert_eq!(is, should, "line {} of README.md", at + 1);
    }
    assert_eq!(readme.lines().count(), wanted.lines().count(), "README.md is too short or too long");
}
