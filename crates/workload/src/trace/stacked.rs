//! Devices of a recording of which one is on the other, as those of dm and md are: a request to the upper one comes again to the lower.

use rustc_hash::FxHashMap;

use crate::text;
use crate::trace::fields;
use crate::trace::format::Record;
use crate::trace::op::Op;

/// How many requests before one are looked at to see whether it is one of them again.
const LOOKED_AT: usize = 16;

/// More pairs of devices than these are not held.
const PAIRS_MAX: usize = 256;

/// So many requests that come again at one distance do so by no chance.
const SURE_REQUESTS: u64 = 4;

/// What is known of two devices.
#[derive(Debug, Default)]
struct Pair {
    /// How many remaps go from the upper one to the lower.
    remaps: u64,
    /// Requests to the upper one that came to the lower with the same size, in the same distance as the one before.
    again: u64,
    /// The latest distance of their places.
    distance: Option<i128>,
}

/// What shows that devices are on each other.
#[derive(Debug, Default)]
pub(super) struct Stacked {
    /// By the upper device and the lower.
    pairs: FxHashMap<(u32, u32), Pair>,
    /// How many requests each device has.
    requests: FxHashMap<u32, u64>,
    last: [Option<(u32, Op, u64, u32)>; LOOKED_AT],
    count: usize,
}

impl Stacked {
    fn pair(&mut self, upper: u32, lower: u32) -> Option<&mut Pair> {
        let is_known = self.pairs.contains_key(&(upper, lower));
        (is_known || self.pairs.len() < PAIRS_MAX).then(|| self.pairs.entry((upper, lower)).or_default())
    }

    /// Notes a request.
    pub(super) fn request(&mut self, record: &Record) {
        *self.requests.entry(record.device).or_default() += 1;
        if self.requests.len() > 1 {
            // The oldest that fits is the one.
            let places = (0..LOOKED_AT).map(|back| (self.count + back) % LOOKED_AT);
            let fits = |at: &usize| {
                self.last[*at]
                    .is_some_and(|(device, op, _, sectors)| device != record.device && op == record.op && sectors == record.sectors)
            };
            if let Some(at) = places.into_iter().find(fits)
                && let Some((upper, _, sector, _)) = self.last[at]
                && let Some(pair) = self.pair(upper, record.device)
            {
                let distance = i128::from(record.sector) - i128::from(sector);
                pair.again += u64::from(pair.distance.is_none_or(|before| before == distance));
                pair.distance = Some(distance);
                self.last[at] = None;
                // What has come again does not do so once more.
                return;
            }
        }
        self.last[self.count % LOOKED_AT] = Some((record.device, record.op, record.sector, record.sectors));
        self.count += 1;
    }

    /// Notes that a request to the upper device goes on to the lower.
    pub(super) fn remap(&mut self, upper: u32, lower: u32) {
        if let Some(pair) = self.pair(upper, lower) {
            pair.remaps += 1;
        }
    }

    /// Which device with requests is on another with requests, as a sentence.
    pub(super) fn said(&self) -> Option<String> {
        let requests = |device: &u32| self.requests.get(device).copied().unwrap_or(0);
        let is_sure = |((upper, lower), pair): &(&(u32, u32), &Pair)| {
            let comes_again = pair.again >= SURE_REQUESTS && pair.again * 10 >= requests(upper) * 9;
            upper != lower && requests(upper) > 0 && requests(lower) > 0 && (pair.remaps > 0 || comes_again)
        };
        let (&(upper, lower), pair) = self.pairs.iter().filter(is_sure).min_by_key(|(devices, _)| **devices)?;
        let [upper_name, lower_name] = [upper, lower].map(fields::linux_device_name);
        // The disks of a mirror have the same requests too.
        let shown = if pair.remaps > 0 {
            let remaps =
                if pair.remaps == 1 { "1 remap (A event)".into() } else { format!("{} remaps (A events)", text::grouped(pair.remaps)) };
            format!("is on device {lower_name}, by {remaps} from the one to the other")
        } else {
            let (again, all) = (text::grouped(pair.again), text::counted(requests(&upper), "request"));
            format!("seems to be on device {lower_name}, or to be its mirror: {again} of its {all} come to {lower_name} again")
        };
        Some(format!(
            "device {upper_name} {shown}, so that what goes to both is counted twice; `--trace-device {lower_name}` \
             reads only the requests to the latter, and `--trace-device {upper_name}` only those to the former"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(device: u32, sector: u64, sectors: u32) -> Record {
        Record { time_ns: 0, device: device << 20, op: Op::Write, sector, sectors, latency_ns: None }
    }

    #[test]
    fn a_device_is_on_another_by_remaps_or_by_requests_that_come_again() {
        let mut stacked = Stacked::default();
        for at in 0..10 {
            stacked.request(&record(253, at * 1000 + at % 3, 8));
            stacked.request(&record(8, at * 1000 + at % 3 + 2048, 8));
        }
        let said = stacked.said().unwrap();
        assert!(
            said.starts_with("device 253,0 seems to be on device 8,0, or to be its mirror: 10 of its 10 requests come to 8,0 again"),
            "{said}"
        );
        // At other distances they are requests of their own.
        let mut apart = Stacked::default();
        for at in 0..10_u64 {
            apart.request(&record(8, at * at * 1000, 8));
            apart.request(&record(9, at * 3000, 8));
        }
        assert_eq!(apart.said(), None);
        let mut remapped = Stacked::default();
        remapped.remap(253 << 20, 8 << 20);
        remapped.request(&record(8, 0, 8));
        // A partition, or a device whose requests are not there.
        assert_eq!(remapped.said(), None);
        remapped.request(&record(253, 64, 16));
        assert!(remapped.said().unwrap().contains("by 1 remap (A event) from the one to the other"), "{:?}", remapped.said());
    }
}
