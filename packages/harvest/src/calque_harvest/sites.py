"""The places of the names in a program, and how often each comes: a plant must fit them.

Read next: `programs.py`, the rules that plant.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os.path import basename
from typing import Any

from calque_core import Jaxpr, JaxprEqn, Primitive, jaxprs_in_params
from calque_core.lax import cond_p, platform_dependent_p, remat_p, scan_p
from calque_harvest.marks import site_p
from calque_harvest.values import Site

Params = dict[str, Any]
Sites = dict[str, Site]


def sites(jaxpr: Jaxpr, label: str) -> Sites:
    """Return the sites of a tag in a program, in the order in which the names first come."""
    return jaxpr.memo(("sites of harvest", label), lambda: _joined(_sites_of_eqn(eqn, label) for eqn in jaxpr.eqns))  # type: ignore[no-any-return]


def _sites_of_eqn(eqn: JaxprEqn, label: str) -> Sites:
    params = eqn.params
    if eqn.primitive is not site_p:
        return sites_of(eqn.primitive, params, label)
    if params["tag"] != label:
        return {}
    return {params["name"]: Site(params["mode"], params["tree"], tuple(v.aval for v in eqn.invars), _place(eqn))}


def _place(eqn: JaxprEqn) -> str:
    info = eqn.source_info
    return "" if info is None else f" at {info._replace(file_name=basename(info.file_name))}"


def sites_of(primitive: Primitive, params: Params, label: str) -> Sites:
    """Return the sites of a tag in the programs of an operation."""
    inner = [sites(jaxpr, label) for jaxpr in jaxprs_in_params(params)]
    if primitive in (cond_p, platform_dependent_p):
        return {name: site for branch in inner for name, site in branch.items()}  # one branch runs
    found = _joined(inner)
    if primitive is scan_p:
        return {name: site.times(params["length"]) for name, site in found.items()}
    if primitive is remat_p and params["differentiated"]:
        return {name: site for name, site in found.items() if site.mode != "append"}
    return found


def _joined(parts: Iterable[Mapping[str, Site]]) -> Sites:
    joined: Sites = {}
    for part in parts:
        for name, site in part.items():
            old = joined.get(name)
            joined[name] = site if old is None else old._replace(rows=old.rows + site.rows)
    return joined
