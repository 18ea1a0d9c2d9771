"""The table: where the names of each module of jax come from.

One idea: a module of jax is a row.  It has the names of the adapters, modules of this package, then the names of the
origins, modules of calque.  `NAMES` has the names that are elsewhere, `ABSENT` the names that calque lacks.

Read next: `finder.py`, which reads the table.
"""

from __future__ import annotations

from typing import NamedTuple

VERSION = "0.10.2"  # of jax, whose names these are


class Row(NamedTuple):
    """A module of jax: its names come from `adapters`, then `origins`; `converts` if functions return device arrays."""

    origins: tuple[str, ...] = ()
    adapters: tuple[str, ...] = ()
    converts: bool = False


_DIALECT = "calque_as_jax.dialect"
_PROGRAMS = (f"{_DIALECT}.core", f"{_DIALECT}.programs")
_DISTRIBUTIONS = (
    "bernoulli", "beta", "betabinom", "binom", "cauchy", "chi2", "dirichlet", "expon", "gamma", "gennorm", "geom",
    "gumbel_l", "gumbel_r", "laplace", "logistic", "multinomial", "multivariate_normal", "nbinom", "norm", "pareto",
    "poisson", "t", "truncnorm", "uniform", "vonmises", "wrapcauchy",
)  # fmt: skip

