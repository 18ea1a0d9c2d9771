import copy
import pickle
import sys
import threading
import traceback

import numpy as np
import pytest

from calque_core import (
    api_boundary,
    config,
    eval_jaxpr,
    full_traceback,
    jaxpr_as_fun,
    lax,
    make_jaxpr,
    register_internal_folder,
)
from calque_core.frames.source import is_internal_file

NOTE = "calque hides its own frames in this traceback. calque_core.config.traceback_filtering('off') shows them."


def fails(x):
    return lax.add(x, np.ones(7))


def through_numpy(x):
    return np.prod([x, x])


def caught_from(call, *args):
    try:
        call(*args)
    except Exception as error:  # noqa: BLE001  any error is looked at
        return error
    raise AssertionError("nothing was raised")


def functions_in(tb):
    return [frame.name for frame in traceback.extract_tb(tb)]


def files_in(tb):
    return {frame.filename for frame in traceback.extract_tb(tb)}


@pytest.mark.parametrize(
    "call",
    [
        lambda: make_jaxpr(fails)(np.ones(3)),
        lambda: lax.scan(lambda c, x: (fails(c), None), np.ones(3), np.ones(2)),
        lambda: lax.while_loop(lambda x: True, fails, np.ones(3)),
        lambda: lax.fori_loop(0, 2, lambda i, x: fails(x), np.ones(3)),
        lambda: lax.cond(True, fails, fails, np.ones(3)),
        lambda: lax.switch(0, [fails, fails], np.ones(3)),
        lambda: lax.map(fails, np.ones((2, 3))),
        lambda: lax.associative_scan(lambda x, y: fails(x), np.ones((3, 3))),
        lambda: make_jaxpr(make_jaxpr(fails))(np.ones(3)),
    ],
)
def test_a_traceback_shows_the_users_frames_alone(call):
    error = caught_from(call)
    assert files_in(error.__traceback__) == {__file__}
    assert functions_in(error.__traceback__)[-1] == "fails"
    assert error.__notes__[-1] == NOTE


@pytest.mark.parametrize("call", [lambda j: eval_jaxpr(j, j.consts, 1, 0), lambda j: jaxpr_as_fun(j)(1, 0)])
@pytest.mark.parametrize("types", [(1, 1), (1.0,)])
def test_an_error_of_a_program_shows_the_users_frames_alone(call, types):
    jaxpr = make_jaxpr(lambda *xs: lax.div(xs[0], xs[-1]))(*types)
    error = caught_from(call, jaxpr)
    assert files_in(error.__traceback__) == {__file__}
    assert error.__notes__[-1] == NOTE


def test_the_setting_shows_all_frames():
    with config.traceback_filtering("off"):
        error = caught_from(make_jaxpr(fails), np.ones(3))
    assert any(map(is_internal_file, files_in(error.__traceback__)))
    assert NOTE not in getattr(error, "__notes__", ())


def test_numpys_frames_are_hidden_between_the_users_and_ours_alone():
    between = caught_from(make_jaxpr(through_numpy), 1.0)
    assert functions_in(between.__traceback__)[-1] == "through_numpy"
    numpys_own = caught_from(make_jaxpr(lambda x: np.linalg.inv(np.zeros((2, 2)))), 1.0)
    assert functions_in(numpys_own.__traceback__)[-1] == "_raise_linalgerror_singular"


def test_the_whole_traceback_is_kept():
    error = caught_from(make_jaxpr(fails), np.ones(3))
    whole = full_traceback(error)
    assert any(map(is_internal_file, files_in(whole)))
    assert functions_in(whole)[-1] == functions_in(caught_from(fails, np.ones(3)).__traceback__)[-1]


def test_the_last_frame_is_the_users_for_a_debugger():
    error = caught_from(make_jaxpr(fails), np.ones(3))
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    assert frame.f_code is fails.__code__
    assert frame.f_locals["x"].shape == (3,)


def test_a_cause_keeps_its_place_and_is_shortened_too():
    def fun(x):
        try:
            fails(x)
        except TypeError as error:
            raise KeyError("mine") from error

    error = caught_from(make_jaxpr(fun), np.ones(3))
    assert functions_in(error.__traceback__)[-1] == "fun"
    assert functions_in(error.__cause__.__traceback__) == ["fun", "fails"]
    assert error.__suppress_context__
    assert not hasattr(error.__cause__, "__notes__")


