"""Nothing that is remembered under one setting is an answer under another.

Caches are found by looking, not by a list: a cache that is new fails here until somebody says why it may be there.
"""

from __future__ import annotations

import enum
import functools
import gc
import importlib
import pkgutil
import sys
import weakref
from contextlib import nullcontext, suppress

import pytest
from composites import COMPOSITES
from operations import OPERATIONS

import calque
import calque_autodiff
import calque_batching
import calque_bounds
import calque_core
import calque_harvest
import calque_laplacian
import calque_linalg
import calque_numpy
import calque_pytree
import calque_signal
import calque_sparse
import calque_special
import calque_xla_backend
from calque_autodiff import jvp
from calque_core import config, make_jaxpr, typeof
from calque_xla_backend import jit

PACKAGES = (
    calque, calque_autodiff, calque_batching, calque_bounds, calque_core, calque_harvest, calque_laplacian,
    calque_linalg, calque_numpy, calque_pytree, calque_signal, calque_sparse, calque_special, calque_xla_backend,
)  # fmt: skip
SETTINGS = {
    "default": nullcontext,
    "32 bits": lambda: config.enable_x64(False),
    "scalars of 32 bits": lambda: config.default_dtype_bits(32),
}
REFUSALS = (TypeError, OverflowError, NotImplementedError, ValueError)
PROGRAMS = [*(row for rows in OPERATIONS.values() for row in rows), *COMPOSITES]

