//! The documents that `tinytail compare` and `tinytail certify act` write, and what they ask the engine for. What is declared here
//! the Python package makes of the outcomes of runs. Schemas, Python types and pages follow from it; this test writes the schemas anew:
//! `UPDATE_EXPECT=1 cargo test --release -p tinytail-simulator documents`.
#![expect(dead_code, reason = "these types are declared for their schemas")]

use self::strict::{one_line, schema, strict};
use crate::image::CreateSpec;
use crate::outcome::{FindingCode, Outcome, StateNote};
use crate::spec::Spec;
use expect_test::expect_file;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::Value;
use std::collections::BTreeMap;
use tinytail_metrics::LatencySummary;
use tinytail_metrics::kinds::KindSummary;
use tinytail_workload::{Converted, TraceInfo};

mod strict;

/// What `tinytail compare --json` writes and `Comparison.to_dict()` returns: designs that served the same workload, on drives aged
/// alike. A figure that has no meaning, such as the mean of no requests, is `None`.
#[derive(JsonSchema)]
struct Comparison {
    /// Raised when a document of this version could be misread.
    #[schemars(skip_deserializing, extend("const" = 3))]
    schema_version: u32,
    /// Version of tinytail.
    version: String,
    /// The command line that makes this comparison.
    #[schemars(extend("x-varies" = true))]
    command: String,
    /// Name of the device.
    device: String,
    /// The workload that all designs served.
    workload: ComparedWorkload,
    /// Of the states in which the runs started, the keys on which all results agree; each result has its own in full. Parity takes
    /// space, so that designs with and without it start with other shares of live pages on the same drive. `None` if there is no
    /// result.
    state: Option<Common>,
    /// The first seed of ageing and of generators.
    seed: u64,
    /// With how many seeds each design ran: `seed` and those that follow.
    #[schemars(range(min = 1))]
    seeds: u32,
    /// The comparison was interrupted: designs are missing or have served a part of the workload.
    partial: bool,
    /// The design that ratios are taken to.
    reference: String,
    /// Device, designs and workload in full. A trace has no configuration.
    configuration: Vec<Configured>,
    /// One result for each design that has one, in the order asked for.
    results: Vec<DesignResult>,
    /// Of each design but the reference, by how much the requests that GCs made wait are faster than the reference's. Each design's
    /// own affected requests count, which need not be the same.
    #[schemars(skip_deserializing)]
    improvements: Vec<Improvement>,
    /// What makes the comparison mean less than it seems to, in the order of rank. Each result has findings of its own.
    #[schemars(skip_deserializing)]
    findings: Vec<ComparedFinding>,
    /// Designs that failed, and why.
    errors: Vec<DesignError>,
}

/// The workload of a comparison.
#[derive(JsonSchema)]
struct ComparedWorkload {
    /// Its name.
    name: String,
    /// As in a result; `None` if no design ran.
    input: Option<tinytail_workload::InputKind>,
    /// As in a result; `None` if no design ran.
    detail: Option<String>,
    /// As in a result; `None` if no design ran.
    pacing: Option<crate::outcome::PacingNote>,
}

/// The keys of a state that several runs share.
struct Common;

impl JsonSchema for Common {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "CommonState".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = StateNote::json_schema(generator);
        schema.remove("required");
        schema.insert("description".into(), "The keys of `State` on which all runs agree.".into());
        schema
    }
}

/// What one design did. With several seeds a figure is the mean over them, a maximum the largest, attributed time the sum; what
/// has no mean, such as `series` and `event_hash`, is that of the first.
#[derive(JsonSchema)]
struct DesignResult {
    #[schemars(flatten)]
    outcome: Outcome,
    /// The figures of each seed. Missing where there was one.
    #[schemars(skip_serializing_if = "Option::is_none", with = "Vec<Replicate>", length(min = 2))]
    replicates: Option<Vec<Replicate>>,
}

