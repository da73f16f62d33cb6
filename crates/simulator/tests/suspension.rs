//! The schemes of Practical Erase Suspension as overlays: what their rows count, and the order of their read tails.

use tinytail_simulator::control::Control;
use tinytail_simulator::outcome::Outcome;
use tinytail_simulator::run::run;
use tinytail_simulator::spec::Spec;

fn outcome(overlay: &str) -> Outcome {
    let spec = Spec {
        requests: Some(60_000),
        verify: true,
        windows: 10,
        ..Spec::new("lowlatency-240g-small", &format!("base{overlay}"), "randrw70-qd16")
    };
    run(&spec, &Control::default()).unwrap()
}

#[test]
fn the_rows_of_each_scheme_count_what_it_does() {
    let baseline = outcome("");
    assert_eq!(baseline.techniques["suspend/never"], 0);
    for (overlay, cycles, discards) in
        [("+es", true, false), ("+i-es", true, true), ("+d-es", false, false), ("+t-es", true, true), ("+ideal-es", false, false)]
    {
        let outcome = outcome(overlay);
        let row = |name: &str| outcome.techniques[&format!("suspend/erase_suspension{name}")];
        assert!(row("") > 10, "{overlay}: {}", row(""));
        assert_eq!(row(": programs"), 0);
        assert_eq!(row(": extra ramps and recoveries of erases") > 0, cycles, "{overlay}");
        assert_eq!(row(": most extra ramps and recoveries of an erase") > 0, cycles, "{overlay}");
        assert_eq!(row(": ns of progress discarded") > 0, discards, "{overlay}");
        assert!(row(": ns by which erases were delayed") > 0, "{overlay}");
        assert!(row(": most ns by which an erase was delayed") <= row(": ns by which erases were delayed"));
        assert!(outcome.read.mean_us < baseline.read.mean_us, "{overlay}");
    }
}
