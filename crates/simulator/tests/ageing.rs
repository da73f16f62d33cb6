//! Starting states as whole runs find them.

use tinytail_simulator::control::Control;
use tinytail_simulator::outcome::Outcome;
use tinytail_simulator::run::run;
use tinytail_simulator::spec::{RunError, Spec};

/// One plane of 1024 blocks of 128 pages on each of two channels, full to 80 %.
const DEVICE: &str = "name = \"two-planes\"\nsummary = \"s\"\n\
    [geometry]\nchannels = 2\nchips_per_channel = 1\ndies_per_chip = 1\nplanes_per_die = 1\nblocks_per_plane = 1024\npages_per_block = 128\n\
    page_bytes = 4096\n[timing]\ncommand_ns = 200\ntransfer_page_ns = 100000\nread_ns = [40000]\nprogram_ns = [800000]\n\
    erase_step_ns = 2000000\nram_ns = 1000\n[host]\nover_provisioning_percent = 25\nqueue_depth = 32\n[ram]\nbuffer_kib = 0\n\
    [state]\nlive_percent = 100\noverwrite_percent = 200\n";

/// A fifth of the live pages, written at random.
const WORKLOAD: &str = "summary = \"s\"\n[synthetic]\nqueue_depth = 8\nblock_bytes = 4096\nread_share = 0.0\naddresses = \"uniform\"\n\
    requests = 41943\n";

/// GC that locks its plane alone and keeps the starting state's erased share.
const OVERLAY: &str = "kind = \"overlay\"\nsummary = \"s\"\n[gc_trigger]\npolicy = \"watermark\"\nsoft_free_percent = 5.0\n\
    hard_free_percent = 1.0\n[gc_gate]\npolicy = \"free\"\n[gc_lock]\npolicy = \"blocking\"\nscope = \"plane\"\n";

fn outcome(victims: &str, state: &str) -> Result<Outcome, RunError> {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_string()
    };
    let spec = Spec {
        verify: true,
        state: state.parse().unwrap(),
        windows: 200,
        ..Spec::new(
            &file("device.toml", DEVICE),
            &format!("base{victims}+{}", file("overlay.toml", OVERLAY)),
            &file("workload.toml", WORKLOAD),
        )
    };
    run(&spec, &Control::default())
}

#[test]
fn a_fifth_of_the_drive_costs_as_much_from_a_layout_as_from_the_state_written_by_rounds() {
    for victims in ["", "+fifo-victim", "+d-choices-victim", "+idle-die", "+idle-die+fifo-victim"] {
        let amplification = |ageing: &str| {
            let outcome = outcome(victims, &format!("ageing = \"{ageing}\"")).unwrap();
            assert_eq!(outcome.state.as_ref().unwrap().name, ageing);
            assert_eq!(
                (outcome.state.as_ref().unwrap().steady, outcome.state.as_ref().unwrap().rounds.len() >= 5),
                if ageing == "steady" { (Some(true), true) } else { (None, false) }
            );
            outcome.write_amplification.unwrap()
        };
        let (written, drawn) = (amplification("steady"), amplification("statistical"));
        assert!((drawn / written - 1.0).abs() < 0.02, "{victims}: {written} after rounds, {drawn} after the layout");
    }
}

#[test]
fn values_of_the_state_that_can_t_be_are_refused_with_the_nearest_right_ones() {
    for (state, message) in [
        ("live_procent = 80", "the given state: [state] `live_procent` is unknown (did you mean `live_percent`?)"),
        (
            "ageing = \"stedy\"",
            "the given state: [state] `ageing` is \"stedy\" (did you mean `steady`?); allowed: overwrite, steady, statistical",
        ),
        ("free_percent = 20", "the given state: [state] `live_percent` (100) and `free_percent` (20)"),
        ("round_percent = 20", "the given state: [state] `round_percent` is given, but `ageing` is not \"steady\""),
        ("ageing = \"steady\"\nround_percent = 0", "`round_percent` is 0; allowed: 1 to 1000"),
        ("ageing = \"statistical\"\nlive_percent = 0", "`live_percent` is 0; an empty drive has no steady state"),
    ] {
        let error = outcome("", state).unwrap_err();
        assert!(matches!(&error, RunError::Config(error) if error.to_string().contains(message)), "{state}: {error}");
    }
    let written = outcome("+cost-benefit-victim", "ageing = \"statistical\"").unwrap();
    assert_eq!((written.state.as_ref().unwrap().name, written.adjusted[0].key.as_str()), ("aged", "ageing"));
}
