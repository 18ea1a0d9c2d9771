"""Train a recurrent network to write like Python's manual: an embedding and a GRU over characters.

The text is the language reference that every Python holds in `pydoc_data.topics`, 460,000 characters.  The network
reads a character, looks its vector up, moves its state by a gated recurrent unit under `lax.scan`, and predicts the
next character.  Training takes some 20 seconds on two cores; then the script prints the bits that it needs per
character of text it has not seen, writes some text of its own, and draws the training curve and how the bits fall as
the network reads on into `examples/output/characters.png`.

Run: python examples/characters.py
"""

from __future__ import annotations

from pydoc_data.topics import topics
from typing import Any

import numpy as np
from adam import AdamState, adam_start, adam_step
from gallery import plt, save
from tqdm import tqdm

import calque
import calque.numpy as cnp
from calque import lax, nn, random

Params = dict[str, Any]
EMBEDDED, HIDDEN = 32, 192
STEPS, BATCH, LENGTH, LEARNING_RATE = 600, 32, 64, 4e-3


def load() -> tuple[np.ndarray, np.ndarray, str]:
    """Return the codes of the training text and of the held-out text, its last tenth, and the alphabet."""
    text = "\n".join(topics[name] for name in sorted(topics))
    alphabet = "".join(sorted(set(text)))
    codes = np.searchsorted(np.array(list(alphabet)), np.array(list(text)))
    return *np.split(codes, [len(codes) * 9 // 10]), alphabet


def initial_params(key: Any, n_characters: int) -> Params:
    """Return random weights with the variance of the inverse number of inputs, and zero biases."""
    sizes = {
        "embedding": (n_characters, EMBEDDED),
        "gates": (EMBEDDED + HIDDEN, 2 * HIDDEN),
        "candidate": (EMBEDDED + HIDDEN, HIDDEN),
        "readout": (HIDDEN, n_characters),
    }
    keys = random.split(key, len(sizes))
    weights = {
        name: np.float32(shape[0] ** -0.5) * random.normal(k, shape, np.float32)
        for k, (name, shape) in zip(keys, sizes.items())
    }
    biases = {f"{name}_bias": np.zeros(sizes[name][1], np.float32) for name in ("gates", "candidate", "readout")}
    return weights | biases


def gru(params: Params, state: Any, embedded: Any) -> Any:
    """Return the next state.  Shapes: state [h], embedded [e] -> [h].  Source: Cho et al. (2014), equations 5 to 8."""
    both = cnp.concatenate([embedded, state])
    reset, update = cnp.split(lax.logistic(both @ params["gates"] + params["gates_bias"]), 2)
    candidate = cnp.tanh(cnp.concatenate([embedded, reset * state]) @ params["candidate"] + params["candidate_bias"])
    return update * state + (1.0 - update) * candidate


def log_probabilities(params: Params, codes: Any) -> Any:
    """Return the logarithm of the probability of each character after those before it.  Shapes: [n + 1] -> [n]."""

    def step(state: Any, codes: Any) -> tuple[Any, Any]:
        code, next_code = codes
        state = gru(params, state, params["embedding"][code])
        scores = state @ params["readout"] + params["readout_bias"]
        return state, scores[next_code] - nn.logsumexp(scores)

    start = cnp.zeros(HIDDEN, np.float32)
    return lax.scan(step, start, (codes[:-1], codes[1:]))[1]


@calque.jit
def bits(params: Params, windows: Any) -> Any:
    """Return the bits needed for each character.  Shapes: windows [b, n + 1] -> [b, n]."""
    return calque.vmap(log_probabilities, in_axes=(None, 0))(params, windows) / -np.log(2.0).astype(np.float32)


@calque.jit
def train_step(params: Params, state: AdamState, windows: Any, rate: Any) -> tuple[Params, AdamState, Any]:
    """Return the parameters and the optimiser's state after one step, and the mean bits before it."""
    value, gradient = calque.value_and_grad(lambda params: cnp.mean(bits(params, windows)))(params)
    params, state = adam_step(params, state, gradient, rate)
    return params, state, value


def cut(codes: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Return the windows of LENGTH + 1 codes that begin at `starts`."""
    return codes[starts[:, None] + np.arange(LENGTH + 1)]


def train(codes: np.ndarray, n_characters: int, key: Any) -> tuple[Params, list[float]]:
    """Return the trained parameters and the bits per character at every step."""
    params_key, starts_key = random.split(key)
    params = initial_params(params_key, n_characters)
    state = adam_start(params)
    starts = np.asarray(random.randint(starts_key, (STEPS, BATCH), 0, len(codes) - LENGTH - 1))
    curve = []
    for step in tqdm(range(STEPS), desc="training", unit="step"):
        rate = np.float32(LEARNING_RATE * (1.0 - step / STEPS))
        params, state, value = train_step(params, state, cut(codes, starts[step]), rate)
        curve.append(value)
    return params, [float(value) for value in curve]


@calque.jit
def write(params: Params, key: Any, first: Any) -> Any:
    """Return the codes of 300 characters, each drawn from the network's prediction after those before it."""

    def step(carry: Any, key: Any) -> tuple[Any, Any]:
        state, code = carry
        state = gru(params, state, params["embedding"][code])
        scores = 1.5 * (state @ params["readout"] + params["readout_bias"])
        noise = -cnp.log(-cnp.log(random.uniform(key, scores.shape, np.float32, 1e-6, 1.0)))  # the Gumbel trick
        code = cnp.argmax(scores + noise)
        return (state, code), code

    return lax.scan(step, (cnp.zeros(HIDDEN, np.float32), first), random.split(key, 300))[1]


def draw(curve: list[float], held_out: np.ndarray) -> None:
    """Draw the training curve, and the bits for the n-th character of a window."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5))
    left.plot(curve, linewidth=0.8)
    left.set(xlabel="step", ylabel="bits per character", title="Training")
    right.plot(held_out.mean(axis=0))
    right.set(xlabel="characters read", ylabel="bits per character", title="Text not seen before")
    save(figure, __file__)


def main() -> None:
    """Train, evaluate, write, draw."""
    training, held_out, alphabet = load()
    params, curve = train(training, len(alphabet), random.key(0))
    windows = cut(held_out, np.arange(0, len(held_out) - LENGTH - 1, LENGTH))
    held_out_bits = np.asarray(bits(params, windows))
    codes = write(params, random.key(1), np.int64(alphabet.index("\n")))
    print("".join(alphabet[code] for code in np.asarray(codes)))
    draw(curve, held_out_bits)
    print(f"\nheld-out text: {held_out_bits.mean():.3f} bits per character")
    if held_out_bits.mean() > 2.6:
        raise SystemExit("more than 2.6 bits per character: something is wrong")


if __name__ == "__main__":
    main()