def test_the_errors_of_a_group_are_shortened():
    def fun(x):
        raise ExceptionGroup("several", [caught_from(fails, x), ValueError("other")])

    error = caught_from(make_jaxpr(fun), np.ones(3))
    assert functions_in(error.exceptions[0].__traceback__) == ["caught_from", "fails"]


def test_an_error_that_is_caught_inside_keeps_its_frames():
    def fun(x):
        error = caught_from(make_jaxpr(fails), x)
        assert any(map(is_internal_file, files_in(error.__traceback__)))
        return x

    make_jaxpr(fun)(np.ones(3))


def test_an_error_says_once_that_frames_are_hidden():
    def again(x):
        return make_jaxpr(fails)(x)

    error = caught_from(make_jaxpr(again), np.ones(3))
    repeated = caught_from(api_boundary(lambda: (_ for _ in ()).throw(error)))
    assert repeated is error
    assert error.__notes__.count(NOTE) == 1


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda error: pickle.loads(pickle.dumps(error))])
def test_an_error_can_be_copied_and_sent_to_another_process(again):
    error = caught_from(make_jaxpr(fails), np.ones(3))
    assert (str(again(error)), again(error).__notes__) == (str(error), error.__notes__)


def test_a_thread_that_starts_in_a_boundary_has_its_error_shortened():
    seen = []

    def fun(x):
        seen.append(x)
        fails(x)

    errors = []
    thread = threading.Thread(target=lambda: errors.append(caught_from(make_jaxpr(fun), np.ones(3))))
    thread.start()
    thread.join()
    assert files_in(errors[0].__traceback__) == {__file__}


def test_interrupts_pass_unchanged():
    def fun(x):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        make_jaxpr(fun)(1.0)
    assert not hasattr(caught.value, "__notes__")


def test_a_registered_librarys_frames_are_hidden_and_its_functions_can_be_boundaries(tmp_path, monkeypatch):
    source = sys.modules["calque_core.frames.source"]
    monkeypatch.setattr(source, "_internal_folders", list(source._internal_folders))
    monkeypatch.setattr(source, "_skipped", {})
    file = tmp_path / "mylibrary" / "ops.py"
    scope = {"lax": lax, "api_boundary": api_boundary}
    text = "@api_boundary\ndef twice(f, x):\n    return lax.add(f(x), f(x))\n"
    exec(compile(text, str(file), "exec"), scope)
    register_internal_folder(str(file.parent))
    error = caught_from(scope["twice"], fails, np.ones(3))
    assert functions_in(error.__traceback__) == ["caught_from", "fails"]
    results = iter([np.ones(2), np.ones(3)])
    mixed = caught_from(scope["twice"], lambda _: next(results), 1.0)
    assert functions_in(mixed.__traceback__) == ["caught_from"]
    assert "add of float64[2] and float64[3] at test_tracebacks.py:" in str(mixed)


def test_a_boundary_is_the_function_to_those_who_look():
    def f(x: int, *, y: int = 2) -> int:
        """Return x."""
        return x + y

    f.mark = "kept"
    outer = api_boundary(f)
    assert outer(1, y=3) == 4
    assert (outer.__wrapped__, outer.__name__, outer.__qualname__, outer.__doc__) == (f, "f", f.__qualname__, f.__doc__)
    assert (outer.__module__, outer.__globals__, outer.__annotations__) == (__name__, globals(), f.__annotations__)
    assert outer.mark == "kept"


def test_a_misspelt_keyword_is_answered_with_the_keyword_that_is_like_it():
    with pytest.raises(
        TypeError, match=r"unexpected keyword argument 'static_argnum'\. Did you mean 'static_argnums'\?"
    ):
        make_jaxpr(lambda x: x, static_argnum=1)
    with pytest.raises(
        TypeError, match=r"keyword argument 'colour'\. It takes fun, static_argnums, static_argnames, axis_env, ret"
    ):
        make_jaxpr(lambda x: x, colour=1)


def test_a_keyword_of_the_users_function_is_not_explained_by_the_transformation():
    @api_boundary
    def transform(fun, **kwargs):
        return fun(**kwargs)

    with pytest.raises(TypeError) as caught:
        transform(lambda width: width, widht=1)
    assert "Did you mean 'fun'" not in str(caught.value)
    assert "It takes" not in str(caught.value)
    with pytest.raises(TypeError, match=r"missing 1 required positional argument: 'fun'"):
        transform(width=1)
