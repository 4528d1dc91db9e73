//! How values are written and read: little-endian, one behind the other, without names.
//!
//! Reading trusts nothing. An id is held against the length of its table while it is read, so that no other code meets
//! one that points nowhere; a length makes no more room than bytes are there to fill; what does not fit is [`Damaged`].

use super::Damaged;
use crate::model::id::{FileId, LabelSetId, NamespaceId, NodeId, PodId, ResourceId, Symbol};
use crate::model::time::Time;
use crate::model::uid::Uid;
use std::collections::BTreeMap;
use std::sync::Arc;

/// How many entries the tables have that ids point into.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sizes {
    pub(super) symbols: u32,
    pub(super) label_sets: u32,
    pub(super) namespaces: u32,
    pub(super) nodes: u32,
    pub(super) pods: u32,
    pub(super) resources: u32,
    pub(super) files: u32,
}

/// A text that is being read.
pub(super) struct In<'b> {
    bytes: &'b [u8],
    pub(super) sizes: Sizes,
}

impl<'b> In<'b> {
    pub(super) fn new(bytes: &'b [u8], sizes: Sizes) -> Self {
        In { bytes, sizes }
    }

    /// The next bytes.
    pub(super) fn bytes(&mut self, count: usize) -> Result<&'b [u8], Damaged> {
        let (taken, rest) = self.bytes.split_at_checked(count).ok_or(Damaged)?;
        self.bytes = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Damaged> {
        let (taken, rest) = self.bytes.split_first_chunk().ok_or(Damaged)?;
        self.bytes = rest;
        Ok(*taken)
    }

    /// A value of the type that is asked for.
    #[inline]
    pub(super) fn take<T: Wire>(&mut self) -> Result<T, Damaged> {
        T::take(self)
    }

    /// Fails unless everything is read.
    pub(super) fn end(self) -> Result<(), Damaged> {
        if self.bytes.is_empty() { Ok(()) } else { Err(Damaged) }
    }
}

/// A value that can be written and read.
pub(super) trait Wire: Sized {
    fn put(&self, out: &mut Vec<u8>);
    fn take(from: &mut In<'_>) -> Result<Self, Damaged>;
}

macro_rules! numbers {
    ($($type:ty),*) => {$(
        impl Wire for $type {
            #[inline]
            fn put(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }

            #[inline]
            fn take(from: &mut In<'_>) -> Result<Self, Damaged> {
                Ok(Self::from_le_bytes(from.array()?))
            }
        }
    )*};
}

numbers!(u8, u16, u32, u64, i32, i64, i128);

impl Wire for bool {
    #[inline]
    fn put(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }

    #[inline]
    fn take(from: &mut In<'_>) -> Result<Self, Damaged> {
        match from.take::<u8>()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Damaged),
        }
    }
}

macro_rules! ids {
    ($($name:ident in $size:ident),*) => {$(
        impl Wire for $name {
            #[inline]
            fn put(&self, out: &mut Vec<u8>) {
                self.0.put(out);
            }

            #[inline]
            fn take(from: &mut In<'_>) -> Result<Self, Damaged> {
                let id: u32 = from.take()?;
                if id < from.sizes.$size { Ok($name(id)) } else { Err(Damaged) }
            }
        }
    )*};
}

ids!(LabelSetId in label_sets, NamespaceId in namespaces, NodeId in nodes, PodId in pods, ResourceId in resources);

impl Wire for Symbol {
    #[inline]
    fn put(&self, out: &mut Vec<u8>) {
        self.number().put(out);
    }

    #[inline]
    fn take(from: &mut In<'_>) -> Result<Self, Damaged> {
        let symbol = Symbol::of_number(from.take()?).ok_or(Damaged)?;
        if symbol.number() <= from.sizes.symbols { Ok(symbol) } else { Err(Damaged) }
    }
}

