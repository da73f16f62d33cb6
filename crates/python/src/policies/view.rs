//! The drive as a policy in plain Python sees it.

use pyo3::exceptions::{PyAttributeError, PyIndexError, PyRuntimeError};
use pyo3::prelude::*;
use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;
use tinytail_core::device::Geometry;
use tinytail_core::ids::PlaneIx;
use tinytail_core::policy::view::View as DriveView;
use tinytail_policies::question::Question;
use tinytail_policies::view::{Of, Quantity};

/// The drive that is shown, while a question is asked.
pub(super) struct Held {
    view: Cell<Option<DriveView<'static>>>,
    question: Cell<u32>,
}

// SAFETY: both cells are read and written with the interpreter's lock alone. While the view is there, the drive stands still: its
// thread waits for the answer.
unsafe impl Send for Held {}
unsafe impl Sync for Held {}

impl Held {
    fn get(&self) -> PyResult<DriveView<'static>> {
        self.view.get().ok_or_else(|| PyRuntimeError::new_err("a view is good until the policy answers, and this one has"))
    }
}

/// What of each block is a column.
#[derive(Clone, Copy)]
enum OfBlock {
    ValidPages,
    Erases,
    ClosedAt,
}

#[derive(Clone, Copy)]
enum Kind {
    Block(OfBlock),
    Quantity(Quantity),
}

/// One number of each block, plane or die.
#[pyclass(frozen, module = "tinytail._native")]
pub(crate) struct Column {
    held: Arc<Held>,
    kind: Kind,
}

#[pymethods]
impl Column {
    fn __len__(&self) -> PyResult<usize> {
        let view = self.held.get()?;
        Ok(match self.kind {
            Kind::Block(_) => view.tables().counts().len(),
            Kind::Quantity(quantity) => quantity.count(view) as usize,
        })
    }

    fn __getitem__(&self, index: isize) -> PyResult<u64> {
        let view = self.held.get()?;
        let tables = view.tables();
        let found = match (usize::try_from(index), self.kind) {
            (Ok(index), Kind::Block(OfBlock::ValidPages)) => tables.counts().get(index).map(|&count| count as u64),
            (Ok(index), Kind::Block(OfBlock::Erases)) => tables.erase_counts().get(index).map(|&count| count.into()),
            (Ok(index), Kind::Block(OfBlock::ClosedAt)) => tables.times_of_closing().get(index).copied(),
            (Ok(index), Kind::Quantity(quantity)) => u32::try_from(index).ok().and_then(|index| quantity.of_index(view, index)),
            (Err(_), _) => None,
        };
        found.ok_or_else(|| PyIndexError::new_err(format!("there is no {index}; there are {}", self.__len__().unwrap_or(0))))
    }
}

/// The drive, read-only, until the policy answers.
#[pyclass(frozen, module = "tinytail._native")]
pub(crate) struct View {
    held: Arc<Held>,
    valid_pages: Py<Column>,
    erases: Py<Column>,
    closed_at: Py<Column>,
    columns: HashMap<&'static str, Py<Column>>,
}

impl View {
    pub(super) fn new(py: Python<'_>) -> PyResult<Self> {
        let held = Arc::new(Held { view: Cell::new(None), question: Cell::new(0) });
        let column = |kind| Py::new(py, Column { held: Arc::clone(&held), kind });
        let of_each = Quantity::ALL.iter().filter(|quantity| quantity.of() != Of::Drive);
        let columns = of_each.map(|&quantity| Ok((quantity.name(), column(Kind::Quantity(quantity))?)));
        Ok(Self {
            valid_pages: column(Kind::Block(OfBlock::ValidPages))?,
            erases: column(Kind::Block(OfBlock::Erases))?,
            closed_at: column(Kind::Block(OfBlock::ClosedAt))?,
            columns: columns.collect::<PyResult<_>>()?,
            held: Arc::clone(&held),
        })
    }

