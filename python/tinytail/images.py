"""Makes images of aged drives, from which comparisons start without ageing again."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Unpack

from tinytail.engine import arguments, cache, catalog, memory, native
from tinytail.engine.answers import ImageCache, ImageInfo
from tinytail.engine.jobs import ProgressCallback, run_one
from tinytail.engine.options import ImageSpec, TraceKeywords, TraceOptions
from tinytail.files.text import read_as
from tinytail.files.whole import FileOutput
from tinytail.inputs import conflicts, tables
from tinytail.inputs.pipes import spooled


def create_image(
    out: str | os.PathLike[str],
    *,
    device: tables.Named,
    design: tables.DesignNamed,
    seed: int = 1,
    state: Mapping[str, catalog.StateValue] | None = None,
    settings: arguments.Settings | None = None,
    workload: tables.Named | None = None,
    progress: ProgressCallback | None = None,
    **trace: Unpack[TraceKeywords],
) -> ImageInfo:
    """Ages a drive and writes it to a file, which is whole or not there at all.

    Args:
        out: the file. One that is there is replaced in one step.
        device: name of a drive, path of its file, or a table; see `compare`.
        design: name of a design; overlays are added with plus signs. Designs that place pages
            alike and keep as many blocks can start from the same image.
        seed: seed of whatever is random.
        state: values of the starting state that replace the device's.
        settings: values that replace those of the files of device, design and workload, by section
            and key, such as `{"gc.write_points": 4}`.
        workload: a workload whose pages are mapped too, as they are when it is run without image.
        progress: called about ten times a second, in this thread.
        trace: how a trace is read, by the options of `TraceOptions`.

    Returns:
        What the image holds, as `describe_image` does, and what it took in seconds of CPU time.

    Raises:
        UsageError: an argument of the wrong type or out of range.
        ConfigError: an unknown or faulty device, design or starting state.
        WorkloadError: a workload that cannot be read.
        OutputError: nothing can be written there; found before anything is aged.
        RunError: the image cannot be written.
    """
    spec = ImageSpec(
        out=arguments.file(out),
        device=tables.device(device),
        design=tables.design(design),
        seed=seed,
        state={} if state is None else arguments.state(state),
        workload=None if workload is None else tables.workload(workload),
        trace=TraceOptions(**trace),
        settings=arguments.settings(settings),
    )
    read = conflicts.files_read(device=spec.device, designs=[spec.design], workload=spec.workload)
    conflicts.check([("OUT", spec.out)], read)
    FileOutput(spec.out, "OUT", "an image", regular=True).check()
    memory.check(spec.device, spec.design, spec.settings)
    with spooled(spec.workload, spec.trace, progress) as content:
        spec = replace(spec, spooled=content)
        made = run_one(lambda control: native.image_create(spec, control), spec.out, progress)
    return read_as(ImageInfo, made)


def describe_image(path: str | os.PathLike[str]) -> ImageInfo:
    """What an image holds, after a check of all its bytes: its making, its state and its layout.

    Raises:
        UsageError: an argument of the wrong type.
        ConfigError: the file is no image, is of another version, cut off or damaged.
    """
    return read_as(ImageInfo, native.image_info(path))


def describe_image_cache() -> ImageCache:
    """The aged drives that are kept, so that later runs copy them instead of ageing.

    Raises:
        UsageError: the environment variable `TINYTAIL_CACHE_GIB` is no number of GiB.
    """
    return read_as(ImageCache, cache.listed())