impl Wire for FileId {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
    }

    fn take(from: &mut In<'_>) -> Result<Self, Damaged> {
        let id: u32 = from.take()?;
        // The last is no file: the origin of what no file holds.
        if id < from.sizes.files || id == u32::MAX { Ok(FileId(id)) } else { Err(Damaged) }
    }
}

impl Wire for Time {
    #[inline]
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
    }

    #[inline]
    fn take(from: &mut In<'_>) -> Result<Self, Damaged> {
        from.take().map(Time)
    }
}

impl Wire for Uid {
    #[inline]
    fn put(&self, out: &mut Vec<u8>) {
        // No UID has 0 in its first half.
        match self.symbol() {
            Some(symbol) => (0_u64, symbol).put(out),
            None => self.halves().put(out),
        }
    }

    #[inline]
    fn take(from: &mut In<'_>) -> Result<Self, Damaged> {
        match from.take::<u64>()? {
            0 => from.take().map(Uid::of_symbol),
            high => Uid::of_halves(high, from.take()?).ok_or(Damaged),
        }
    }
}

impl<T: Wire> Wire for Option<T> {
    #[inline]
    fn put(&self, out: &mut Vec<u8>) {
        self.is_some().put(out);
        if let Some(value) = self {
            value.put(out);
        }
    }

    #[inline]
    fn take(from: &mut In<'_>) -> Result<Self, Damaged> {
        from.take::<bool>()?.then(|| from.take()).transpose()
    }
}

/// Writes a length; what is longer than 2^32 has no place in a cluster.
pub(super) fn put_length(length: usize, out: &mut Vec<u8>) {
    u32::try_from(length).expect("no table outgrows its ids").put(out);
}

/// Writes items behind their number.
pub(super) fn put_all<T: Wire>(items: &[T], out: &mut Vec<u8>) {
    put_length(items.len(), out);
    items.iter().for_each(|item| item.put(out));
}

/// Room that is made before the items are there to fill it.
const AT_ONCE: usize = 4096;

impl<T: Wire> Wire for Vec<T> {
    fn put(&self, out: &mut Vec<u8>) {
        put_all(self, out);
    }

    #[inline]
    fn take(from: &mut In<'_>) -> Result<Self, Damaged> {
        let length = from.take::<u32>()? as usize;
        if length == 0 {
            return Ok(Vec::new());
        }
        let mut items = Vec::with_capacity(length.min(AT_ONCE).min(from.bytes.len()));
        for _ in 0..length {
            items.push(from.take()?);
        }
        Ok(items)
    }
}

impl<T: Wire> Wire for Box<[T]> {
    fn put(&self, out: &mut Vec<u8>) {
        put_all(self, out);
    }

    #[inline]
    fn take(from: &mut In<'_>) -> Result<Self, Damaged> {
        from.take::<Vec<T>>().map(Vec::into_boxed_slice)
    }
}

impl<T: Wire> Wire for Box<T> {
    fn put(&self, out: &mut Vec<u8>) {
        (**self).put(out);
    }

    fn take(from: &mut In<'_>) -> Result<Self, Damaged> {
        from.take().map(Box::new)
    }
}

impl<A: Wire, B: Wire> Wire for (A, B) {
    #[inline]
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
        self.1.put(out);
    }

    #[inline]
    fn take(from: &mut In<'_>) -> Result<Self, Damaged> {
        Ok((from.take()?, from.take()?))
    }
}

impl<T: Wire, const N: usize> Wire for [T; N]
where
    T: Copy + Default,
{
    fn put(&self, out: &mut Vec<u8>) {
        self.iter().for_each(|it| it.put(out));
    }

    fn take(from: &mut In<'_>) -> Result<Self, Damaged> {
        let mut items = [T::default(); N];
        for item in &mut items {
            *item = from.take()?;
        }
        Ok(items)
    }
}

impl<K: Wire + Ord, V: Wire> Wire for BTreeMap<K, V> {
    fn put(&self, out: &mut Vec<u8>) {
        put_length(self.len(), out);
        for (key, value) in self {
            key.put(out);
            value.put(out);
        }
    }

