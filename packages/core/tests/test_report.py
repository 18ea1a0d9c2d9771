import numpy as np
import pytest

from calque_core import MissingRuleError, Primitive, float0
from calque_core.kits.report import Finding, Report, compare


def missing():
    raise MissingRuleError("Batching rule for 'p' not implemented", primitive="p", kind="batch", package="x")


def wrong():
    raise AssertionError("2.0 is not\n  1.0")


def test_a_law_holds_fails_or_has_no_rule():
    report = Report("p at (float64[])")
    report.ask("a", lambda: None)
    report.ask("b", wrong)
    report.ask("c", missing)
    report.ask("d", lambda: 1 // 0)
    assert [report.outcome(law) for law in "abcd"] == ["holds", "fails", "no rule", "fails"]
    assert repr(report).splitlines() == [
        "p at (float64[])",
        "  a: holds",
        "  b: fails: 2.0 is not 1.0",
        "  c: no rule: Batching rule for 'p' not implemented.",
        "  d: fails: ZeroDivisionError: integer division or modulo by zero",
    ]


def test_failures_are_raised_together_with_the_first_as_their_cause():
    report = Report("p at (float64[])")
    report.ask("a", lambda: None)
    report.ask("b", lambda: 1 // 0)
    report.ask("c", missing)
    with pytest.raises(AssertionError, match=r"p at \(float64\[\]\) breaks 1 of 3 laws\.\n  b: fails") as caught:
        report.raise_failures()
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert "a: holds" not in str(caught.value)
    assert "c: no rule" in str(caught.value)


def test_a_missing_rule_alone_is_no_failure():
    report = Report("p")
    report.ask("a", missing)
    report.raise_failures()
    assert report.findings == [Finding("a", "no rule", "Batching rule for 'p' not implemented.")]


def test_a_rule_missing_of_another_primitive_is_a_failure_unless_the_subject_has_a_hole_of_the_kind():
    mine_p = Primitive("mine")
    report = Report("mine", mine_p)
    report.ask("a", missing)
    mine_p.def_hole("batch", "it is one number")
    report.ask("b", missing)
    assert [report.outcome(law) for law in "ab"] == ["fails", "no rule"]


def test_the_reason_of_a_declared_hole_is_told():
    hole_p = Primitive("hole")
    hole_p.def_hole("impl", "it is only compiled")
    report = Report("hole")
    report.ask("evaluate", lambda: hole_p.bind(1.0))
    assert report.findings[0].detail.endswith("There is none because it is only compiled.")


def test_notes_of_an_error_are_told():
    def noted():
        error = ValueError("bad")
        error.add_note("It was there.")
        raise error

    report = Report("p")
    report.ask("a", noted)
    assert report.findings[0].detail == "ValueError: bad It was there."


@pytest.mark.parametrize(
    ("got", "want", "message"),
    [
        (np.float32(1), np.float64(1), r"f gives \(float32\[\]\) where \(float64\[\]\) is right\."),
        (np.ones(2), np.ones(3), r"f gives \(float64\[2\]\) where \(float64\[3\]\) is right\."),
        (np.array([1.0, 2.5]), np.array([1.0, 2.0]), r"f gives 2\.5 at \[1\] where 2\.0 is right\."),
        (np.float64(np.nan), np.float64(1.0), r"f gives nan where 1\.0 is right\."),
        (np.float64(np.inf), np.float64(-np.inf), r"f gives inf where -inf is right\."),
        (np.int64(3), np.int64(2), r"f gives 3 where 2 is right\."),
        (np.complex128(1j), np.complex128(1), r"f gives 1j where \(1\+0j\) is right\."),
    ],
)
def test_a_difference_is_told(got, want, message):
    with pytest.raises(AssertionError, match=message):
        compare("f", [got], [want], tolerance=10)


def test_the_number_of_the_result_is_told():
    with pytest.raises(AssertionError, match=r"f, result 1, gives 2\.0 where 3\.0 is right"):
        compare("f", [1.0, 2.0], [1.0, 3.0])


def test_what_is_within_the_tolerance_agrees():
    close = np.float64(1.0) + 3 * np.finfo(np.float64).eps
    compare("f", [close], [np.float64(1.0)], tolerance=4)
    with pytest.raises(AssertionError):
        compare("f", [close], [np.float64(1.0)], tolerance=2)
    with pytest.raises(AssertionError):
        compare("f", [close], [np.float64(1.0)])


@pytest.mark.parametrize("x", [np.float64(np.nan), np.array([np.inf, -np.inf]), np.zeros(2, float0), np.ones(0), True])
def test_a_thing_agrees_with_itself(x):
    compare("f", [x], [x])
