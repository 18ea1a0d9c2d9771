"""Train a small transformer on Python's manual, character by character, and see where its heads look.

Two layers of four heads predict each character from those before it: `scan` runs the layers, `vmap` the texts of a
batch.  Sources: Vaswani et al. (2017), Raffel et al. (2020) for the bias by distance.

Run: python examples/attention.py
"""

from pydoc_data.topics import topics

import numpy as np
from adam import adam_start, adam_step
from gallery import plt, save

from calque import grad, jit, lax, nn, random, vmap

LAYERS, HEADS, WIDTH, LENGTH, BATCH, STEPS = 2, 4, 48, 48, 8, 800
DISTANCE = np.arange(LENGTH)[:, None] - np.arange(LENGTH)  # negative for characters that are still to come
PHRASE, ANGLE = list("the return value of the function is the value of"), np.linspace(0.0, np.pi, 40)


def initial_params(n: int) -> dict:
    draw = lambda i, *shape: np.float32(0.7 * shape[-2] ** -0.5) * random.normal(random.key(i), shape, np.float32)
    layers = {
        "qkv": draw(0, LAYERS, WIDTH, 3 * WIDTH),
        "bias": draw(1, LAYERS, HEADS, LENGTH),
        "mix": draw(2, LAYERS, WIDTH, WIDTH),
        "up": draw(3, LAYERS, WIDTH, 4 * WIDTH),
        "down": draw(4, LAYERS, 4 * WIDTH, WIDTH),
    }
    return {"embedding": 10 * draw(5, n, WIDTH), "layers": layers, "readout": draw(6, WIDTH, n)}


def transform(x: np.ndarray, layer: dict) -> tuple[np.ndarray, np.ndarray]:
    """Return the next vectors of all characters, and the weights of attention.  Shapes: [t, w] -> [t, w], [h, t, t]."""
    query, key, value = np.moveaxis((nn.standardize(x) @ layer["qkv"]).reshape(LENGTH, 3, HEADS, -1), 1, 0)
    scores = np.einsum("ihd,jhd->hij", query, key) / np.float32((WIDTH / HEADS) ** 0.5) + layer["bias"][:, DISTANCE]
    weights = nn.softmax(np.where(DISTANCE < 0, np.float32(-np.inf), scores))
    x = x + np.einsum("hij,jhd->ihd", weights, value).reshape(LENGTH, WIDTH) @ layer["mix"]
    return x + nn.relu(nn.standardize(x) @ layer["up"]) @ layer["down"], weights


def bits(params: dict, codes: np.ndarray) -> np.ndarray:
    """Return the mean number of bits that the network needs for a character.  Shapes: [t + 1] -> []."""
    x = lax.scan(transform, params["embedding"][codes[:-1]], params["layers"])[0]
    log2_probabilities = nn.log_softmax(nn.standardize(x) @ params["readout"]) / np.float32(np.log(2))
    return -np.mean(log2_probabilities[np.arange(LENGTH), codes[1:]])


batch_bits = jit(lambda params, codes: np.mean(vmap(bits, in_axes=(None, 0))(params, codes)))
train_step = jit(lambda params, state, codes, rate: adam_step(params, state, grad(batch_bits)(params, codes), rate))


def main() -> None:
    alphabet, codes = np.unique(list(" ".join("\n".join(topics.values()).split())), return_inverse=True)
    windows, n = np.lib.stride_tricks.sliding_window_view(codes, LENGTH + 1), len(codes) * 9 // 10
    state = adam_start(params := initial_params(len(alphabet)))
    for step, starts in enumerate(np.random.default_rng(0).integers(n - LENGTH, size=(STEPS, BATCH))):
        params, state = train_step(params, state, windows[starts], np.float32(6e-3 * (1 - step / STEPS)))
    held_out = float(batch_bits(params, windows[n::LENGTH]))
    pairs = 1.0 + np.histogram2d(codes[: n - 1], codes[1:n], bins=np.arange(len(alphabet) + 1))[0]
    pair_bits = -np.mean(np.log2(pairs / pairs.sum(axis=1, keepdims=True))[codes[n:-1], codes[n + 1 :]])
    print(f"held-out text: {held_out:.2f} bits for a character, where the frequencies of pairs need {pair_bits:.2f}")
    characters = params["embedding"][np.searchsorted(alphabet, PHRASE)]
    weights = np.asarray(lax.scan(transform, characters, params["layers"])[1])
    figure, axes = plt.subplots(figsize=(7.0, 3.0), subplot_kw={"frame_on": False, "xticks": (), "yticks": ()})
    for layer, head, i, j in np.argwhere((weights > 0.25) & (DISTANCE > 1)):
        x, y = (i + j + (i - j) * np.cos(ANGLE)) / 2, (0.7 + (i - j) ** 0.7 * np.sin(ANGLE)) * (1, -1)[layer]
        axes.plot(x, y, color=f"C{head}", linewidth=2.5 * weights[layer, head, i, j])
    for i, character in enumerate(PHRASE):
        axes.text(i, 0.0, character, family="monospace", size=10, ha="center", va="center")
    axes.set(title="Heads look along the word, some at earlier words (layer 1 above, 2 below)")
    save(figure, __file__)
    if held_out > pair_bits - 0.5:
        raise SystemExit("the network predicts too badly: something is wrong")


if __name__ == "__main__":
    main()
