//! Rows of a report that are made while they are written: a report about thousands of nodes holds none of them.

use crate::model::time::Time;
use serde::ser::{Serialize, Serializer};
use std::fmt;

/// What makes the rows, from the first on.
type Make<'a, Row> = Box<dyn Fn() -> Box<dyn Iterator<Item = Row> + 'a> + 'a>;

/// A list.
pub struct Rows<'a, Row> {
    make: Option<Make<'a, Row>>,
}

impl<'a, Row: 'a> Rows<'a, Row> {
    /// The rows of some things; a row is made when its turn comes.
    pub fn of<Thing>(things: &'a [Thing], row: impl Fn(usize, &'a Thing) -> Row + Clone + 'a) -> Self {
        if things.is_empty() {
            return Rows::none();
        }
        Rows::made(move || {
            let row = row.clone();
            Box::new(things.iter().enumerate().map(move |(at, it)| row(at, it)))
        })
    }

    /// Rows that are made by whoever is called for them: at least one.
    pub fn made(make: impl Fn() -> Box<dyn Iterator<Item = Row> + 'a> + 'a) -> Self {
        Rows { make: Some(Box::new(make)) }
    }

    /// No row.
    pub fn none() -> Self {
        Rows { make: None }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.make.is_none()
    }

    fn rows(&self) -> Box<dyn Iterator<Item = Row> + 'a> {
        match &self.make {
            Some(make) => make(),
            None => Box::new(std::iter::empty()),
        }
    }
}

impl<'a, Row: Serialize + 'a> Serialize for Rows<'a, Row> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.rows())
    }
}

impl<'a, Row: 'a> fmt::Debug for Rows<'a, Row> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_empty() { "[]" } else { "[…]" })
    }
}

/// An object with a row for each name.
pub struct Named<'a, Row>(pub Rows<'a, (&'a str, Row)>);

impl<'a, Row: 'a> Named<'a, Row> {
    /// No row.
    pub fn none() -> Self {
        Named(Rows::none())
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<'a, Row: Serialize + 'a> Serialize for Named<'a, Row> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.rows())
    }
}

impl<'a, Row: 'a> fmt::Debug for Named<'a, Row> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A time, as the API server writes it.
#[derive(Clone, Copy, Debug)]
pub struct TimeText(pub Time);

impl Serialize for TimeText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// `Kind/name` of a controller.
#[derive(Clone, Copy, Debug)]
pub struct OwnerText<'a> {
    /// The kind.
    pub kind: &'a str,
    /// The name.
    pub name: &'a str,
}

impl fmt::Display for OwnerText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind)?;
        f.write_str("/")?;
        f.write_str(self.name)
    }
}

impl Serialize for OwnerText<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