    fn take(from: &mut In<'_>) -> Result<Self, Damaged> {
        Ok(from.take::<Vec<(K, V)>>()?.into_iter().collect())
    }
}

impl Wire for String {
    fn put(&self, out: &mut Vec<u8>) {
        put_length(self.len(), out);
        out.extend_from_slice(self.as_bytes());
    }

    fn take(from: &mut In<'_>) -> Result<Self, Damaged> {
        let length = from.take::<u32>()? as usize;
        let bytes = from.bytes(length)?;
        Ok(std::str::from_utf8(bytes).ok().ok_or(Damaged)?.to_owned())
    }
}

impl Wire for Arc<str> {
    fn put(&self, out: &mut Vec<u8>) {
        put_length(self.len(), out);
        out.extend_from_slice(self.as_bytes());
    }

    fn take(from: &mut In<'_>) -> Result<Self, Damaged> {
        from.take::<String>().map(Arc::from)
    }
}

/// Structs, field by field. A field that is not named here does not compile.
macro_rules! records {
    ($($name:ident { $($field:ident),* $(,)? })*) => {$(
        impl $crate::index::wire::Wire for $name {
            #[inline]
            fn put(&self, out: &mut Vec<u8>) {
                let $name { $($field),* } = self;
                $($crate::index::wire::Wire::put($field, out);)*
            }

            #[inline]
            fn take(from: &mut $crate::index::wire::In<'_>) -> Result<Self, $crate::index::Damaged> {
                Ok($name { $($field: from.take()?),* })
            }
        }
    )*};
}

/// Enums: a number, then what the variant holds. A variant that is not named here does not compile.
macro_rules! choices {
    ($($name:ident { $($tag:literal $variant:ident $(($inner:ident))? $({ $($field:ident),* })?),* $(,)? })*) => {$(
        impl $crate::index::wire::Wire for $name {
            #[inline]
            fn put(&self, out: &mut Vec<u8>) {
                match self {
                    $($name::$variant $(($inner))? $({ $($field),* })? => {
                        out.push($tag);
                        $($crate::index::wire::Wire::put($inner, out);)?
                        $($($crate::index::wire::Wire::put($field, out);)*)?
                    })*
                }
            }

            #[inline]
            fn take(from: &mut $crate::index::wire::In<'_>) -> Result<Self, $crate::index::Damaged> {
                Ok(match from.take::<u8>()? {
                    $($tag => $name::$variant
                        $(({
                            let $inner = from.take()?;
                            $inner
                        }))?
                        $({ $($field: from.take()?),* })?,)*
                    _ => return Err($crate::index::Damaged),
                })
            }
        }
    )*};
}

pub(super) use {choices, records};

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: Sizes = Sizes { symbols: 3, label_sets: 1, namespaces: 1, nodes: 1, pods: 1, resources: 1, files: 1 };

    #[test]
    fn an_id_that_points_nowhere_is_not_read() {
        let read = |id: u32| In::new(&id.to_le_bytes(), SIZES).take::<Symbol>();
        assert_eq!((read(0), read(3), read(4)), (Err(Damaged), Ok(Symbol::at(2)), Err(Damaged)));
        let file = |id: u32| In::new(&id.to_le_bytes(), SIZES).take::<FileId>();
        assert_eq!((file(u32::MAX), file(1)), (Ok(FileId(u32::MAX)), Err(Damaged)));
    }

    #[test]
    fn a_length_alone_makes_no_room() {
        let bytes = [0xff, 0xff, 0xff, 0xff, 1, 2, 3];
        assert_eq!(In::new(&bytes, SIZES).take::<Vec<u64>>(), Err(Damaged));
        assert_eq!(In::new(&bytes, SIZES).take::<String>(), Err(Damaged));
        assert_eq!(In::new(&[2], SIZES).take::<bool>(), Err(Damaged));
    }
}
