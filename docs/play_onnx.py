"""A game of UNO Flex among copies of an exported network. All that it needs is numpy, onnxruntime and uno_flex_env.

python -m experiments export champion --to champion.onnx
python docs/play_onnx.py champion.onnx 3
"""

import json
import sys

import numpy as np
import onnxruntime

from uno_flex_env import uno_flex_v0

if len(sys.argv) != 3:
    sys.exit(__doc__)
file, players = sys.argv[1], int(sys.argv[2])
network = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])
facts = network.get_modelmeta().custom_metadata_map
if json.loads(facts.get("environment", "{}")).get("name") != "uno_flex_v0":
    sys.exit(f"{file} is no network for uno_flex_v0")
actions = json.loads(facts["actions"])  # the notation of each
inputs = {entry.name: entry.shape for entry in network.get_inputs()}
history = inputs["history"][1] if "history" in inputs else 0  # past events that it wants to see

rng = np.random.default_rng(1)
env = uno_flex_v0.env(num_players=players, history=history)
env.reset(seed=1)
for player in env.agent_iter():
    _, reward, terminated, truncated, _ = env.last(observe=False)
    if terminated or truncated:
        print(player, reward)
        env.step(None)
    else:
        seen = env.observe(player)
        (probabilities,) = network.run(["probabilities"], {name: seen[name][None] for name in inputs})
        weights = probabilities[0].astype(float)  # of float32, whose sum is 1 but for rounding
        action = int(rng.choice(len(actions), p=weights / weights.sum()))
        print(player, actions[action])
        env.step(action)
