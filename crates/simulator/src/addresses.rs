//! Which addresses a workload may use on a drive, and which of them it touches beyond what the starting state maps.

use crate::catalog;
use crate::control::{Control, Phase};
use crate::settings::Settings;
use crate::spec::RunError;
use tinytail_config::ConfigError;
use tinytail_core::commands::CommandKind;
use tinytail_core::device::Device;
use tinytail_core::ids::Lpn;
use tinytail_workload::{Arrival, SourceContext, Workload, WorkloadError};

/// The addresses that a workload may use on a drive: those that each of the designs compared can hold.
pub(crate) struct Addresses {
    pub context: SourceContext,
    /// Why that is less than the drive has.
    note: Option<String>,
}

impl Addresses {
    /// The addresses that all of some designs can hold on a device.
    pub fn of<'a>(device: &Device, designs: impl IntoIterator<Item = &'a String>, settings: &Settings) -> Result<Self, ConfigError> {
        let (mut least, mut note) = (device.clone(), None);
        for design in designs {
            let mut fitted = device.clone();
            let adjusted = catalog::design_with(design, settings, None)?.fit_space(&mut fitted);
            if fitted.logical_pages() < least.logical_pages() {
                least.host = fitted.host;
                note = adjusted.into_iter().find(|item| item.code == "parity_capacity").map(|item| item.message);
            }
        }
        let per_page = u64::from(device.geometry.sectors_per_page());
        // What adapts to the data of a drive has all of one that starts empty.
        let mapped_sectors = if device.starts_empty() { least.logical_sectors() } else { u64::from(least.mapped_pages()) * per_page };
        let context = SourceContext { logical_sectors: least.logical_sectors(), mapped_sectors };
        Ok(Self { context, note })
    }

    /// Refuses a workload that goes beyond them.
    pub fn check(&self, workload: &Workload) -> Result<(), RunError> {
        let Err(error) = workload.check_fits(self.context.logical_sectors) else { return Ok(()) };
        Err(match &self.note {
            Some(note) => WorkloadError::DoesNotFit { name: workload.name.clone(), message: format!("{error}. Note that {note}") }.into(),
            None => error.into(),
        })
    }
}

/// Return the pages beyond the mapped part that the workload touches: ageing maps them too, so that no read finds nothing. A drive that
/// starts empty has none.
pub(crate) fn footprint(
    device: &Device,
    mapped_pages: Lpn,
    workload: &Workload,
    seed: u64,
    requests: Option<u64>,
    context: &SourceContext,
    control: &Control,
) -> Result<Vec<Lpn>, WorkloadError> {
    if device.starts_empty() {
        return Ok(Vec::new());
    }
    let per_page = u64::from(device.geometry.sectors_per_page());
    // A workload that adapts to the drive keeps to what the device's state maps, whatever of that the design's layout maps.
    if workload.end_sector().unwrap_or(context.mapped_sectors) <= u64::from(mapped_pages) * per_page {
        return Ok(Vec::new());
    }
    if workload.end_sector().is_none() {
        return Ok((mapped_pages..device.mapped_pages()).collect());
    }
    control.enter(Phase::Reading, workload.requests_expected(requests).unwrap_or(0));
    let (first, logical) = (mapped_pages, device.logical_pages() as Lpn);
    if workload.needs_drive() {
        // Which of its addresses a thread reaches depends on the drive, so all of them are taken to be touched.
        let end = workload.end_sector().map_or(0, |end| end.div_ceil(per_page)).min(u64::from(logical));
        return Ok((first..end as Lpn).collect());
    }
    let mut touched = vec![0u64; (device.logical_pages() as usize).div_ceil(64)];
    let mut source = workload.source(seed, context, requests)?;
    let mut batch: Vec<Arrival> = Vec::new();
    let mut done = 0;
    while source.fill(&mut batch, 4096)? > 0 && !control.is_cancelled() {
        done += batch.len() as u64;
        for arrival in batch.drain(..) {
            let command = arrival.command;
            if command.kind == CommandKind::Trim {
                continue;
            }
            let last = (command.sector + u64::from(command.sectors) - 1) / per_page;
            for lpn in command.sector / per_page..=last {
                touched[(lpn / 64) as usize] |= 1 << (lpn % 64);
            }
        }
        control.advance(done);
    }
    Ok((first..logical).filter(|&lpn| touched[(lpn / 64) as usize] >> (lpn % 64) & 1 == 1).collect())
}