/// What a design did with one of several seeds.
#[derive(JsonSchema)]
struct Replicate {
    /// The seed.
    seed: u64,
    /// As in a result.
    event_hash: String,
    /// Latencies of reads.
    read: LatencySummary,
    /// Latencies of writes.
    write: LatencySummary,
    /// As in a result.
    #[schemars(range(min = 0, max = 100))]
    gc_blocked_read_percent: f64,
    /// As in a result.
    #[schemars(range(min = 0, max = 100))]
    queue_blocked_read_percent: f64,
    /// As in a result.
    write_amplification: Option<f64>,
    /// Blocks erased.
    erases: u64,
    /// GCs completed.
    gc_count: u64,
    /// Simulated time, in seconds.
    simulated_seconds: f64,
}

/// A device, a design or a workload as it was configured.
#[derive(JsonSchema)]
struct Configured {
    /// Which of them it is.
    #[schemars(extend("enum" = ["device", "design", "workload"]))]
    kind: String,
    /// Its name.
    name: String,
    /// One line about it.
    summary: String,
    /// Its values.
    settings: Vec<Setting>,
}

/// One value of a configuration.
#[derive(JsonSchema)]
struct Setting {
    /// The section of the file.
    section: String,
    /// The key in the section.
    key: String,
    /// The value, as it would stand in the file.
    value: String,
    /// Where the value comes from: a paper, a file, or the option that gave it.
    source: String,
}

/// Mean latencies of the requests that GCs made wait, compared with those of the reference.
#[derive(JsonSchema)]
struct Improvement {
    /// The design that is compared with the reference.
    design: String,
    /// By how many percent the mean latency of its `gc_affected` reads is below the reference's; `None` if one of the two has none.
    #[schemars(range(max = 100))]
    gc_affected_reads_percent: Option<f64>,
    /// By how many percent the mean latency of its `gc_affected` writes is below the reference's; `None` if one of the two has none.
    #[schemars(range(max = 100))]
    gc_affected_writes_percent: Option<f64>,
}

/// Something that makes a comparison mean less than it seems to, or a design that is worse than the reference.
#[derive(JsonSchema)]
struct ComparedFinding {
    /// What sort of thing it is, for programs.
    code: FindingCode,
    /// The same in words.
    message: String,
    /// The numbers that it rests on.
    figures: BTreeMap<String, f64>,
    /// The designs that it is about.
    designs: Vec<String>,
}

/// Why a design has no result, or a doubtful one.
#[derive(JsonSchema)]
struct DesignError {
    /// The design.
    design: String,
    /// What sort of error it is.
    kind: ErrorKind,
    /// What went wrong.
    message: String,
}

/// What sort of error keeps a design from having a result.
#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
enum ErrorKind {
    /// Faulty input: device, design, image.
    Config,
    /// Faulty input: the workload.
    Workload,
    /// The run failed.
    Run,
    /// It was interrupted before it could run.
    Interrupted,
    /// A fault of tinytail itself.
    Internal,
}

/// What `tinytail certify act --json` writes and `Certification.to_dict()` returns: the ratings of several designs on one drive, all
/// from drives aged alike.
#[derive(JsonSchema)]
struct Certification {
    /// Raised when a document of this version could be misread.
    #[schemars(skip_deserializing, extend("const" = 2))]
    schema_version: u32,
    /// Version of tinytail.
    version: String,
    /// The command line that makes this certification.
    command: String,
    /// Name of the device.
    device: String,
    /// The workload whose multiplier was varied.
    #[schemars(skip_deserializing, extend("const" = "act"))]
    workload: String,
    /// What a run had to meet.
    rule: RuleName,
    /// Length of the measured part of each run, in seconds of simulated time.
    #[schemars(range(min = 1))]
    duration_s: u32,
    /// The largest multiplier that would have been tried.
    #[schemars(range(min = 1))]
    max_multiplier: u32,
    /// How far apart the multipliers may be that a rating lies between.
    #[schemars(range(min = 1))]
    resolution: u32,
    /// Seed of ageing and of generators.
    seed: u64,
    /// The certification was interrupted: ratings are missing.
    partial: bool,
    /// The state that all runs started from; `None` if none ran.
    state: Option<Common>,
    /// Device, designs and workload in full.
    configuration: Vec<Configured>,
    /// The ratings of each design in short.
    #[schemars(skip_deserializing)]
    ratings: BTreeMap<String, Ratings>,
    /// What is known of the ratings of each design.
    designs: Vec<DesignRatings>,
    /// Every run, by design and multiplier.
    #[schemars(skip_deserializing)]
    steps: Vec<Step>,
    /// Designs that could not be rated, and why.
    errors: Vec<DesignError>,
}