# Functions that remember their results.  Each says why its answers cannot differ between settings.
REMEMBERING = {
    "calque_core.distributions.facade_fault": "what is installed",
    "calque_bounds.interval.floats": "constants of a dtype",
    "calque_core.ops.elementwise.pieces.join_pieces.<locals>.<lambda>": "tables of coefficients in double precision",
    "calque_core.known.run._compiled": "the text of a function, no dtype",
    "calque_core.saved.expressions._modules_with": "names of modules",
    "calque_core.calls.formats._problem": "the fields of a text, no dtype",
    "calque_autodiff.rules.reductions.dot.cotangent_plan": "numbers of axes",
    "calque_core.context.allow_known": "the settings are the key",
    "calque_core.types.avals._changes_operators": "the methods of a class",
    "calque_core.types.avals._intern": "`enable_x64` is in the key",
    "calque_core.types.avals._weak_aval": "the settings are the key",
    "calque_core.types.type_queries._item_type": "an author's type from that of the key; it has no dtype",
    "calque_core.types.type_queries._stacked_type": "an author's type from that of the key; it has no dtype",
    "calque_core.staging.own_tracers._check_names": "the names of a class",
    "calque_core.staging.own_tracers._is_data": "the names of a class",
    "calque_core.staging.own_tracers._own_class": "a class made of the two of the key",
    "calque_core.types.dtypes._canonical": "`enable_x64` is in the key",
    "calque_batching.batch_tracer.element_of": "holds its key: a class, a shape, a dtype",
    "calque_core.ops.reductions.dot._matrix_shapes": "sizes of axes",
    "calque_core.ops.shapes.paddings.pad_plan": "sizes and steps, no dtype",
    "calque_core.ops.reductions.reduce._options": "the dtype of the key",
    "calque_core.ops.calls.linear.<lambda>": "the tangent type of the key, a type",
    "calque_core.arrays.numpy_arithmetic._reciprocal_of_zero": "the dtype of the key",
    "calque_core.types.dtypes._scalar_dtype": "the settings are in the key",
    "calque_core.arrays.indexing._plan": "sizes and steps, no dtype",
    "calque_core.arrays.indexing.Taking": "holds its key, an index and axes",
    "calque_core.arrays.indexing._reading": "a layout, which is sizes and axes, no dtype",
    "calque_core.arrays.indices.layout_of": "shapes, and the type of the key",
    "calque_core.show.layout._place": "a line of a file",
    "calque_core.ops.calls.linear.UndefinedPrimal": "holds its key, a type",
    "calque_core.ops.calls.linear.Zero": "holds its key, a type",
    "calque_core.ops.indexing.windows.Windows": "holds its key, shapes and axes",
    "calque_core.arrays.numpy_sequences._name": "the name of a function",
    "calque_core.ops.shapes.broadcast._broadcast_shapes": "sizes",
    "calque_core.ops.shapes.broadcast._order": "positions of axes",
    "calque_core.ops.indexing.windows.numbers_below": "integers of one dtype below the size of an axis",
    "calque_core.ops.reductions.dot.sum_dtype": "the dtypes of the key",
    "calque_core.types.dtypes.kind_of": "a property of the key",
    "calque_core.types.limits._extreme": "the dtype of the key",
    "calque_core.types.limits._limits": "the dtype of the key",
    "calque_core.types.limits.bit_width": "a property of the key",
    "calque_core.types.limits.wide_dtype": "the dtype of the key",
    "calque_core.types.promotion._weak_promotion": "the settings are in the key",
    "calque_numpy.contractions._found_path": "names and sizes of axes",
    "calque_numpy.contractions._parse": "the types of the key",
    "calque_xla_backend.compilation_cache.key._machine": "the processor",
    "calque_xla_backend.runtime.targets.jaxlib_targets": "names that jaxlib brings",
    "calque_xla_backend.runtime.plugins._announced": "installed packages",
    "calque_xla_backend.runtime.targets.load_lapack": "says that a library is loaded",
    "calque_core.ops.reductions.dot._canonical_dimensions_of": "numbers of axes",
    "calque_core.ops.reductions.dot._plan": "numbers of axes",
    "calque_core.ops.shapes.axes._all_axes": "numbers of axes",
    "calque_core.primitives.primitive.Primitive._with_varying_axes.<locals>.abstract": "default settings",
    "calque_core.frames.reach._names": "the names of a code",
    "calque_core.arrays.ufunc_methods._accumulations": "functions",
    "calque_core.hooks.close_check": "a function",
    "calque_core.hooks.program_check": "a function",
    "calque_core.hooks.program_printer": "a function",
    "calque_core.hooks.result_checks": "functions",
    "calque_core.hooks.varying_operands": "a function",
    "calque_pytree.late.late_function.<locals>.function": "a function",
    "calque_pytree.generated.code_of": "compiles the text of the key",
    "calque_pytree.dataclass.compared_fields": "the names of a class",
    "calque_xla_backend.calls.dispatch._code": "compiles a text made of a number",
    "calque_xla_backend.calls.wrapping._code": "compiles a text made of a number",
}
# Module-level containers in lower case, which is to say not constants.
CONTAINERS = {
    "calque_xla_backend.distributed._connections": "the connection to other processes",
    "calque_xla_backend.processes.endings._handlers": "the handler of a signal",
    "calque_xla_backend.processes.watch._watches": "the watch over other processes",
    "calque_xla_backend.runtime.distributed._groups": "the processes of a program; set before the first program",
    "calque_core.known.table._all": "plans; the settings are in their keys",
    "calque_core.epoch._forgetters": "functions that empty caches",
    "calque_core.context.mesh_classes": "a registry: classes",
    "calque_core.types.avals._aval_functions": "a registry: classes",
    "calque_core.types.avals._types": "types, by their own fields",
    "calque_core.types.avals.own_types": "a registry: classes",
    "calque_core.types.avals.reference_types": "a registry: classes",
    "calque_core.types.own_types._one_of_each": "types of authors, by their own fields",
    "calque_core.memory.captures.held_arrays": "arrays in use now",
    "calque_core.context.active": "who is active now",
    "calque_core.context.at_rest": "contexts of threads",
    "calque_autodiff.passes.signs.signs": "a registry: functions",
    "calque_core.arrays.numpy_protocol.declared": "a registry: functions",
    "calque_core.types.array_methods._defined": "a registry: functions",
    "calque_core.ops.elementwise.numpy_calls.on_arrays": "a registry: functions",
    "calque_core.ops.elementwise.numpy_calls.on_floats": "a registry: functions",
    "calque_core.types.array_methods.decided_by_types": "a registry: functions",
    "calque_core.types.array_methods.kinds_in_every_size": "a registry: functions",
    "calque_core.ops.calls.linear.zeros": "a registry: functions",
    "calque_core.backends._backends": "a registry: functions of classes",
    "calque_core.backends._of_shardings": "a registry: functions of classes",
    "calque_core.ops.calls.callback._runtimes": "a registry: functions",
    "calque_xla_backend.runtime.targets._registered": "a registry: kernels",
    "calque_xla_backend.runtime.callbacks._failures": "exceptions on their way to a caller",
    "calque_xla_backend.runtime.callbacks._running": "programs that run now",
    "calque_core.arrays.numpy_protocol.array_functions": "a registry: functions",
    "calque_core.arrays.numpy_protocol._named": "a registry: functions",
    "calque_core.arrays.numpy_protocol.reductions": "a registry: functions",
    "calque_batching.verbs.vmappable.vmappables": "a registry: functions of classes",
    "calque_core.arrays.numpy_protocol.ufuncs": "a registry: functions",
    "calque_core.ops.calls.staged_programs._stored": "the programs of `_programs`",
    "calque_core.known.programs.control_flow": "a registry: primitives",
    "calque_core.known.run._joint_functions": "a registry: functions of two primitives",
    "calque_core.ops.elementwise.approximate._regions": "a registry: ranges of functions",
    "calque_core.ops.elementwise.regions._codes": "formulas in double precision, made under the default settings",
    "calque_core.ops.elementwise.regions._number_codes": "formulas in double precision, made at rest",
    "calque_core.epoch._epoch": "a count",
    "calque_core.primitives.rules.kinds": "a registry: texts",
    "calque_core.primitives.rules.primitives": "a registry: primitives",
    "calque_pytree.late._packages": "a registry: packages and their names",
    "calque_core.frames.source._skipped": "file names",
    "calque_core.frames.source._internal_folders": "file names",
    "calque_core.frames.source._wrappers": "code",
    "calque_core.frames.tracebacks._boundaries": "code",
    "calque_core.traces.evaluators._evaluators": "a registry: functions",
    "calque_core.traces.evaluators.function_evaluators": "a registry: functions",
    "calque_core.primitives.families.columns": "a registry: names of modules",
    "calque_core.primitives.families._absent": "names of modules",
    "calque_core.primitives.families._packages": "a registry: names of packages",
    "calque_core.primitives.families.readers": "a registry: names of packages",
    "calque_core.traces.evaluators.plain_types": "a registry: classes",
    "calque_xla_backend.compiler._compilers": "holds its key, the options; its programs are keyed by settings",
    "calque_xla_backend.compilation_cache.key._storable_targets": "a registry: digests",
    "calque_xla_backend.artefacts.trees._by_class": "a registry: functions of classes",
    "calque_xla_backend.artefacts.trees._by_name": "a registry: functions of classes",
    "calque_xla_backend.evaluate._lowered": "a registry: primitives",
    "calque_xla_backend.shortcuts._known": "the settings are in the key",
    "calque_xla_backend.evaluate._sent": "the type on the device is in the key",
    "calque_xla_backend.runtime.interrupts._sockets": "sockets",
    "calque_xla_backend.calls.cache._all": "the caches of jitted functions; the settings are in the keys inside",
    "calque_xla_backend.runtime.clients._clients": "devices",
    "calque_xla_backend.runtime.clients._default": "the name of a platform",
    "calque_xla_backend.runtime.plugins._registered": "a registry: libraries",
    "calque_xla_backend.runtime.plugins._problems": "texts about libraries",
    "calque_xla_backend.runtime.runtime._parent_objects": "objects of the parent of a forked process",
    "calque_xla_backend.runtime.placement._placements": "devices and shardings",
    "calque_xla_backend.runtime.placement._canonical": "meshes and tilings",
    "calque_xla_backend.runtime.placement._device_types": "types and placements",
    "calque_xla_backend.calls.cache._by_owner": "by function or object; the settings are in the keys inside",
}
MUTABLE = (dict, list, set, weakref.WeakKeyDictionary, weakref.WeakValueDictionary, weakref.WeakSet)
WRAPPER = type(functools.cache(lambda: None))


