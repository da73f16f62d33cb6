//! What the file of a technique needs: the interfaces, their answers, the view and what stands in it, and faults.

pub(crate) use crate::device::{Device, Geometry};
pub(crate) use crate::flash::ask::{Candidate, Keep, Serve, Suspension, Waiting};
pub(crate) use crate::flash::op::{Class, OpKind};
pub(crate) use crate::ids::{BlockGroup, BlockIx, DieIx, Lpn, NONE, PlaneIx, Pool};
pub(crate) use crate::policy::answers::*;
pub(crate) use crate::policy::combination::{Against, Combination, contradiction};
pub(crate) use crate::policy::interface::*;
pub(crate) use crate::policy::thresholds::{CycleLevels, Room, StartLevel, Threshold, Thresholds};
pub(crate) use crate::policy::view::{BlockedRead, DirtyStripe, Progress, Unplaced, View, Work, WrittenStripe};
pub(crate) use crate::units::{MS, Ns, US};
pub(crate) use schemars::JsonSchema;
pub(crate) use serde::Deserialize;
pub(crate) use tinytail_config::{ConfigError, Fault, Faults};
