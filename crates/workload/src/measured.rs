//! Whether the latencies that were measured when requests were recorded say anything beside those of a run.

/// What a workload says of latencies that were measured when its requests were recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Measured {
    /// It holds none.
    Nothing,
    /// It holds some, of another load than is played: why, as `they come at other times`.
    OtherLoad(&'static str),
    /// It holds some, of the requests as they are played.
    Latencies(MeasuredLatencies),
}

/// What latencies are that a trace holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeasuredLatencies {
    /// From where to where they were measured.
    pub scope: &'static str,
    /// Whether they are said to be of the drive that is simulated.
    pub same_drive: bool,
    /// How many recorded devices are played on one drive.
    pub devices: usize,
    /// What else makes them mean less, if anything does.
    pub caveat: Option<String>,
}