/// Which conditions a run must meet.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
enum RuleName {
    /// Those of Practical Erase Suspension, section 3.3.
    Paper,
    /// The same, with the mean latency of every kind below the time between two large requests.
    PaperLargePeriod,
    /// Those of the tool's own README, version 6.
    Current,
}

/// The ratings of a design: 0 if it passed at no multiplier, `None` if the search was cut short.
#[derive(JsonSchema)]
struct Ratings {
    /// By the performance test.
    performance: Option<u32>,
    /// By the stress test.
    stress: Option<u32>,
}

/// What is known of the ratings of a design.
#[derive(JsonSchema)]
struct DesignRatings {
    /// The design.
    design: String,
    /// By the performance test.
    performance: Rating,
    /// By the stress test.
    stress: Rating,
}

/// The largest multiplier at which a design passed a test.
#[derive(JsonSchema)]
struct Rating {
    /// The largest multiplier that passed, with none that failed below it; 0 if there is none.
    rating: u32,
    /// The smallest multiplier that failed; `None` if none did, so that the rating is a lower bound.
    first_failed: Option<u32>,
    /// The multipliers above `first_failed` that passed.
    passed_above: Vec<u32>,
    /// False if the search was cut short.
    is_final: bool,
}

/// A run of one design at one multiplier.
#[derive(JsonSchema)]
struct Step {
    /// The design.
    design: String,
    /// Multiplier of the load.
    #[schemars(range(min = 1))]
    multiplier: u32,
    /// Requests that the run has if it is not given up.
    #[schemars(range(min = 1))]
    requests: u64,
    /// It passed the performance test.
    performance: bool,
    /// It passed the stress test.
    stress: bool,
    /// What failed: the name of a condition, or why requests stopped completing; `None` if nothing did.
    reason: Option<String>,
    /// It lived on pages that were erased before and that its GC did not free again, so that a longer run may fail where it passed.
    borrowed: bool,
    /// Why no more requests were issued once the stress test had failed for good; `None` if the load was served to its end.
    given_up: Option<String>,
    /// What the rule asks, and how the run met it.
    conditions: Vec<Condition>,
    /// Small reads, large reads and large writes apart.
    #[schemars(length(min = 3, max = 3))]
    kinds: Vec<ActKind>,
    /// How requests stopped completing, and what helps; `None` if none did.
    stuck: Option<String>,
    /// As in a result.
    write_amplification: Option<f64>,
    /// Blocks erased.
    erases: u64,
    /// Simulated time of the measured part, in seconds.
    simulated_seconds: f64,
    /// User CPU time of the measured part, in seconds.
    cpu_seconds: f64,
    /// What was served before the measured part; `None` if nothing was.
    warm_up: Option<String>,
    /// Hash of every event. Equal hashes mean equal runs.
    event_hash: String,
}

/// A condition of a test, and how a run met it. A percentile is shown, but requests are counted: at its edge the two may differ by the
/// histogram's 0.1 %.
#[derive(JsonSchema)]
struct Condition {
    /// What is compared with the limit.
    name: String,
    /// The tests that need it.
    #[schemars(length(min = 1))]
    tests: Vec<Test>,
    /// What was measured, in `unit`; `None` if no request completed, which does not pass.
    value: Option<f64>,
    /// The limit, in `unit`.
    limit: f64,
    /// Unit of value and limit.
    #[schemars(extend("enum" = ["us", "percent"]))]
    unit: String,
    /// The run met it.
    passed: bool,
    /// What is left up to the limit, in percent of it; below 0 beyond it. `None` without a value.
    #[schemars(skip_deserializing, range(max = 100))]
    margin_percent: Option<f64>,
}

/// One of ACT's tests.
#[derive(JsonSchema)]
#[schemars(rename_all = "snake_case")]
enum Test {
    /// The latencies of small reads are within limits, and the stress test.
    Performance,
    /// The drive keeps up with the load.
    Stress,
}

/// One kind of ACT's requests, and their latencies.
#[derive(JsonSchema)]
struct ActKind {
    /// Which of ACT's kinds it is.
    #[schemars(extend("enum" = ["small reads", "large reads", "large writes"]))]
    name: String,
    #[schemars(flatten)]
    summary: KindSummary,
}

