//! Answers of functions in plain Python. Each question takes the interpreter's lock.

use crate::policies::view::{Read, View, Waiting};
use pyo3::prelude::*;
use tinytail_core::device::Device;
use tinytail_core::flash::ask::Candidate;
use tinytail_policies::fault::Fault;
use tinytail_policies::outside::Answers;
use tinytail_policies::question::{Asked, Question};

/// A policy in plain Python.
pub(super) struct Plain {
    loaded: Py<PyAny>,
    view: Py<View>,
    /// What a run has of its own: made when the run is.
    instance: Option<Instance>,
}

struct Instance {
    object: Py<PyAny>,
    /// What answers; of an order, at a die and at a channel.
    answers: Vec<Py<PyAny>>,
}

impl Plain {
    /// A policy that the package has loaded.
    pub(super) fn new(py: Python<'_>, loaded: Py<PyAny>) -> PyResult<Self> {
        Ok(Self { loaded, view: Py::new(py, View::new(py)?)?, instance: None })
    }

    fn make(&self, py: Python<'_>) -> PyResult<Instance> {
        let object = self.loaded.bind(py).call_method0("make")?;
        let answers = object.getattr("answers")?.extract()?;
        Ok(Instance { object: object.unbind(), answers })
    }

    fn instance(&self) -> &Instance {
        self.instance.as_ref().expect("a policy is prepared before it is asked")
    }

    /// Calls a method of what a run has of its own.
    fn call<T>(&self, call: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>) -> Result<T, Fault> {
        Python::attach(|py| call(self.instance().object.bind(py)).map_err(|error| raised(py, error)))
    }
}

/// What a policy raised, with its traceback below.
fn raised(py: Python<'_>, error: PyErr) -> Fault {
    let shown = || {
        let value = error.value(py);
        value.setattr("__traceback__", error.traceback(py))?;
        py.import("tinytail.policies.load")?.call_method1("shown", (value,))?.extract()
    };
    let message: PyResult<String> = shown();
    Fault { message: message.unwrap_or_else(|_| format!("raised {error}")), cause: Some(Box::new(error)) }
}

fn waiting(candidates: &[Candidate]) -> Vec<Waiting> {
    let one = |candidate: &Candidate| Waiting {
        arrival: candidate.arrival,
        plane: candidate.plane,
        work: candidate.class as u8,
        urgent: candidate.urgent,
        continues: candidate.continues,
        data: candidate.data,
    };
    candidates.iter().map(one).collect()
}

impl Answers for Plain {
    fn answer(&mut self, question: &Question<'_>) -> Result<i64, Fault> {
        Python::attach(|py| {
            let view = self.view.bind(py);
            let instance = self.instance();
            let which = if matches!(question.asked, Asked::AtChannel { .. }) { instance.answers.len() - 1 } else { 0 };
            let function = instance.answers[which].bind(py);
            let answer = view.get().showing(question, || match question.asked {
                Asked::Victim { pool, candidates } => {
                    let numbers: Vec<u32> = candidates.iter().map(|group| group.0).collect();
                    function.call1((view, pool.0, numbers))
                }
                Asked::GcTrigger { pool } => function.call1((view, pool.0)),
                Asked::GcGate { pool, want } => function.call1((view, pool.0, want as u32)),
                Asked::AtDie { waiting: candidates } | Asked::AtChannel { waiting: candidates } => {
                    function.call1((view, waiting(candidates)))
                }
                Asked::Suspend { die } => function.call1((view, die)),
                Asked::ReadPlan { read } => {
                    let (lpn, plane, extra) = (read.lpn, read.plane, read.extra.to_vec());
                    function.call1((view, Read { lpn, plane, gc_left_ns: read.gc_left_ns, extra, full_stripe: read.full_stripe }))
                }
            });
            let answer = answer.map_err(|error| raised(py, error))?;
            answer.extract::<i64>().map_err(|_| {
                let kind = answer.get_type().name().map_or_else(|_| "?".into(), |name| name.to_string());
                let shown = answer.repr().map_or_else(|_| "?".into(), |text| text.to_string());
                let shown: String = shown.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(60).collect();
                let message = format!("answered {shown}, of the type {kind}; allowed: {}", question.asked.allowed());
                Fault { message, cause: None }
            })
        })
    }

    fn prepare(&mut self, _: &Device) -> Result<(), String> {
        if self.instance.is_none() {
            self.instance = Some(Python::attach(|py| self.make(py).map_err(|error| raised(py, error).message))?);
        }
        Ok(())
    }

    fn seed(&mut self, seed: u64) -> Result<(), Fault> {
        self.call(|object| object.call_method1("seed", (seed,)).map(drop))
    }

    fn save(&self) -> Result<Vec<u8>, Fault> {
        self.call(|object| object.call_method0("save")?.extract())
    }

    fn restore(&mut self, state: &[u8]) -> Result<(), Fault> {
        self.call(|object| object.call_method1("restore", (state,)).map(drop))
    }
}