MODULES = {
    "jax": Row(("calque",), tuple(f"{_DIALECT}.{name}" for name in ("top", "ref", "transformations", "derivatives"))),
    "jax._src": Row(),
    "jax._src.ad_util": Row(("calque_core", "calque_core.lax"), (f"{_DIALECT}.ad",)),
    "jax._src.checkify": Row((), (f"{_DIALECT}.checkify",)),
    "jax._src.array": Row(),
    "jax._src.compiler": Row((), (f"{_DIALECT}.private",)),
    "jax._src.core": Row(("calque_core",), _PROGRAMS),
    "jax._src.xla_bridge": Row((), (f"{_DIALECT}.private",)),
    "jax._src.dispatch": Row((), (f"{_DIALECT}.private",)),
    "jax._src.dtypes": Row(("calque.dtypes",), (f"{_DIALECT}.dtypes",)),
    "jax._src.flatten_util": Row(("calque.flatten_util",), converts=True),
    "jax._src.literals": Row((), (f"{_DIALECT}.private",)),
    "jax._src.public_test_util": Row((), (f"{_DIALECT}.private",)),
    "jax._src.state": Row(),
    "jax._src.state.types": Row((), (f"{_DIALECT}.ref",)),
    "jax._src.traceback_util": Row((), (f"{_DIALECT}.private",)),
    "jax._src.tree_util": Row(("calque.tree_util", "calque_pytree")),
    "jax._src.util": Row(),
    "jax.ad_checkpoint": Row(("calque.ad_checkpoint",)),
    "jax.api_util": Row((), (f"{_DIALECT}.linear_util",)),
    "jax.core": Row(("calque_core",), _PROGRAMS),
    "jax.custom_batching": Row(("calque.custom_batching",)),
    "jax.custom_derivatives": Row(("calque.custom_derivatives",), (f"{_DIALECT}.custom",)),
    "jax.debug": Row(("calque.debug",)),
    "jax.distributed": Row(("calque.distributed",)),
    "jax.dlpack": Row(("calque.dlpack",)),
    "jax.dtypes": Row(("calque.dtypes",), (f"{_DIALECT}.dtypes",)),
    "jax.errors": Row(("calque.errors",), (f"{_DIALECT}.errors",)),
    "jax.example_libraries": Row(),
    "jax.example_libraries.optimizers": Row((), (f"{_DIALECT}.optimizers",)),
    "jax.example_libraries.stax": Row((), (f"{_DIALECT}.stax",)),
    "jax.experimental": Row((), (f"{_DIALECT}.experimental",)),
    "jax.experimental.checkify": Row((), (f"{_DIALECT}.checkify",)),
    "jax.experimental.compilation_cache": Row(),
    "jax.experimental.compilation_cache.compilation_cache": Row(("calque_xla_backend.compilation_cache",)),
    "jax.experimental.hijax": Row((), (f"{_DIALECT}.hijax",)),
    "jax.experimental.jet": Row((), (f"{_DIALECT}.experimental",)),
    "jax.experimental.layout": Row(),
    "jax.experimental.mesh_utils": Row((), (f"{_DIALECT}.sharding",)),
    "jax.experimental.multihost_utils": Row(("calque.multihost",)),
    "jax.experimental.ode": Row(("calque.ode",), converts=True),
    "jax.experimental.pjit": Row((), (f"{_DIALECT}.experimental",)),
    "jax.experimental.shard_map": Row((), (f"{_DIALECT}.experimental",)),
    "jax.experimental.sparse": Row((), (f"{_DIALECT}.sparse",)),
    "jax.export": Row(("calque.export",)),
    "jax.extend": Row(),
    "jax.extend.backend": Row((), (f"{_DIALECT}.private",)),
    "jax.extend.core": Row(("calque_core",), _PROGRAMS),
    "jax.extend.core.primitives": Row(("calque_core.lax",)),
    "jax.extend.linear_util": Row((), (f"{_DIALECT}.linear_util",)),
    "jax.extend.source_info_util": Row(("calque_core",), (f"{_DIALECT}.private",)),
    "jax.ffi": Row(("calque.ffi",)),
    "jax.flatten_util": Row(("calque.flatten_util",), converts=True),
    "jax.image": Row(("calque.image",), converts=True),
    "jax.interpreters": Row(),
    "jax.interpreters.ad": Row(("calque_autodiff",), (f"{_DIALECT}.ad",)),
    "jax.interpreters.batching": Row(("calque_batching",), (f"{_DIALECT}.batching",)),
    "jax.interpreters.mlir": Row(("calque_xla_backend",), (f"{_DIALECT}.mlir",)),
    "jax.interpreters.partial_eval": Row(("calque_core",), (f"{_DIALECT}.partial_eval",)),
    "jax.interpreters.xla": Row((), (f"{_DIALECT}.private",)),
    "jax.lax": Row(("calque.lax",), (f"{_DIALECT}.lax",), converts=True),
    "jax.lax.linalg": Row(("calque.lax.linalg",), converts=True),
    "jax.lib": Row(),
    "jax.monitoring": Row((), (f"{_DIALECT}.monitoring",)),
    "jax.nn": Row(("calque.nn",), converts=True),
    "jax.nn.initializers": Row(("calque.nn.initializers",), (f"{_DIALECT}.initializers",)),
    "jax.numpy": Row(("calque.numpy",), (f"{_DIALECT}.numpy", f"{_DIALECT}.scalars"), converts=True),
    "jax.numpy.fft": Row(("calque.numpy.fft",), converts=True),
    "jax.numpy.linalg": Row(("calque.numpy.linalg",), (f"{_DIALECT}.linalg",), converts=True),
    "jax.ops": Row(("calque.ops",), converts=True),
    "jax.profiler": Row(("calque.profiler",), (f"{_DIALECT}.monitoring",)),
    "jax.random": Row(("calque.random",), (f"{_DIALECT}.random",), converts=True),
    "jax.ref": Row(("calque.ref",), (f"{_DIALECT}.ref",)),
    "jax.scipy": Row(),
    "jax.scipy.fft": Row((), (f"{_DIALECT}.fft",)),
    "jax.scipy.linalg": Row(("calque.scipy.linalg",), converts=True),
    "jax.scipy.optimize": Row(("calque.scipy.optimize",), converts=True),
    "jax.scipy.sparse": Row(),
    "jax.scipy.sparse.linalg": Row(("calque.scipy.sparse.linalg",), converts=True),
    "jax.scipy.special": Row(("calque.scipy.special",), converts=True),
    "jax.scipy.cluster": Row(),
    "jax.scipy.cluster.vq": Row(("calque.scipy.cluster.vq",), converts=True),
    "jax.scipy.integrate": Row(("calque.scipy.integrate",), converts=True),
    "jax.scipy.interpolate": Row(("calque.scipy.interpolate",)),
    "jax.scipy.ndimage": Row((), (f"{_DIALECT}.ndimage",)),
    "jax.scipy.signal": Row(("calque.scipy.signal",), converts=True),
    "jax.scipy.spatial": Row(),
    "jax.scipy.spatial.transform": Row(("calque.scipy.spatial.transform",)),
    "jax.scipy.stats": Row(("calque.scipy.stats",), converts=True),
    **{f"jax.scipy.stats.{name}": Row((f"calque.scipy.stats:{name}",), converts=True) for name in _DISTRIBUTIONS},
    "jax.sharding": Row(("calque.sharding",), (f"{_DIALECT}.sharding",)),
    "jax.stages": Row(("calque.stages",), (f"{_DIALECT}.stages",)),
    "jax.test_util": Row(("calque.test_util",)),
    "jax.tree": Row(("calque.tree",)),
    "jax.tree_util": Row(("calque.tree_util",)),
    "jax.typing": Row((), (f"{_DIALECT}.typing",)),
    "jax.version": Row((), (f"{_DIALECT}.private",)),
}

