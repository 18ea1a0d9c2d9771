"""Functions with rules of their own, as their authors write them: on arguments and results, not on lists.

The family has the same paths in every package.  `ops/calls/custom.py` in core has the equations, and
`rules/calls/custom.py` in every package the rules of its transformation for them.  `ops/calls/custom_closures.py` in
core has the rules of a function as equations hold them, and all that concerns a function or a rule that closes over a
tracer.  `custom/` has what authors
call: `custom_jvp`, `custom_vjp`, `custom_gradient` and `custom_rules` in autodiff, `custom_vmap` in batching.
"""
