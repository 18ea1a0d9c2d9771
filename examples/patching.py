"""Find where a trained network keeps an answer, by planting values of one run in another: activation patching.

A prompt is five digits and a pointer to one of them, and a small transformer learns to repeat that digit.  Two prompts
differ in this digit alone.  A vector of the second run is planted in the first: how probable is the second answer?

Run: python examples/patching.py
"""

import numpy as np
from adam import adam_start, adam_step
from gallery import plt, save

from calque import grad, jit, random, vmap
from calque_harvest import plant, reap, sow

DIGITS, PLACES, WIDTH, LAYERS, POINTED, BATCH = 8, 6, 32, 2, 1, 128
SHAPES = {"tokens": (DIGITS + PLACES, WIDTH), "places": (PLACES, WIDTH), "layers": (LAYERS, 5, WIDTH, WIDTH)}
STAGES = [*(f"before layer {i + 1}" for i in range(LAYERS)), "at the end"]


def softmax(x: np.ndarray) -> np.ndarray:
    return np.exp(x) / np.sum(np.exp(x), axis=-1, keepdims=True)


@jit
def network(params: dict, tokens: np.ndarray) -> np.ndarray:
    """Return the logits of the answer.  Shapes: tokens [places] -> [digits]."""
    h = params["tokens"][tokens] + params["places"]
    for i, (q, k, v, w_in, w_out) in enumerate(params["layers"]):
        h = sow(h, name=STAGES[i])
        h = h + sow(softmax(h @ q @ (h @ k).T / WIDTH**0.5), name=f"looks {i + 1}") @ h @ v
        h = h + np.tanh(h @ w_in) @ w_out
    return sow(h, name=STAGES[-1])[-1] @ params["tokens"][:DIGITS].T


def prompts(rng: np.random.Generator, pointed: np.ndarray) -> np.ndarray:
    return np.c_[rng.integers(0, DIGITS, (BATCH, PLACES - 1)), DIGITS + pointed]


def loss(params: dict, tokens: np.ndarray, answers: np.ndarray) -> np.ndarray:
    chances = softmax(vmap(network, (None, 0))(params, tokens))
    return -np.mean(np.log(chances[np.arange(BATCH), answers]))


def patched(params: dict, name: str, is_planted: np.ndarray, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the chances of all answers to `first`, with some vectors of the run on `second` in place of its own."""
    own, other = (reap(network)(params, tokens)[name] for tokens in (first, second))
    return softmax(plant(network)({name: np.where(is_planted, other, own)}, params, first))


def main() -> None:
    params = {name: random.normal(random.key(0), shape) / WIDTH**0.5 for name, shape in SHAPES.items()}
    rng, state = np.random.default_rng(0), adam_start(params)
    train_step = jit(lambda params, state, *batch: adam_step(params, state, grad(loss)(params, *batch), 3e-3))
    for _ in range(1000):
        tokens = prompts(rng, pointed := rng.integers(0, PLACES - 1, BATCH))
        params, state = train_step(params, state, tokens, tokens[np.arange(BATCH), pointed])
    first = prompts(rng, np.full(BATCH, POINTED))
    second = np.where(np.arange(PLACES) == POINTED, (first + rng.integers(1, DIGITS, (BATCH, 1))) % DIGITS, first)
    everywhere = jit(vmap(vmap(patched, (None, None, None, 0, 0)), (None, None, 0, None, None)), static_argnums=1)
    chances = np.array([everywhere(params, name, np.eye(PLACES)[..., None] > 0, first, second) for name in STAGES])
    grid = np.mean(chances[:, :, np.arange(BATCH), second[:, POINTED]], axis=2)
    values = vmap(reap(network), (None, 0))(params, first)
    looks = np.array([np.mean(values[f"looks {i + 1}"], axis=0)[-1] for i in range(LAYERS)])
    for name, row in zip(STAGES, grid):
        print(f"{name:>14}:", *(f"{chance:.2f}" for chance in row))
    figure, axes = plt.subplots(1, 2, figsize=(7.8, 3.0), width_ratios=(1.1, 1.0))
    for axis, table, title in zip(axes, (grid, looks), ("Chance of the planted answer", "Where the pointer looks")):
        axis.imshow(table, vmin=0.0, vmax=1.0, cmap="Blues", aspect="auto")
        axis.set_xticks(range(PLACES), [*(f"digit {i + 1}" for i in range(PLACES - 1)), "pointer"], rotation=40)
        axis.set_yticks(range(len(table)), STAGES if table is grid else [f"layer {i + 1}" for i in range(LAYERS)])
        axis.set_title(title)
    save(figure, __file__)
    if min(grid[0, POINTED], grid[-1, -1]) < 0.9 or grid[0, -1] > 0.1:
        raise SystemExit("the answer is not where it must be: something is wrong")


if __name__ == "__main__":
    main()
