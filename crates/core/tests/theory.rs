//! Write amplification under uniform random writes, against theory.
//!
//! One plane of 1024 blocks of 128 pages, of which GC keeps at most three: it collects when fewer erased pages are left than
//! three blocks hold, which is one block that only GC may open, one for the write point and one besides. At that moment
//! two blocks are erased, one is open, and 1021 are closed, among which the victim is chosen. Theory knows neither open nor
//! reserved blocks, so that its plane has these 1021 blocks: with U live pages its utilisation is rho = U / (1021 x 128) and
//! its spare factor 1 - rho. Against the whole plane the spare factor would be 0.3 points greater, and at 10 % spare write
//! amplification would differ by 3 %.
//!
//! The theory is solved here by itself, by following the model's equations through time, and not by what the drive's
//! statistical layout uses.

use tinytail_config::Document;
use tinytail_core::design::Design;
use tinytail_core::device::Device;
use tinytail_core::drive::Drive;
use tinytail_core::observe::NullObserver;

const BLOCKS: u32 = 1024;
const PAGES_PER_BLOCK: usize = 128;
/// Blocks that are closed when a victim is chosen.
const CLOSED: u32 = BLOCKS - 3;
/// What live pages are of the whole plane, in percent: three levels of over-provisioning.
const LEVELS: [u32; 3] = [90, 80, 70];

/// The drive's write amplification in its steady state, and the utilisation that theory is to be asked about.
fn simulated(chain: &str, logical_percent: u32) -> (f64, f64) {
    let spare = 100.0 * f64::from(100 - logical_percent) / f64::from(logical_percent);
    let device = format!(
        "name = \"plane\"\nsummary = \"one plane\"\n\
         [geometry]\nchannels = 1\nchips_per_channel = 1\ndies_per_chip = 1\nplanes_per_die = 1\nblocks_per_plane = {BLOCKS}\n\
         pages_per_block = {PAGES_PER_BLOCK}\npage_bytes = 4096\n\
         [timing]\ncommand_ns = 200\ntransfer_page_ns = 100000\nread_ns = [40000]\nprogram_ns = [800000]\nerase_step_ns = 2000000\n\
         ram_ns = 1000\n[host]\nover_provisioning_percent = {spare:.6}\nqueue_depth = 32\n[ram]\nbuffer_kib = 0\n\
         [state]\nlive_percent = 100\nfree_percent = 0\noverwrite_percent = 300\nageing = \"steady\"\n"
    );
    let device = Device::from_document(&Document::parse("plane.toml", &device).unwrap()).unwrap();
    let base = Document::parse("base", include_str!("../../../designs/base.toml")).unwrap();
    let overlay = format!("summary = \"victims\"\nkind = \"overlay\"\n[victim]\nchain = [{chain}]\n");
    let overlay = Document::parse("victims", &overlay).unwrap();
    let mut drive = Drive::new(&device, Design::compose("base+victims", &[&base, &overlay]).unwrap(), false, NullObserver).unwrap();
    let aged = drive.age(1, &[], |_, _| true);
    assert_eq!(aged.steady, Some(true), "{:?}", aged.rounds);
    let rounds = &aged.rounds[aged.rounds.len() - 3..];
    let utilisation = aged.live_pages as f64 / (f64::from(CLOSED) * PAGES_PER_BLOCK as f64);
    (rounds.iter().sum::<f64>() / rounds.len() as f64, utilisation)
}

