import ast
import subprocess
import sys
from pathlib import Path

import pytest

from calque_core import ArrayMethods
from calque_core.arrays import late_methods
from calque_core.types.array_methods import LateMethod

DECORATORS = {"array_method", "array_operation", "array_property"}
AT_ONCE = {"numpy_protocol", "operators", "properties"}
FOLDER = Path(late_methods.__file__).parent


def methods_of(path):
    """Return the names of the functions that a file makes methods of arrays."""
    functions = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)]
    return {f.name for f in functions if DECORATORS & {ast.unparse(each) for each in f.decorator_list}}


def test_the_table_lists_the_methods_that_each_module_defines():
    defined = {path.stem: methods_of(path) for path in FOLDER.glob("*.py") if path.stem not in AT_ONCE}
    listed = {module: set(names.split()) for module, names in late_methods.LATE.items()}
    del listed["missing_methods"]  # by its own loops
    assert listed == {module: names for module, names in defined.items() if names}


@pytest.mark.parametrize("module", late_methods.LATE)
def test_a_first_use_replaces_the_stand_in(module):
    names = late_methods.LATE[module].split()
    assert names
    for name in names:
        getattr(ArrayMethods, name)
    assert [name for name in names if isinstance(vars(ArrayMethods)[name], LateMethod)] == []


USES = {  # a first use of a method, as the only one of a program, and the module that it loads
    "make_jaxpr(lambda x: x.sum())(X)": "numpy_reductions",
    "make_jaxpr(lambda x: x[0])(X)": "indexing",
    "make_jaxpr(lambda x: [*x])(X)": "indexing",
    "make_jaxpr(lambda x: len(x))(X)": "indexing",
    "make_jaxpr(lambda x: x.at[0].set(1.0))(X)": "at",
    "make_jaxpr(lambda x: x @ x)(X)": "numpy_products",
    "make_jaxpr(lambda x: X @ x)(X)": "numpy_products",
    "make_jaxpr(lambda x: x.T)(X)": "methods",
    "make_jaxpr(np.mean)(X)": "numpy_reductions",
    "make_jaxpr(np.var)(X)": "numpy_moments",
    "make_jaxpr(np.add.reduce)(X)": "ufunc_methods",
    "make_jaxpr(lambda x: x.flat)(X)": "missing_methods",
    "ArrayMethods.sum": "numpy_reductions",
    "Own()[2]": "indexing",
}
PROGRAM = """
import sys
import numpy as np
from calque_core import ArrayMethods, make_jaxpr

class Own(ArrayMethods):
    def __getitem__(self, index):
        return super().__getitem__(index) if index is None else super().__len__

X = np.ones(3)
assert "calque_core.arrays.{module}" not in sys.modules
{use}
assert "calque_core.arrays.{module}" in sys.modules
"""


@pytest.mark.parametrize("use", USES)
def test_a_first_use_of_a_method_loads_its_module_and_runs(use):
    program = PROGRAM.format(use=use, module=USES[use])
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True)


def test_a_stand_in_has_the_method_of_the_class_that_asks():
    """A subclass that overrides a method asks for the one beneath, and gets it, not its own again."""
    program = """
import numpy as np
from calque_core import Trace, Tracer, current_trace
from calque_core.types.avals import typeof

class Doubled(Tracer):
    asked = 0
    aval = typeof(np.ones(3))
    def __len__(self):
        Doubled.asked += 1
        return 2 * super().__len__()

assert len(Doubled(Trace(current_trace()))) == 6
assert Doubled.asked == 1
"""
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True)


CUT = """
import sys, threading
import numpy as np
from calque_core import make_jaxpr

X = np.ones(3)
USES = [lambda x: x.sum(), lambda x: np.mean(x), lambda x: x[0], lambda x: np.ravel(x), lambda x: x.std()]
MODULES = ["numpy_reductions", "numpy_moments", "indexing", "numpy_shapes"]
cuts = []

def at_each_definition(frame, event, arg):
    name = frame.f_globals.get("__name__", "").rpartition(".")[2]
    if frame.f_code.co_name == "<module>" and name in MODULES:
        return in_module
    return None
"""

INTERRUPTED = (
    CUT
    + """
def in_module(frame, event, arg):
    place = frame.f_globals["__name__"], frame.f_lineno
    if event == "line" and place not in cuts and frame.f_globals.get("array_operation"):
        cuts.append(place)
        raise KeyboardInterrupt
    return in_module

results = []
for use in USES:
    while True:
        sys.settrace(at_each_definition)
        try:
            make_jaxpr(use)(X)
        except KeyboardInterrupt:
            continue
        finally:
            sys.settrace(None)
        break
    results.append(str(make_jaxpr(use)(X)))
assert len(cuts) > 40, len(cuts)
print(results)
"""
)

IN_TWO_THREADS = (
    CUT
    + """
texts = []

def in_module(frame, event, arg):
    if event == "line" and "array_operation" in frame.f_globals and not cuts:
        cuts.append(threading.Thread(target=lambda: texts.append([str(make_jaxpr(use)(X)) for use in USES])))
        cuts[0].start()
        cuts[0].join(0.05)  # it waits for this import, or has ended
    return in_module

sys.settrace(at_each_definition)
results = [str(make_jaxpr(use)(X)) for use in USES]
sys.settrace(None)
cuts[0].join()
assert texts == [results]
print(results)
"""
)
WHOLE = CUT + "print([str(make_jaxpr(use)(X)) for use in USES])"


@pytest.mark.parametrize("program", [INTERRUPTED, IN_TWO_THREADS], ids=["interrupts", "threads"])
def test_nobody_sees_the_methods_of_a_module_before_its_import_has_ended(program):
    outputs = [
        subprocess.run([sys.executable, "-c", each], check=True, capture_output=True, text=True).stdout
        for each in (program, WHOLE)
    ]
    assert outputs[0] == outputs[1] != ""


def test_an_attribute_that_cannot_be_set_is_refused_before_its_module_is_loaded():
    program = """
import numpy as np
from calque_core import Trace, Tracer, current_trace
from calque_core.types.avals import typeof

class Own(Tracer):
    aval = typeof(np.ones(3))

x = Own(Trace(current_trace()))
try:
    x.T = 5
except AttributeError:
    assert callable(x.reshape)
else:
    raise AssertionError
"""
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True)
