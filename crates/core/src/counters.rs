//! How often things happened in a drive. Each room has a table of what it counts, of one row each; results, their schema and their page
//! follow.

/// The counters of a room: a row says what one counts, its field, and its names in results, if it stands there under `techniques`.
/// A `*` in the name stands for the technique of the interface before it.
macro_rules! counters {
    ($(#[doc = $about:literal])+ $name:ident; $( $(#[doc = $doc:literal])+ $field:ident $(: $type:ty)? $(=> $($reported:literal)|+)?, )+) => {
        $(#[doc = $about])+
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name {
            $( $(#[doc = $doc])+ pub $field: $crate::counters::counters!(@type $($type)?), )+
        }

        impl $name {
            /// Those that results report.
            pub(crate) fn reported(&self) -> impl Iterator<Item = $crate::counters::Reported> + use<> {
                let rows = [$( $crate::counters::Reported::under(&[$($($reported),+)?], concat!($($doc),+), self.$field.into()), )+];
                rows.into_iter().flatten()
            }
        }
    };
    (@type) => { u64 };
    (@type $type:ty) => { $type };
}
pub(crate) use counters;

/// A counter as results report it.
#[derive(Clone, Copy, Debug)]
pub struct Reported {
    /// Its name, in which a `*` stands for the technique of the interface before it.
    pub name: &'static str,
    /// What it counts.
    pub meaning: &'static str,
    /// What it has counted.
    pub count: u64,
}

impl Reported {
    /// A counter under each of its names.
    pub(crate) fn under(names: &'static [&'static str], meaning: &'static str, count: u64) -> impl Iterator<Item = Self> {
        names.iter().map(move |name| Self { name, meaning: meaning.trim_start(), count })
    }

    /// Its name in results. `technique` tells the technique of an interface.
    pub fn named(&self, technique: impl FnOnce(&str) -> String) -> String {
        match self.name.split_once("/*") {
            Some((interface, what)) => format!("{interface}/{}{what}", technique(interface)),
            None => self.name.into(),
        }
    }
}
