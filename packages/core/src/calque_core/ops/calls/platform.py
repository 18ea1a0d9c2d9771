"""Branches by platform: the primitive `platform_dependent`, bound by the function of this name.

One idea: as in `cond.py`, the branches are jaxprs over the same operands, but the platform that runs the program
chooses.  So there is no index: a transformation transforms all branches, and a compiled program holds only the branch
of its platform.  Evaluation with NumPy is the platform "cpu".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from calque_core.calls.api_util import check_callable
from calque_core.context import here
from calque_core.frames.source import where
from calque_core.frames.tracebacks import api_boundary
from calque_core.jaxprs.jaxpr import Jaxpr
from calque_core.memory.separate import copy_shared, copy_writable_tree
from calque_core.ops.calls.cond import dce_branches, stage_branches
from calque_core.ops.calls.jit import check_operands, run_program
from calque_core.ops.calls.staged_programs import operand_leaves
from calque_core.ops.meshes.varying import fit_branches
from calque_core.primitives.primitive import Primitive

Value = Any
Platforms = tuple[str | None, ...]  # of each branch; None is the default

platform_dependent_p = Primitive("platform_dependent", multiple_results=True)


def position_of_platform(platforms: Platforms, platform: str) -> int:
    """Return the position of a platform's branch: its own, or the default.

    Raises: ValueError if there is neither.

    >>> from calque_core.engine import position_of_platform
    >>> position_of_platform(("tpu", None), "cpu")
    1
    """
    for name in (platform, None):
        if name in platforms:
            return platforms.index(name)
    raise ValueError(
        f"platform_dependent{where()} has no function for the platform {platform!r}, and no default. Give "
        f"{platform}=function, or default=function."
    )


@platform_dependent_p.def_abstract_eval
def platform_dependent_abstract_eval(*avals: Any, branches: Sequence[Jaxpr], platforms: Platforms) -> list[Any]:
    for platform, branch in zip(platforms, branches):
        check_operands(f"the branch {platform or 'default'} of platform_dependent", branch, avals)
    return branches[0].out_avals


@platform_dependent_p.def_impl
def platform_dependent_impl(*operands: Value, branches: Sequence[Jaxpr], platforms: Platforms) -> list[Value]:
    return run_program(branches[position_of_platform(platforms, "cpu")], operands)


platform_dependent_p.def_rule("dce", dce_branches)
platform_dependent_p.def_rule("lower_values", lambda count, **params: params)


@platform_dependent_p.def_rule("fit")
def fit_platforms(args: Sequence[Value], params: dict[str, Any]) -> tuple[Sequence[Value], dict[str, Any]]:
    """Make operands and branches vary along the same axes of a mesh."""
    args, branches = fit_branches(args, params["branches"])
    return args, params | {"branches": branches}


platform_dependent_p.def_rule("vma", lambda vmas, *, branches, **_: [aval.vma for aval in branches[0].out_avals])


@api_boundary
def platform_dependent(
    *args: Any, default: Callable[..., Any] | None = None, **per_platform: Callable[..., Any]
) -> Any:
    """Return `per_platform[platform](*args)` for the platform that runs the program, `default(*args)` for any other.

    The keywords are names of platforms: cpu, tpu, cuda, rocm.  All functions are traced; they must return the same
    pytree of the same types, as for `cond`.  A compiled program holds the function of its platform alone, so another
    function may use operations that this platform does not have.  Evaluation with NumPy is the platform cpu.
    Raises: TypeError if the functions differ in structure or types; ValueError if there are none, or none for the
    platform that runs the program.

    >>> from calque_core.lax import platform_dependent
    >>> platform_dependent(2.0, cpu=lambda x: x + 1.0, default=lambda x: x - 1.0)
    3.0
    """
    if "gpu" in per_platform:
        raise ValueError(f"platform_dependent{where()} got gpu=. Name the platform: cuda= or rocm=.")
    platforms: Platforms = (*per_platform,) if default is None else (*per_platform, None)
    functions = [*per_platform.values()] if default is None else [*per_platform.values(), default]
    if not functions:
        raise ValueError(f"platform_dependent{where()} got no functions. Give one for each platform, or a default.")
    for fun in functions:
        check_callable(fun, "platform_dependent")
    leaves, in_tree = operand_leaves("platform_dependent", functions[0], args)
    if here().settings.disable_jit:
        args, _ = in_tree.unflatten(leaves)
        return copy_writable_tree(functions[position_of_platform(platforms, "cpu")](*args))
    pure, out_tree = stage_branches("platform_dependent", functions, leaves, in_tree)
    branches, operands = tuple(pure.programs), [*pure.arrays, *leaves]
    outs = platform_dependent_p.bind(*operands, branches=branches, platforms=platforms)
    return out_tree.unflatten(copy_shared(pure.results(outs), operands))
