"""What a bench run says: a table for people, JSON for programs."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from uno_flex_env import __version__
from uno_flex_env.bench.batch_speed import batch_of
from uno_flex_env.bench.measure import Figure

FORMAT = "uno-flex-bench/1"
_FORMS = {"ratio": "{:,.2f}", "s": "{:.3f}"}


def load() -> float | None:
    """How many programs wanted a core during the last minute; None where the system does not say."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


def machine() -> dict[str, Any]:
    """What the figures depend on besides the code."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "level": batch_of(1, 2).level,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "numpy": np.__version__,
    }


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown"


def as_json(figures: Sequence[Figure], settings: dict[str, Any], loads: Sequence[float | None]) -> dict[str, Any]:
    """Everything that is known of a run; each figure with its median and the values that it is the median of."""
    return {
        "format": FORMAT,
        "version": __version__,
        "machine": machine(),
        "load": {"before": loads[0], "after": loads[-1]},
        "settings": settings,
        "figures": {each.name: asdict(each) | {"median": each.median} for each in figures},
    }


def as_table(report: dict[str, Any]) -> str:
    """The same for people, in 104 columns."""
    host, settings, loads = report["machine"], report["settings"], report["load"]
    lines = [
        f"uno-flex-env {report['version']}: medians of {settings['runs']} runs of {settings['seconds']} s, one core"
        " unless said",
        f"{host['processor']}, {host['cores']} cores, level {host['level']}; {host['system']}; Python {host['python']},"
        f" numpy {host['numpy']}",
        f"Load of the machine: {loads['before']} before, {loads['after']} after",
        "",
        f"{'':46}{'median':>13} {'':12}{'lowest - highest':<24}target",
    ]
    for group, members in groupby(report["figures"].values(), key=lambda figure: figure["group"]):
        lines += ["", group]
        lines += [_row(figure) for figure in members]
    return "\n".join(line.rstrip() for line in lines)


def _row(figure: dict[str, Any]) -> str:
    form = _FORMS.get(figure["unit"], "{:,.0f}")
    median, values = form.format(figure["median"]), figure["values"]
    between = f"{form.format(min(values))} - {form.format(max(values))}" if len(values) > 1 else ""
    return f"  {figure['label']:<44}{median:>13} {figure['unit']:<12}{between:<24}{figure['target']}"