def modules():
    """Return every module of our packages, imported."""
    for package in PACKAGES:
        for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(info.name)
    names = tuple(package.__name__ for package in PACKAGES)
    return [m for name, m in list(sys.modules.items()) if name.split(".")[0] in names]


def remembering_functions():
    """Return every functools cache of our packages by name, wherever it is kept: in a module, a class, a closure."""
    own = {}
    for x in gc.get_objects():
        if type(x) is WRAPPER and x.__wrapped__.__module__.startswith("calque"):
            own.setdefault(f"{x.__wrapped__.__module__}.{x.__wrapped__.__qualname__}", []).append(x)
    return own


def containers():
    """Return the names of each mutable container of a module or a class that is not a constant."""
    names: dict[int, set[str]] = {}
    for module in modules():
        classes = [c for c in vars(module).values() if isinstance(c, type) and c.__module__ == module.__name__]
        classes = [
            c for c in classes if not issubclass(c, (enum.Enum, tuple))
        ]  # Python keeps tables of their own there
        for owner in (module, *classes):
            for name, value in vars(owner).items():
                if isinstance(value, MUTABLE) and not name.startswith("__") and name != name.upper():
                    place = owner.__name__ if owner is module else f"{module.__name__}.{owner.__name__}"
                    names.setdefault(id(value), set()).add(f"{place}.{name}")
    return list(names.values())