    /// Shows a drive while work is done.
    pub(super) fn showing<T>(&self, question: &Question<'_>, work: impl FnOnce() -> T) -> T {
        /// Nothing is shown any more, also when the work panics.
        struct Until<'a>(&'a Held);
        impl Drop for Until<'_> {
            fn drop(&mut self) {
                self.0.view.set(None);
            }
        }
        // SAFETY: it is taken away before the question ends.
        let view = unsafe { std::mem::transmute::<DriveView<'_>, DriveView<'static>>(question.view) };
        self.held.view.set(Some(view));
        self.held.question.set(question.number());
        let _until = Until(&self.held);
        work()
    }

    fn geometry(&self) -> PyResult<&'static Geometry> {
        Ok(self.held.get()?.geometry())
    }
}

#[pymethods]
impl View {
    #[getter]
    fn question(&self) -> PyResult<u32> {
        self.held.get().map(|_| self.held.question.get())
    }

    #[getter]
    fn now_ns(&self) -> PyResult<u64> {
        Ok(self.held.get()?.now())
    }

    #[getter]
    fn channels(&self) -> PyResult<u32> {
        Ok(self.geometry()?.channels)
    }

    #[getter]
    fn dies(&self) -> PyResult<u32> {
        Ok(self.geometry()?.dies())
    }

    #[getter]
    fn planes(&self) -> PyResult<u32> {
        Ok(self.geometry()?.planes())
    }

    #[getter]
    fn planes_per_die(&self) -> PyResult<u32> {
        Ok(self.geometry()?.planes_per_die)
    }

    #[getter]
    fn blocks_per_plane(&self) -> PyResult<u32> {
        Ok(self.geometry()?.blocks_per_plane)
    }

    #[getter]
    fn pages_per_block(&self) -> PyResult<u32> {
        Ok(self.geometry()?.pages_per_block)
    }

    #[getter]
    fn page_bytes(&self) -> PyResult<u32> {
        Ok(self.geometry()?.page_bytes)
    }

    #[getter]
    fn blocks(&self) -> PyResult<usize> {
        Ok(self.held.get()?.tables().counts().len())
    }

    #[getter]
    fn valid_pages(&self, py: Python<'_>) -> Py<Column> {
        self.valid_pages.clone_ref(py)
    }

    #[getter]
    fn erases(&self, py: Python<'_>) -> Py<Column> {
        self.erases.clone_ref(py)
    }

    #[getter]
    fn closed_at(&self, py: Python<'_>) -> Py<Column> {
        self.closed_at.clone_ref(py)
    }

    fn __getattr__(&self, py: Python<'_>, name: &str) -> PyResult<Py<PyAny>> {
        if let Some(column) = self.columns.get(name) {
            return Ok(column.clone_ref(py).into_any());
        }
        let quantity = Quantity::ALL.iter().find(|quantity| quantity.of() == Of::Drive && quantity.name() == name);
        match quantity {
            Some(quantity) => Ok(quantity.of_index(self.held.get()?, 0).into_pyobject(py)?.unbind()),
            None => Err(PyAttributeError::new_err(format!("a view has no `{name}`"))),
        }
    }

    fn __dir__(&self) -> Vec<&'static str> {
        let fields = "question now_ns channels dies planes planes_per_die blocks_per_plane pages_per_block page_bytes blocks valid_pages \
                      erases closed_at";
        fields.split_whitespace().chain(Quantity::ALL.iter().map(|quantity| quantity.name())).collect()
    }
}

/// An operation that could start.
#[pyclass(frozen, get_all, module = "tinytail._native")]
pub(crate) struct Waiting {
    pub(super) arrival: u64,
    pub(super) plane: u32,
    pub(super) work: u8,
    pub(super) urgent: bool,
    pub(super) continues: bool,
    pub(super) data: bool,
}

/// A read behind a GC.
#[pyclass(frozen, get_all, module = "tinytail._native")]
pub(crate) struct Read {
    pub(super) lpn: u32,
    pub(super) plane: u32,
    pub(super) gc_left_ns: u64,
    pub(super) extra: Vec<PlaneIx>,
    pub(super) full_stripe: bool,
}