# A name that is elsewhere, or that is a module: `module:name` or `module`.
NAMES = {
    "jax.__version__": f"{_DIALECT}.top:__version__",
    "jax.__version_info__": f"{_DIALECT}.top:__version_info__",
    "jax.version.__version__": f"{_DIALECT}.top:__version__",
    "jax.version.__version_info__": f"{_DIALECT}.top:__version_info__",
    "jax.config": "calque_as_jax.settings:config",
    "jax.numpy_dtype_promotion": "calque_as_jax.settings:numpy_dtype_promotion",
    "jax.debug_key_reuse": "calque_as_jax.settings:debug_key_reuse",
    "jax.default_matmul_precision": "calque_as_jax.settings:default_matmul_precision",
    "jax.disable_jit": "calque_as_jax.settings:disable_jit",
    "jax.allow_f16_reductions": "calque_as_jax.settings:allow_f16_reductions",
    "jax.enable_custom_prng": "calque_as_jax.settings:enable_custom_prng",
    "jax.explain_cache_misses": "calque_as_jax.settings:explain_cache_misses",
    "jax.legacy_prng_key": "calque_as_jax.settings:legacy_prng_key",
    "jax.softmax_custom_jvp": "calque_as_jax.settings:softmax_custom_jvp",
    "jax.threefry_partitionable": "calque_as_jax.settings:threefry_partitionable",
    "jax.enable_x64": "calque_as_jax.settings:enable_x64",
    "jax.experimental.enable_x64": "calque_as_jax.settings:enable_x64",
    "jax.experimental.disable_x64": "calque_as_jax.settings:disable_x64",
    "jax._src.array._reconstruct_array": f"{_DIALECT}.private:reconstruct_array",
    "jax._src.xla_bridge._backends": f"{_DIALECT}.private:started_backends",
    "jax.check_tracer_leaks": "calque_core.config:checking_leaks",
    "jax.checking_leaks": "calque_core.config:checking_leaks",
    "jax.lax.with_sharding_constraint": "calque_xla_backend:with_sharding_constraint",
    "jax.scipy.linalg.eigh": f"{_DIALECT}.linalg:scipy_eigh",
    "jax.lax.custom_root": "calque:custom_root",
    "jax.lax.pcast": "calque_core.compat:pcast",
    "jax.interpreters.mlir.ir": "jaxlib.mlir.ir",
    "jax.extend.mlir": "jaxlib.mlir",
    "jax.lib.xla_client": "jaxlib.xla_client",
    "jax.lib.xla_extension": "jaxlib._jax",
    "jax.make_mesh": f"{_DIALECT}.sharding:make_mesh",
    "jax.sharding.use_mesh": "calque:set_mesh",
    "jax.experimental.layout.Format": f"{_DIALECT}.sharding:Format",
    "jax.experimental.pjit.with_sharding_constraint": "calque_xla_backend:with_sharding_constraint",
    "jax.experimental.io_callback": "calque:io_callback",
    "jax.custom_derivatives.CustomVJPPrimal": "calque_autodiff:CustomVJPPrimal",
    "jax.extend.core.primitives.call_p": f"{_DIALECT}.programs:call_p",
    "jax.extend.core.primitives.closed_call_p": f"{_DIALECT}.programs:closed_call_p",
    "jax.core.pytype_aval_mappings": f"{_DIALECT}.private:pytype_aval_mappings",
    "jax._src.util.safe_map": f"{_DIALECT}.linear_util:safe_map",
    "jax._src.util.safe_zip": f"{_DIALECT}.linear_util:safe_zip",
    "jax._src.tree_util._registry": "calque_pytree:default_registry",
    "jax.interpreters.xla.canonicalize_dtype": "calque_core:canonicalize_dtype",
}