def forget():
    """Clear every functools cache; programs are kept by function, and each question makes new functions."""
    for wrappers in remembering_functions().values():
        for wrapper in wrappers:
            wrapper.cache_clear()


def answers(program):
    """Return what the machinery says of a program: its own, its derivatives', its batch's, those of a jitted copy."""
    example = program.example(program.widest)
    run = lambda *leaves: example(*leaves)  # a function of its own, so that no cache of another question is asked
    moving = example.floating
    texts = [str(make_jaxpr(run)(*example.leaves)), str(make_jaxpr(jit(run))(*example.leaves))]
    if not moving:
        return texts

    def of_moving(*values):
        leaves = list(example.leaves)
        for place, value in zip(moving, values, strict=True):
            leaves[place] = value
        return [y for y in run(*leaves) if typeof(y).dtype.kind in "fc"]

    values = [example.leaves[i] for i in moving]
    return [*texts, str(make_jaxpr(lambda *xs: jvp(of_moving, xs, xs))(*values))]


def questions():
    """Return one function per program that asks all about it; those that cannot be asked under a setting say why."""

    def ask(program):
        try:
            return answers(program)
        except REFUSALS as refusal:
            return [type(refusal).__name__]

    return [functools.partial(ask, program) for program in PROGRAMS]


def poison(around, program):
    """Ask under a setting that is changed inside the function, so that operands of other types are met."""
    example = program.example(program.widest)

    def changed(*leaves):
        with around():
            return example(*leaves)

    with suppress(*REFUSALS):  # what is remembered by then is enough
        make_jaxpr(changed)(*example.leaves)


def test_every_function_that_remembers_says_why_it_may():
    modules()
    make_jaxpr(lambda x: -x)(1.0)  # a type rule gets its cache at its first call
    assert set(remembering_functions()) == set(REMEMBERING)


def test_every_container_that_may_remember_says_what_it_holds():
    found = containers()
    assert [names for names in found if names.isdisjoint(CONTAINERS)] == []
    assert set(CONTAINERS) <= set().union(*found)


@pytest.mark.sampled(keep=0.5, rows=["around"])
@pytest.mark.parametrize("around", SETTINGS)
def test_what_is_asked_under_other_settings_changes_no_answer(around):
    asked = questions()
    with SETTINGS[around]():
        forget()
        alone = [[ask() for ask in asked] for _ in range(3)][-1]  # the third time with the plans of operations
    for name, other in SETTINGS.items():
        if name != around:
            forget()
            for program, ask in zip(PROGRAMS, asked, strict=True):
                poison(other, program)
                with other():
                    ask()
            with SETTINGS[around]():
                afterwards = [ask() for ask in asked]
            for program, first, second in zip(PROGRAMS, alone, afterwards, strict=True):
                assert first == second, f"{program.name} {around}, after {name}"