/// The mean field of d-choices, followed from a full plane to its fixed point. B. Van Houdt, "A mean field model for a class
/// of garbage collection algorithms in flash-based solid state drives", SIGMETRICS 2013, with m(i) as the
/// share of blocks with i valid pages, p(i) as the chance that the victim has i, and one collection as the unit of time,
///
/// dm(i)/dt = w / (b rho) ((i + 1) m(i + 1) - i m(i)) - p(i) + [i = b],
/// p(i) = (sum over k >= i of m(k))^d - (sum over k > i of m(k))^d,    w = b - sum of i p(i).
///
/// Greedy is the limit of many choices.
fn d_choices(rho: f64, d: i32) -> f64 {
    let b = PAGES_PER_BLOCK;
    // Any distribution with the right mean will do to begin with: all blocks at two neighbouring levels.
    let mean = b as f64 * rho;
    let mut m = vec![0.0; b + 2];
    m[mean.floor() as usize] = 1.0 - mean.fract();
    m[mean.floor() as usize + 1] = mean.fract();
    // What leaves a level in one step must be less than what is there, also where every block is collected at once.
    let step = 0.2 / f64::from(d).max(b as f64);
    loop {
        let mut chance = vec![0.0; b + 1];
        let (mut above, mut above_to_d) = (0.0f64, 0.0);
        for level in (0..=b).rev() {
            let at_least: f64 = above + m[level];
            let to_d = at_least.powi(d);
            chance[level] = to_d - above_to_d;
            (above, above_to_d) = (at_least, to_d);
        }
        let writes = b as f64 - chance.iter().enumerate().map(|(level, chance)| level as f64 * chance).sum::<f64>();
        let mut change = 0.0f64;
        let falls: Vec<f64> = (0..=b + 1).map(|level| writes / mean * level as f64 * m[level]).collect();
        for level in 0..=b {
            let rate = falls[level + 1] - falls[level] - chance[level] + f64::from(u8::from(level == b));
            m[level] += step * rate;
            change = change.max(rate.abs());
        }
        if change < 1e-6 {
            return b as f64 / writes;
        }
    }
}

/// FIFO's write amplification 1 / (1 - u): of a page, u is the chance to live until its block comes round, which is after as
/// many writes as the plane has stale pages: u = exp(-(1 - u) / rho). By the Lambert W function, u = -rho W(-exp(-1 / rho) /
/// rho). P. Desnoyers, "Analytic modeling of SSD write performance", SYSTOR 2012; L. Xiang and B. Kurkoski, arXiv:1110.4245. It holds for blocks of any size.
fn fifo(rho: f64) -> f64 {
    let argument = -(-1.0 / rho).exp() / rho;
    // The branch on which w is above -1, by Newton's method from 0.
    let mut w = 0.0f64;
    for _ in 0..200 {
        w -= (w * w.exp() - argument) / (w.exp() * (w + 1.0));
    }
    1.0 / (1.0 + rho * w)
}

fn compare(chain: &str, theory: impl Fn(f64) -> f64) {
    for logical_percent in LEVELS {
        let (simulated, rho) = simulated(chain, logical_percent);
        let theory = theory(rho);
        println!("{chain}: spare factor {:.4}, write amplification {simulated:.3}, theory {theory:.3}", 1.0 - rho);
        assert!(
            (simulated / theory - 1.0).abs() < 0.01,
            "{chain}, spare factor {:.4}: {simulated} simulated, {theory} in theory",
            1.0 - rho
        );
    }
}

#[test]
fn greedy_writes_as_much_as_the_mean_field_of_many_choices() {
    compare("{ policy = \"greedy\" }", |rho| d_choices(rho, 1000));
}

#[test]
fn d_choices_write_as_much_as_their_mean_field() {
    for d in [2, 10] {
        compare(&format!("{{ policy = \"d_choices\", d = {d} }}"), |rho| d_choices(rho, d));
    }
}

#[test]
fn fifo_and_least_worn_write_as_much_as_a_log_that_goes_round() {
    compare("{ policy = \"fifo\" }", fifo);
    compare("{ policy = \"least_worn\" }", fifo);
}

#[test]
fn the_theories_agree_where_they_must() {
    // Greedy with blocks of one page would copy nothing; with large blocks it tends to FIFO from below. One choice is random
    // GC, whose victims are as full as any block: 1 / (1 - rho).
    for rho in [0.7, 0.9] {
        assert!((d_choices(rho, 1) * (1.0 - rho) - 1.0).abs() < 1e-3, "{}", d_choices(rho, 1));
        assert!(d_choices(rho, 1000) < d_choices(rho, 10) && d_choices(rho, 1000) < fifo(rho));
        let u = 1.0 - 1.0 / fifo(rho);
        assert!((u - (-(1.0 - u) / rho).exp()).abs() < 1e-9);
    }
}
