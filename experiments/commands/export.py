"""Export a network as an ONNX file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import tyro

from agents.atomic import write_whole
from agents.checkpoint import find_policy, load_network
from experiments.training.onnx_file import compare, to_onnx

HELP = """\
Write a network as an ONNX file. onnxruntime and other programs can play with it, without torch and without this
project.

  python -m experiments export champion --to champion.onnx
  python -m experiments export runs/quick

The metadata of the file describe its inputs and outputs as JSON: the parts of the observation, the notation of the
actions, and how the network was trained. docs/play_onnx.py plays a game with a file. Before a file is written,
onnxruntime must give the same probabilities as the network at positions of 2 to 8 players.
"""


@dataclass(frozen=True)
class Config:
    """Settings of an export."""

    policy: tyro.conf.Positional[str] = "champion"
    """The network: champion, the folder of a training run, or a .safetensors file."""
    to: Path | None = None
    """The .onnx file to write or replace. The default is the network's name in the current folder."""

    def __post_init__(self) -> None:
        if find_policy(self.policy) is None:
            raise ValueError(
                "policy must be a network, by a pretrained one's name, the folder of a training run or a .safetensors "
                f"file (bots, search and options like :greedy can't be exported), got {self.policy!r}"
            )
        if self.target.suffix != ".onnx":
            raise ValueError(f"to must be an .onnx file, got {self.target}")
        if not self.target.parent.is_dir():
            raise ValueError(f"to must lie in a folder that there is, got {self.target}")
        if self.target.is_dir():
            raise ValueError(f"to must be a file, and there is a folder {self.target}")

    @property
    def target(self) -> Path:
        """The file to write."""
        return Path(f"{Path(self.policy).name.removesuffix('.safetensors')}.onnx") if self.to is None else self.to


def main(config: Config) -> int:
    """Export the network, check the file and write it."""
    file = find_policy(config.policy)
    if file is None:
        raise ValueError(f"{config.policy} is gone")
    network, about = load_network(file)
    data = to_onnx(network, about)
    positions, difference = compare(data, network)
    write_whole(config.target, data)
    print(f"{config.target}: {network.config.kind} network, {len(data) / 1e6:.1f} MB", flush=True)
    print(
        f"onnxruntime gives the network's own probabilities at {positions:,} positions, within {difference:.0e}",
        flush=True,
    )
    return 0
