"""Policies in Python do what those in Rust do, and say what is wrong with them."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import tinytail
from commands import RunCommand
from nbd_client import WRITE, Client
from tinytail.engine.answers import Served
from tinytail.errors import ConfigError, RunError, UsageError, installation
from tinytail.policies import (
    AT_CHANNEL,
    HARD,
    NO,
    RECONSTRUCT,
    SOFT,
    Read,
    View,
    Waiting,
    Work,
    suspend_now,
)

ROOT = Path(__file__).parents[3]
VICTIMS = ROOT / "examples" / "policies" / "victims.py"
# Everything starts from a drive that was written: no theory knows a policy of one's own.
RUN: dict[str, Any] = {
    "device": "ttflash-small",
    "workload": "hotcold-write",
    "requests": 4000,
    "state": {"ageing": "overwrite"},
}


def of_file(name: str, **parameters: Any) -> dict[str, Any]:
    return {"victim": {"chain": [entry(name, **parameters)]}}


def entry(name: str, **parameters: Any) -> dict[str, Any]:
    return {"policy": "custom", "file": str(VICTIMS), "name": name, **parameters}


def victim(chosen: Any) -> list[Any]:
    return ["base", {"victim": {"chain": [chosen]}}]


def hashes(designs: Sequence[Any], **run: Any) -> list[str]:
    comparison = tinytail.compare(designs, **{**RUN, **run})
    assert not comparison.errors, comparison.errors[0].message
    assert any(result.gc_count > 0 for result in comparison.results)
    return [result.event_hash for result in comparison.results]


# Plain Python takes half a minute for the victims of a drive that is nearly full.
@pytest.mark.parametrize(
    ("ending", "device"),
    [("", "ttflash-small"), ("_compiled", "ttflash-small"), ("_compiled", "lowlatency-240g-small")],
)
@pytest.mark.parametrize("name", ["greedy", "cost_benefit"])
def test_victims_are_those_of_rust(device: str, name: str, ending: str) -> None:
    mine = victim(entry(f"{name}{ending}"))
    found = hashes([victim({"policy": name}), mine], device=device)
    assert found[0] == found[1]


@tinytail.policy("gc_trigger", start_percent=20, urgent_percent=8)
def watermark(view: View, plane: int) -> int:
    free = view.free_pages[plane]
    pages = view.blocks_per_plane * view.pages_per_block
    return NO if free >= round(0.2 * pages) else SOFT if free >= round(0.08 * pages) else HARD


def quiet_channel(view: View, plane: int, want: int) -> bool:
    """As `free` with `start = "quiet_channel"` and `one_per_channel`."""
    if want not in (SOFT, HARD):
        return False
    return view.host_operations_on_channel[plane] == 0 and view.gcs_on_channel[plane] == 0


class Fifo:
    """What has waited longest."""

    def at_die(self, _: View, waiting: Sequence[Waiting]) -> int:
        return min(range(len(waiting)), key=lambda place: waiting[place].arrival)

    def at_channel(self, view: View, waiting: Sequence[Waiting]) -> int:
        assert view.question == AT_CHANNEL
        assert all(Work(each.work) in Work for each in waiting)
        return self.at_die(view, waiting)


def oldest(view: View, waiting: Sequence[Waiting]) -> int:  # noqa: ARG001
    best = 0
    for place in range(len(waiting)):
        if waiting[place].arrival < waiting[best].arrival:
            best = place
    return best


def erases_make_way(view: View, die: int) -> int:
    return suspend_now() if view.suspendable_work[die] == 2 else NO


def always(view: View, read: Read) -> int:  # noqa: ARG001
    is_right = len(read.extra) > 0 and read.plane >= 0 and read.gc_left_ns >= 0
    return RECONSTRUCT if is_right else -1


INTERFACES: dict[str, Any] = {
    "gc_trigger": (
        {"gc_trigger": watermark},
        [
            "base",
            {"set": {"gc_trigger.soft_free_percent": 20.0, "gc_trigger.hard_free_percent": 8.0}},
        ],
        {},
    ),
    "gc_gate": ({"gc_gate": tinytail.policy("gc_gate")(quiet_channel)}, "base", {}),
    "order": (
        {"order": tinytail.policy("order")(Fifo)},
        ["base", {"order": {"policy": "fifo"}}],
        {},
    ),
    "suspend": (
        {"suspend": tinytail.policy("suspend")(erases_make_way)},
        "base+es",
        {"device": "lowlatency-240g-small", "workload": "randrw70-qd16"},
    ),
    "read_plan": (
        {"read_plan": tinytail.policy("read_plan")(always)},
        "pb+gtr-greedy",
        {"workload": "randrw70-qd16"},
    ),
}


@pytest.mark.parametrize("interface", INTERFACES)
def test_each_interface_decides_as_the_technique_of_rust_does(interface: str) -> None:
    overlay, same, run = INTERFACES[interface]
    base = "pb" if interface == "read_plan" else "base"
    found = hashes([same, [base, overlay], "base+no-gc" if same == base else base], **run)
    assert found[0] == found[1]
    assert found[2] != found[0], "it changes nothing"


@pytest.mark.parametrize("interface", INTERFACES)
def test_each_interface_can_be_compiled(interface: str) -> None:
    overlay, same, run = INTERFACES[interface]
    base = "pb" if interface == "read_plan" else "base"
    function: Any = {
        "order": oldest,
        "suspend": erases_make_way,
        "gc_trigger": watermark.target,
    }.get(interface, getattr(overlay[interface], "target", None))
    levels = dict(overlay[interface].levels)
    mine = tinytail.policy(interface, compiled=True, **levels)(function)  # type: ignore[arg-type]
    found = hashes([same, [base, {interface: mine}]], **run)
    assert found[0] == found[1]


@tinytail.policy("victim")
def fails(view: View, plane: int, candidates: Sequence[int]) -> int:
    if view.now_ns == 0:
        return candidates[0]
    return plane // 0


def failure(chosen: Any, **run: Any) -> BaseException:
    with pytest.raises(RunError) as raised:
        tinytail.compare([victim(chosen)], **{**RUN, **run})
    return raised.value


def test_an_exception_ends_the_run_with_its_traceback_and_what_was_asked() -> None:
    error = failure(fails)
    said = str(error)
    assert "the policy fails of [victim] raised ZeroDivisionError: " in said
    assert "It was asked which block of plane " in said
    assert " ns of simulated time" in said
    assert "return plane // 0" in said
    assert isinstance(error.__cause__, ZeroDivisionError)
    frames = []
    trace = error.__cause__.__traceback__
    while trace is not None:
        frames.append(trace.tb_frame.f_code.co_name)
        trace = trace.tb_next
    assert frames[-1] == "fails"


def test_others_have_their_results_beside_one_that_fails() -> None:
    comparison = tinytail.compare(["base", victim(fails)], **RUN)
    assert [result.design for result in comparison.results] == ["base"]
    assert "ZeroDivisionError" in comparison.errors[0].message


@tinytail.policy("victim")
def answers(view: View, plane: int, candidates: Sequence[int], what: str = "") -> Any:  # noqa: ARG001
    return {"far": 10**6, "minus": -1, "none": None, "float": 1.5, "text": "first"}[what]


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("far", "answered 1000000; allowed: one of "),
        ("minus", "answered -1; allowed: one of "),
        ("none", "answered None, of the type NoneType; allowed: one of "),
        ("float", "answered 1.5, of the type float; "),
        ("text", "answered 'first', of the type str; "),
    ],
)
def test_an_answer_that_is_not_allowed_is_an_error(what: str, said: str) -> None:
    error = failure(answers.given(what=what))
    assert said in str(error)
    assert "It was asked which block of plane " in str(error)
    assert error.__cause__ is None


def late(view: View, plane: int, want: int) -> int:  # noqa: ARG001
    return view.now_ns if view.now_ns > 1 else 1


def beyond(view: View, waiting: Sequence[Waiting]) -> int:  # noqa: ARG001
    return len(waiting)


@pytest.mark.parametrize(
    ("interface", "function", "said"),
    [
        ("gc_gate", late, "or a time to come, in nanoseconds"),
        ("order", beyond, "the place of one of "),
    ],
)
def test_what_is_allowed_is_said_for_each_interface(
    interface: Any, function: Any, said: str
) -> None:
    with pytest.raises(RunError, match=said):
        tinytail.compare([["base", {interface: tinytail.policy(interface)(function)}]], **RUN)


def test_a_compiled_policy_fails_with_a_code() -> None:
    def gives_up(view: View, plane: int, candidates: Sequence[int]) -> int:  # noqa: ARG001
        return -7

    def raises(view: View, plane: int, candidates: Sequence[int]) -> int:  # noqa: ARG001
        if len(candidates) > 0:
            raise ValueError
        return 0

    compiled = tinytail.policy("victim", compiled=True)
    assert "failed with its code -7" in str(failure(compiled(gives_up)))
    assert "without `compiled=True` it says which" in str(failure(compiled(raises)))


KEPT: list[View] = []


def test_a_view_is_good_for_one_question() -> None:
    def keeps(view: View, plane: int, candidates: Sequence[int]) -> int:  # noqa: ARG001
        KEPT.append(view)
        return candidates[0]

    hashes([victim(tinytail.policy("victim")(keeps))])
    looks: tuple[Callable[[], int], ...] = (
        lambda: KEPT[0].now_ns,
        lambda: KEPT[0].valid_pages[0],
        lambda: KEPT[0].pages_kept,
    )
    for look in looks:
        with pytest.raises(RuntimeError, match="until the policy answers"):
            look()
    KEPT.clear()


class InTurn:
    """The blocks of each plane in turn."""

    def __init__(self, step: int = 1) -> None:
        self.step = step
        self.last: dict[int, int] = {}

    def choose(self, view: View, plane: int, candidates: Sequence[int]) -> int:  # noqa: ARG002
        last = self.last.get(plane, -1)
        chosen = min(candidates, key=lambda block: (block <= last, block))
        self.last[plane] = chosen + self.step - 1
        return chosen


class Saved(InTurn):
    def save(self) -> bytes:
        return repr(self.last).encode()

    def restore(self, saved: bytes) -> None:
        self.last = dict(eval(saved))


def test_an_image_holds_what_a_class_remembers(tmp_path: Path) -> None:
    design = victim(tinytail.policy("victim")(Saved))
    image = str(tmp_path / "saved.image")
    run = {key: RUN[key] for key in ("device", "state")}
    tinytail.create_image(image, design=design, **run)
    with_image = {key: RUN[key] for key in ("device", "workload", "requests")}
    [from_image] = tinytail.compare([design], **with_image, image=image).results
    [aged] = tinytail.compare([design], **RUN, no_cache=True).results
    assert from_image.event_hash == aged.event_hash


def test_a_class_that_remembers_and_cannot_say_it_is_refused_in_images(tmp_path: Path) -> None:
    design = victim(tinytail.policy("victim")(InTurn))
    image = tmp_path / "lost.image"
    run = {key: RUN[key] for key in ("device", "state")}
    with pytest.raises(RunError, match=r"it remembers something.*save\(self\) -> bytes"):
        tinytail.create_image(str(image), design=design, **run)
    assert not image.exists()


def test_runs_do_not_share_what_a_class_remembers() -> None:
    policy = tinytail.policy("victim")(Saved)
    sweep: dict[str, Any] = {
        "seeds": 3,
        "axes": {"requests": [4000, 4001]},
        "designs": [victim(policy)],
    }
    run = {key: RUN[key] for key in ("device", "workload", "state")}
    one = tinytail.sweep(**sweep, **run, jobs=1)
    two = tinytail.sweep(**sweep, **run, jobs=2)
    assert one.to_pandas()["event_hash"].tolist() == two.to_pandas()["event_hash"].tolist()


@pytest.mark.skipif(sys.platform != "linux", reason="drives are served on Linux alone")
def test_a_served_drive_asks_a_policy_of_ones_own(tmp_path: Path) -> None:
    def serve(chosen: Any) -> Served:
        stop = threading.Event()

        def watch(phase: str, found: dict[str, Any] | None) -> None:  # noqa: ARG001
            if found is None or stop.is_set():
                return
            with suppress(OSError), Client(tmp_path / "socket") as client:
                for turn in range(40):
                    client.ask(WRITE, turn << 20, 1 << 20, bytes(1 << 20))
            stop.set()

        return tinytail.serve(
            device="ttflash-small",
            design=victim(chosen),
            nbd=f"unix:{tmp_path}/socket",
            no_delay=True,
            stop=stop,
            watch=watch,
        )

    served = serve(entry("greedy"))
    assert served.write.count == 40
    assert served.gc_count > 0
    with pytest.raises(RunError, match=r"the policy fails of \[victim\] raised ZeroDivisionError"):
        serve(fails)


def test_a_policy_of_ones_own_meets_losses_of_power() -> None:
    settings = {"state.ageing": "overwrite"}
    run: dict[str, Any] = {"device": "ttflash-small", "cuts": 8, "settings": settings}
    found = tinytail.verify_power_cut(["base", victim(entry("greedy"))], **run)
    assert found.holds
    first, own = found.results
    assert (own.event_hash, own.cuts) == (first.event_hash, 4)
    broken = tinytail.verify_power_cut([victim(fails)], **run)
    assert "ZeroDivisionError" in broken.errors[0].message


def test_a_policy_is_an_axis_of_sweeps_and_searches(tmp_path: Path) -> None:
    axes = {"+victim": [{"victim": {"chain": [{"policy": "greedy"}]}}, of_file("greedy_compiled")]}
    run = {**RUN, "requests": 4000}
    found = tinytail.sweep(axes, designs=["base"], **run, out=tmp_path / "sweep")
    table = found.to_pandas()
    assert table["error"].isna().all()
    assert table["event_hash"].nunique() == 1
    again = tinytail.sweep(axes, designs=["base"], **run, out=tmp_path / "sweep")
    assert again.to_pandas()["point"].tolist() == table["point"].tolist()
    chains = {"victim.chain": [[{"policy": "fifo"}], [entry("cost_benefit_compiled")]]}
    searched = tinytail.search(
        chains,
        designs=["base"],
        least=["write_amplification"],
        requests_short=4000,
        confirm=1,
        seeds=1,
        **{**RUN, "requests": 8000},
    )
    assert "2 of 2 combinations tried" in repr(searched)


def test_a_file_is_found_from_the_design_and_pinned(tmp_path: Path, command: RunCommand) -> None:
    (tmp_path / "mine.py").write_text(VICTIMS.read_text())
    overlay = tmp_path / "mine.toml"
    chain = 'chain = [{ policy = "custom", file = "mine.py", name = "greedy"%s }]'
    head = 'name = "mine"\nkind = "overlay"\nsummary = "mine"\n[victim]\n'
    overlay.write_text(head + chain % "")
    words = ["--device", "ttflash-small", "--workload", "hotcold-write", "--requests", "2000"]
    words += ["--state", "ageing=overwrite"]
    outcome = command("compare", f"base+{overlay}", *words)
    assert outcome.code == 0, outcome.err
    shown = tinytail.describe_design(f"base+{overlay}")
    [said] = [each.value for each in shown.settings if each.key == "chain"]
    [digest] = re.findall(r"\b[0-9a-f]{32}\b", str(said))
    overlay.write_text(head + chain % f', digest = "{digest}"')
    assert tinytail.describe_design(f"base+{overlay}")
    (tmp_path / "mine.py").write_text(VICTIMS.read_text() + "\n# changed\n")
    with pytest.raises(ConfigError, match="the file has changed since"):
        tinytail.describe_design(f"base+{overlay}")


@pytest.mark.parametrize(
    ("text", "name", "parameters", "said"),
    [
        ("import tinytail\n", "greedy", {}, "has no policies"),
        ("def greedy(): ...\n", "greedy", {}, "greedy is no policy: decorate it"),
        ("1 / 0\nfrom min import greedy\n", "greedy", {}, "mine.py:1: ZeroDivisionError"),
        ("def (\n", "greedy", {}, "mine.py:1: SyntaxError"),
        (None, "greedi", {}, 'has no policy greedi; did you mean "greedy"?'),
        (None, "greedy", {"weight": 1}, "greedy has no parameter `weight`; it has none"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(
    tmp_path: Path, text: str | None, name: str, parameters: Any, said: str
) -> None:
    file = tmp_path / "mine.py"
    file.write_text(VICTIMS.read_text() if text is None else text)
    given = {"policy": "custom", "file": str(file), "name": name, **parameters}
    with pytest.raises(ConfigError) as raised:
        tinytail.compare([victim(given)], **RUN)
    assert said in str(raised.value)


def test_what_is_wrong_with_a_policy_is_said() -> None:
    with pytest.raises(UsageError, match='no policies for "victims"; did you mean "victim"'):
        tinytail.policy("victims")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="is a class: it has no state"):
        tinytail.policy("victim", compiled=True)(InTurn)
    with pytest.raises(UsageError, match="has no method `want`"):
        tinytail.policy("gc_trigger")(InTurn)
    with pytest.raises(UsageError, match="a function or a class with a name"):
        tinytail.policy("victim")(lambda _, __, candidates: candidates[0])
    with pytest.raises(UsageError, match=r"policy of \[victim\], and not of \[order\]"):
        tinytail.compare([["base", {"order": answers}]], **RUN)
    trigger = tinytail.policy("gc_trigger")(watermark.target)
    with pytest.raises(ConfigError, match="does not say `start_percent`"):
        tinytail.compare([["base", {"gc_trigger": trigger}]], **RUN)
    trigger = tinytail.policy("gc_trigger", start_percent=5, urgent_percent=9)(watermark.target)
    with pytest.raises(ConfigError, match="0 <= urgent < start"):
        tinytail.compare([["base", {"gc_trigger": trigger}]], **RUN)


def test_a_policy_is_its_source_and_all_that_it_uses() -> None:
    def made(weight: Any) -> Any:
        @tinytail.policy("victim")
        def chosen(view: View, plane: int, candidates: Sequence[int]) -> int:  # noqa: ARG001
            return candidates[int(weight % 2)]

        return chosen

    assert made(1).digest() == made(1).digest() != made(2).digest()
    with pytest.raises(UsageError, match="uses `weight`, a value of the type object"):
        made(object()).digest()


def test_without_numba_a_compiled_policy_says_what_to_install() -> None:
    code = """
        import sys
        sys.modules["numba"] = None
        import importlib.util as util
        found = util.find_spec
        util.find_spec = lambda name, *rest: None if name == "numba" else found(name, *rest)
        import tinytail
        entry = {"policy": "custom", "file": sys.argv[1], "name": "greedy_compiled"}
        tinytail.compare([["base", {"victim": {"chain": [entry]}}]], device="ttflash-small",
                         workload="hotcold-write", requests=100)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), str(VICTIMS)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert f"to install: {installation('numba')}. Without" in done.stderr