/// What the engine is asked for: the options of runs, which `tinytail compare` and others offer.
#[derive(JsonSchema)]
struct Specs {
    /// One run of one design.
    run: Spec,
    /// An image of an aged drive.
    image: CreateSpec,
}

/// What the functions return that look into files.
#[derive(JsonSchema)]
struct Answers {
    /// `describe_trace`.
    trace: TraceDescription,
    /// `convert_trace`.
    conversion: Converted,
    /// `create_image` and `describe_image`.
    image: crate::image::Info,
    /// `describe_image_cache`.
    cache: ImageCache,
}

/// What a trace is like: its format, size, mix, rate, span and locality. Times are 0 in closed loop, where arrivals have none, and
/// there are no rates.
#[derive(JsonSchema)]
struct TraceDescription {
    #[schemars(flatten)]
    info: TraceInfo,
    /// The stock drives, and which of them hold it.
    drives: Vec<StockDrive>,
}

/// A stock drive, and whether it holds a trace.
#[derive(JsonSchema)]
struct StockDrive {
    /// Its name.
    name: String,
    /// What the host can use of it, in bytes.
    logical_bytes: u64,
    /// The trace fits.
    holds: bool,
}

/// The aged drives that are kept, so that later runs copy them instead of ageing.
#[derive(JsonSchema)]
struct ImageCache {
    /// Where they are.
    folder: String,
    /// How many bytes they may have together.
    limit_bytes: u64,
    /// How many they have.
    bytes: u64,
    /// Those used last first.
    entries: Vec<CachedDrive>,
}

/// An aged drive that is kept. Of one that is damaged only the file is known.
#[derive(JsonSchema)]
struct CachedDrive {
    /// Its file's name.
    file: String,
    /// Its size.
    bytes: u64,
    /// When it was used last, in seconds since 1970.
    used_unix_s: u64,
    /// The device that it was made for.
    #[schemars(skip_serializing_if = "Option::is_none", with = "String")]
    device: Option<String>,
    /// The design that it was made for.
    #[schemars(skip_serializing_if = "Option::is_none", with = "String")]
    design: Option<String>,
    /// Seed of the ageing.
    #[schemars(skip_serializing_if = "Option::is_none", with = "u64")]
    seed: Option<u64>,
    /// When it was made, in seconds since 1970.
    #[schemars(skip_serializing_if = "Option::is_none", with = "u64")]
    made_unix_s: Option<u64>,
    /// Everything that decides the state, but seed and footprint.
    #[schemars(skip_serializing_if = "Option::is_none", with = "serde_json::Map<String, Value>")]
    recipe: Option<Value>,
    /// Pages of the workload that are mapped beyond the live ones.
    #[schemars(skip_serializing_if = "Option::is_none", with = "u64")]
    footprint_pages: Option<u64>,
    /// What ageing did.
    #[schemars(skip_serializing_if = "Option::is_none", with = "serde_json::Map<String, Value>")]
    aged: Option<Value>,
    /// A digest of the engine that made it.
    #[schemars(skip_serializing_if = "Option::is_none", with = "String")]
    engine: Option<String>,
}

#[test]
fn the_schemas_of_documents_are_those_that_are_shipped() {
    let results = || SchemaSettings::draft2020_12().for_serialize().with_transform(RecursiveTransform(strict));
    let compare = schema::<Comparison>("tinytail comparison", results());
    expect_file!["../../../python/tinytail/schema/compare.schema.json"].assert_eq(&compare);
    let certify = schema::<Certification>("tinytail certification", results());
    expect_file!["../../../python/tinytail/schema/certify.schema.json"].assert_eq(&certify);
    let answers = schema::<Answers>("tinytail answers", results());
    expect_file!["../../../python/tinytail/schema/answers.schema.json"].assert_eq(&answers);
    // As they are when all keys are written: a schema has no other order of keys than that of those it needs.
    let specs = SchemaSettings::draft2020_12().for_serialize().with_transform(RecursiveTransform(one_line));
    expect_file!["../../../python/tinytail/schema/specs.schema.json"].assert_eq(&schema::<Specs>("tinytail specs", specs));
}