_GUARDS = "Transfers are not guarded here. Leave the guard out."
_LAYOUTS = "Layouts are XLA's choice here. Leave them out."
_SHARDING_BY_TYPE = "Shardings by types are absent. Use jax.lax.with_sharding_constraint."
_SPARSE = "A sparse operator is a function: use jax.lax.custom_linear_solve or segment_sum."

ABSENT = {
    "jax.transfer_guard": _GUARDS, "jax.transfer_guard_host_to_device": _GUARDS,
    "jax.transfer_guard_device_to_host": _GUARDS, "jax.transfer_guard_device_to_device": _GUARDS,
    "jax.thread_guard": _GUARDS, "jax.array_garbage_collection_guard": _GUARDS,
    "jax.experimental.layout.Layout": _LAYOUTS, "jax.experimental.layout.DeviceLocalLayout": _LAYOUTS,
    "jax.experimental.sparse.sparsify": _SPARSE, "jax.experimental.sparse.bcoo_fromdense": _SPARSE,
    "jax.experimental.sparse.todense": _SPARSE, "jax.experimental.sparse.eye": _SPARSE,
    "jax.fwd_and_bwd": "Use jax.vjp, whose second result is the backward pass.",
    "jax.reshard": _SHARDING_BY_TYPE, "jax.auto_pcast": _SHARDING_BY_TYPE,
    "jax.no_tracing": "Use jax.disable_jit.", "jax.no_execution": "Use jax.eval_shape.",
    "jax.custom_transpose": "Use calque.custom_rules with def_transpose.",
    "jax.print_environment_info": "Run `python -m calque.doctor`.",
    "jax.numpy.fromfile": "Read the file with NumPy, and convert its array with jnp.asarray.",
    "jax.lax.after_all": "Use ordered=True of a callback.",
    "jax.lax.create_token": "Use ordered=True of a callback.",
    "jax.lax.rng_uniform": "Use jax.random.uniform.",
    "jax.lax.ragged_all_to_all": "Use jax.lax.all_to_all with equal parts.",
    "jax.nn.scaled_matmul": "Scale the operands, and use jnp.matmul.",
    "jax.nn.scaled_dot_general": "Scale the operands, and use jax.lax.dot_general.",
    "jax.nn.get_scaled_dot_general_config": "Scale the operands, and use jax.lax.dot_general.",
    "jax.debug.inspect_array_sharding": "Read x.sharding of a result.",
    "jax.export.symbolic_shape": "Export has fixed shapes. Export once per shape.",
    "jax.export.symbolic_args_specs": "Export has fixed shapes. Export once per shape.",
}  # fmt: skip

# Modules that are absent, with all that is in them.
ABSENT_MODULES = {
    "jax.cloud_tpu_init": "TPUs are plugins of XLA: see the page 'Other systems'.",
    "jax.collect_profile": "Use calque.profile.",
    "jax.experimental.custom_partitioning": "Use jax.shard_map.",
    "jax.experimental.jax2tf": "Use jax.export, whose programs are StableHLO.",
    "jax.experimental.key_reuse": "Keys are not followed. Use each key once.",
    "jax.experimental.mosaic": "Kernels of one's own come by jax.ffi.",
    "jax.experimental.pallas": "Kernels of one's own come by jax.ffi.",
    "jax.experimental.rnn": "Use jax.lax.scan.",
    "jax.experimental.serialize_executable": "Use jax.export, or the cache of compiled programs.",
    "jax.extend.random": "Generators have names: jax.random.key(seed, impl=name).",
    "jax.extend.pallas": "Kernels of one's own come by jax.ffi.",
    "jax.extend.xla": "Use the settings of jax.jit: compiler_options.",
    "jax.tools": "Use jax.jit(f).lower(x).as_text().",
}