def test_a_policy_that_no_file_has_does_not_travel() -> None:
    distributed = pytest.importorskip("distributed", reason="Dask is the cluster")
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
        pytest.raises(UsageError, match="is held by this program alone"),
    ):
        tinytail.sweep(
            {"requests": [100]},
            designs=[victim(fails)],
            cluster=client,
            **{key: RUN[key] for key in ("device", "workload", "state")},
        )


def test_the_file_of_a_policy_travels_with_the_points(tmp_path: Path) -> None:
    pytest.importorskip("distributed", reason="Dask is the cluster")
    from tinytail.sweeps import cluster as on_cluster, plan

    (tmp_path / "mine.py").write_text(VICTIMS.read_text())
    overlay = tmp_path / "mine.toml"
    overlay.write_text(
        'name = "mine"\nkind = "overlay"\nsummary = "mine"\n[victim]\n'
        'chain = [{ policy = "custom", file = "mine.py", name = "greedy" }]\n'
    )
    run = {key: RUN[key] for key in ("device", "workload", "state")}
    made = plan({"requests": [2000]}, designs=[f"base+{overlay}"], **run)
    [point] = made
    here, _, _ = on_cluster.run_batch(on_cluster._setting(made)[0], [point.spec], None, None)
    setting, large = on_cluster._setting(made)
    assert not large
    (tmp_path / "mine.py").unlink()
    overlay.unlink()
    there, _, _ = on_cluster.run_batch(setting, [point.spec], None, None)
    assert here[0]["error"] is None
    assert there[0]["error"] is None
    assert here[0]["event_hash"] == there[0]["event_hash"]
