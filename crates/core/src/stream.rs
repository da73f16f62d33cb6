//! The bytes of an image on their way out and in.

use std::convert::Infallible;

/// Takes the bytes of an image.
pub trait Sink {
    /// Why bytes could not be taken.
    type Error;
    /// Takes some bytes.
    ///
    /// # Errors
    /// Whatever keeps the sink from taking them.
    fn put(&mut self, bytes: &[u8]) -> Result<(), Self::Error>;
}

/// Gives the bytes of an image.
pub trait Source {
    /// Why there are no bytes.
    type Error;
    /// Fills a slice with the next bytes.
    ///
    /// # Errors
    /// Fewer bytes than asked for, or whatever else keeps the source from giving them.
    fn take(&mut self, bytes: &mut [u8]) -> Result<(), Self::Error>;
}

impl Sink for Vec<u8> {
    type Error = Infallible;
    fn put(&mut self, bytes: &[u8]) -> Result<(), Infallible> {
        self.extend_from_slice(bytes);
        Ok(())
    }
}

/// Bytes that gave out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exhausted;

impl Source for &[u8] {
    type Error = Exhausted;
    fn take(&mut self, bytes: &mut [u8]) -> Result<(), Exhausted> {
        let (taken, rest) = self.split_at_checked(bytes.len()).ok_or(Exhausted)?;
        bytes.copy_from_slice(taken);
        *self = rest;
        Ok(())
    }
}

/// Why an image could not be loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoadError<E> {
    /// Its source gave out.
    Source(E),
    /// Its bytes are those of no drive: which part, and why.
    Faulty(String),
}

impl<E> From<E> for LoadError<E> {
    fn from(error: E) -> Self {
        Self::Source(error)
    }
}

/// Bytes that cross at a time.
const CHUNK: usize = 1 << 16;

/// Gives numbers of `N` bytes.
pub(crate) fn put_all<S: Sink, T: Copy, const N: usize>(sink: &mut S, items: &[T], encode: impl Fn(T) -> [u8; N]) -> Result<(), S::Error> {
    let mut bytes = [0; CHUNK];
    for items in items.chunks(CHUNK / N) {
        for (bytes, &item) in bytes.as_chunks_mut::<N>().0.iter_mut().zip(items) {
            *bytes = encode(item);
        }
        sink.put(&bytes[..items.len() * N])?;
    }
    Ok(())
}

/// Takes a number of `N` bytes.
pub(crate) fn take_one<S: Source, T, const N: usize>(source: &mut S, decode: impl Fn([u8; N]) -> T) -> Result<T, S::Error> {
    let mut bytes = [0; N];
    source.take(&mut bytes)?;
    Ok(decode(bytes))
}

/// Takes numbers of `N` bytes.
pub(crate) fn take_all<S: Source, T, const N: usize>(
    source: &mut S,
    items: &mut [T],
    decode: impl Fn([u8; N]) -> T,
) -> Result<(), S::Error> {
    let mut bytes = [0; CHUNK];
    for items in items.chunks_mut(CHUNK / N) {
        let bytes = &mut bytes[..items.len() * N];
        source.take(bytes)?;
        for (item, &bytes) in items.iter_mut().zip(bytes.as_chunks::<N>().0) {
            *item = decode(bytes);
        }
    }
    Ok(())
}
