"""Plugins: libraries that add a platform to XLA, and how this process knows of them.

One idea: a plugin is a platform's name and a shared library with the PJRT interface.  Packages announce theirs by entry
points, but their Python code starts jax, so it never runs here: the package is located and its library is loaded.
Users name a library themselves by the variable `PJRT_NAMES_AND_LIBRARY_PATHS` or by `register_plugin`.

Read next: `clients.py`, which starts plugins; `cuda.py`, for the companions of the GPU plugin.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib.machinery import ModuleSpec, PathFinder
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, NamedTuple

from jaxlib import xla_client as xc

from calque_core.engine import fix_device_memory, requested_device_memory
from calque_core.extend import where
from calque_xla_backend.runtime.cuda import load_cuda, register_kernels
from calque_xla_backend.runtime.distributed import current_group

Client = Any  # jaxlib's Client

VARIABLE = "PJRT_NAMES_AND_LIBRARY_PATHS"
_GROUP = "jax_plugins"
_LIBRARIES = {"xla_cuda_plugin.so": "cuda", "xla_rocm_plugin.so": "rocm"}  # the platforms of known libraries
_GPUS = tuple(_LIBRARIES.values())
_NAME = re.compile(r"[A-Za-z]\w*")


class Plugin(NamedTuple):
    """A plugin as `plugins` lists it.

    The platform that it adds, its library, and the source of this knowledge; `problem` says why it cannot be used, and
    is empty for a plugin that works or has not been tried.
    """

    platform: str
    library: str
    source: str
    problem: str = ""


_registered: dict[str, tuple[Plugin, dict[str, Any]]] = {}  # the user's plugins, with their options
_problems: dict[str, str] = {}  # of the platforms that did not start


def register_plugin(name: str, library_path: str | os.PathLike[str], options: Mapping[str, Any] | None = None) -> None:
    """Add the platform `name`, whose devices the library at `library_path` gives to XLA.

    `options` are passed to the library at its start: bools, integers, floats and strings by name.  Call it before the
    first use of `jit`, of `device_put` and of `devices`: the platform is then the default, if it starts.
    Raises: TypeError if `name` is no string; ValueError if it is no name, or names a platform that exists;
    FileNotFoundError without such a library.

    >>> from calque_xla_backend import register_plugin
    >>> register_plugin("cpu", "plugin.so")
    Traceback (most recent call last):
    ValueError: register_plugin got the name 'cpu', which is the platform of the host's processor. Choose another name.
    """
    caller = f"register_plugin{where()}"
    if not isinstance(name, str):
        raise TypeError(f"{caller} got the name {name!r}. Use a string, such as 'my_chip'.")
    if not _NAME.fullmatch(name):
        raise ValueError(f"{caller} got the name {name!r}. Use letters, digits and underscores, such as 'my_chip'.")
    if name == "cpu":
        raise ValueError(
            "register_plugin got the name 'cpu', which is the platform of the host's processor. Choose another name."
        )
    path = os.path.abspath(os.path.expanduser(library_path))
    if name in _registered and _registered[name][0].library != path:
        raise ValueError(
            f"{caller} got the name {name!r} again, with another library than {_registered[name][0].library}. Choose "
            "another name."
        )
    if not os.path.exists(path):
        raise FileNotFoundError(f"{caller} found no library at {path!r}. Give the path of the plugin's shared library.")
    _registered[name] = Plugin(name, path, "register_plugin"), dict(options or {})


def plugins() -> list[Plugin]:
    """Return the plugins that this process knows of; none is started.

    Raises: ValueError if the variable `PJRT_NAMES_AND_LIBRARY_PATHS` is malformed.

    >>> from calque_xla_backend import plugins
    >>> [plugin.platform for plugin in plugins() if plugin.platform == "my_chip"]
    []
    """
    return [plugin._replace(problem=plugin.problem or _problems.get(plugin.platform, "")) for plugin in _known()]


def usable_plugins() -> dict[str, Plugin]:
    """Return the plugins that have a library, by platform; of two for one platform the first."""
    by_platform: dict[str, Plugin] = {}
    for plugin in _known():
        if plugin.library:
            by_platform.setdefault(plugin.platform, plugin)
    return by_platform


def _known() -> Iterator[Plugin]:
    yield from (plugin for plugin, _ in _registered.values())
    yield from _named_in(os.environ.get(VARIABLE, ""))
    yield from _announced()


def _named_in(text: str) -> Iterator[Plugin]:
    """Yield the plugins that the variable names: `name:path`, separated by commas.  Raises: ValueError."""
    for entry in filter(None, text.split(",")):
        name, colon, path = entry.partition(":")
        if not (colon and path and _NAME.fullmatch(name)):
            raise ValueError(
                f"{VARIABLE} has the entry {entry!r}. Write name:path, and commas between entries, such as "
                "'my_chip:/opt/my_chip/plugin.so'."
            )
        yield Plugin(name, path, VARIABLE)


# Plugins of packages


@cache
def _announced() -> list[Plugin]:
    """Return the plugins that installed packages announce by entry points, found without running their code."""
    return [_plugin_of(entry) for entry in entry_points(group=_GROUP)]


def _plugin_of(entry: EntryPoint) -> Plugin:
    source = f"{entry.dist.name} {entry.dist.version}" if entry.dist else f"entry point {entry.name}"
    for folder in _folders_of(entry.module):
        for library, platform in _LIBRARIES.items():
            if os.path.exists(os.path.join(folder, library)):
                return Plugin(platform, os.path.join(folder, library), source)
    return Plugin(
        entry.name,
        "",
        source,
        f"the package {source} has no library that calque knows, and its Python code needs jax. Name its library: "
        f"register_plugin({entry.name!r}, path).",
    )


def _folders_of(module: str) -> list[str]:
    """Return the folders of a package; `importlib.util.find_spec` would import the packages around it."""
    spec: ModuleSpec | None = None
    folders: list[str] | None = None
    parts = module.split(".")
    for i in range(len(parts)):
        spec = PathFinder.find_spec(".".join(parts[: i + 1]), folders)
        if spec is None or spec.submodule_search_locations is None:
            return []
        folders = list(spec.submodule_search_locations)
    return folders or []


# Start


def start_plugin(plugin: Plugin) -> Client:
    """Load the library of a plugin and start its client.

    Raises: RuntimeError that says why it does not start; the answer is kept, for a library is loaded once.
    """
    problem = _problems.get(plugin.platform)
    if problem is None:
        try:
            with _few_lines():
                return _start(plugin)
        except RuntimeError as error:
            problem = _problems[plugin.platform] = _cause(plugin, error)
    raise RuntimeError(f"the platform {plugin.platform!r} cannot start{where()}: {problem}")


def _start(plugin: Plugin) -> Client:
    platform, interface, is_cuda = plugin.platform, None, plugin.platform == "cuda"
    name = _name_of(platform)
    generation = _generation(plugin)
    if is_cuda:
        load_cuda(generation)
    if not xc.pjrt_plugin_loaded(name):
        interface = xc.load_pjrt_plugin_dynamically(name, plugin.library)
    if not xc.pjrt_plugin_initialized(name):
        xc.initialize_pjrt_plugin(name)
    group = current_group()
    client = xc.make_c_api_client(name, _options(platform), None if group is None else group.client)
    if platform in _GPUS:
        fix_device_memory(requested_device_memory())
    if is_cuda and interface is not None:
        register_kernels(interface, generation)
    return client


def _name_of(platform: str) -> str:
    """Return the name under which jaxlib keeps the plugin of a platform.

    A name is given once in a process, and jax, which has no second one for a GPU, takes the platform's.
    """
    is_own = platform in _GPUS and not xc.pjrt_plugin_loaded(platform)  # jax has not come before
    return f"calque_{platform}" if is_own else platform


@contextmanager
def _few_lines() -> Iterator[None]:
    """Let a plugin write warnings and errors to the terminal, not notes; a choice of the user's stays.

    A plugin takes the choice from the environment, when it is loaded.
    """
    if _LEVEL in os.environ:
        yield
        return
    os.environ[_LEVEL] = "1"
    try:
        yield
    finally:
        os.environ.pop(_LEVEL, None)


_LEVEL = "TF_CPP_MIN_LOG_LEVEL"


def _generation(plugin: Plugin) -> str:
    """Return the release of CUDA that a plugin is made for, which the name of its folder ends in: "13"."""
    digits = re.search(r"\d+$", Path(plugin.library).parent.name)
    return digits[0] if digits else ""


def _options(name: str) -> dict[str, Any]:
    """Return the options of a platform at its start; for a GPU jaxlib reads its environment variables of memory."""
    options = dict(_registered[name][1]) if name in _registered else {}
    if name in _GPUS:
        memory = requested_device_memory()
        chosen = {
            "preallocate": memory.preallocate,
            "memory_fraction": None if memory.fraction is None else float(memory.fraction),
            "allocator": memory.allocator,
        }
        chosen = {key: value for key, value in chosen.items() if value is not None}
        options = {**xc.generate_pjrt_gpu_plugin_options(), "platform_name": name, **chosen, **options}
    group = current_group()
    return options if group is None else {"node_id": group.process_id, "num_nodes": group.num_processes, **options}


def _cause(plugin: Plugin, error: RuntimeError) -> str:
    """Return a sentence with the reason why a plugin did not start, and one with the remedy."""
    text = str(error)
    if not os.path.exists(plugin.library):
        return f"there is no library at {plugin.library}, which {plugin.source} names. Correct the path."
    if "GetPjrtApi not found" in text:
        return f"{plugin.library} is no plugin of XLA: it has no function GetPjrtApi. Name another library."
    if "Failed to open" in text:
        reason = text.rpartition(": ")[2]
        return f"{plugin.library} cannot be loaded: {reason}. Install it again, for this system."
    if "PJRT API" in text and ("older" in text or "Mismatched" in text):
        return (
            f"{plugin.library} was made for another release of jaxlib: {text.partition(': ')[2].rstrip('.)')}. Install "
            f"the plugin and jaxlib in versions that go together."
        )
    if "No visible GPU devices" in text:
        return "the driver shows no GPU. Look whether nvidia-smi lists one, and which GPUs CUDA_VISIBLE_DEVICES names."
    return text if text.endswith(".") else f"{text}."
