"""The reference has a page for every public name, in the groups of its module, and names in docstrings are links."""

from __future__ import annotations

import builtins
import importlib
import inspect
import re
import sys
from pathlib import Path

import pytest
from public_api import MODULES as WRITTEN_DOWN

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS))
import reference_links  # noqa: E402  # the folder of the pages is no package
import reference_names as names  # noqa: E402
import reference_objects  # noqa: E402
import reference_pages as reference  # noqa: E402
import reference_text  # noqa: E402

import calque  # noqa: E402


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    written, before = tmp_path_factory.mktemp("reference"), reference.FOLDER
    reference.FOLDER = written
    reference.write_reference()
    yield written
    reference.FOLDER = before


@pytest.fixture(scope="module")
def links():
    return reference_links.Links(names.read_modules())


# Other spellings of names that have pages, and modules that a guide describes.
WITHOUT_PAGES = {"calque.testing", "calque.tree", "calque.tree_util"}


# Pages


def test_every_module_with_public_names_is_in_the_reference():
    assert set(WRITTEN_DOWN) - set(names.MODULES) == WITHOUT_PAGES


def test_every_public_name_is_listed_once_in_its_module_and_has_a_page(folder):
    missing, repeated = [], []
    for path in names.MODULES:
        text = (folder / f"{path}.md").read_text(encoding="utf-8")
        for name in getattr(importlib.import_module(path), "__all__", ()):
            count = len(
                re.findall(rf"^\| \[?`{re.escape(name)}`|^Primitives:.*`{re.escape(name)}`", text, re.MULTILINE)
            )
            (missing if count == 0 else repeated).extend([f"{path}.{name}"] * (count != 1))
    assert missing == []
    assert repeated == []


def files_of(folder):
    return [path for path in folder.rglob("*") if path.is_file()]


def page(folder, name):
    return (folder / name).read_text(encoding="utf-8")


def test_every_link_of_the_reference_leads_to_a_page(folder):
    pages = {file.relative_to(folder).with_suffix("").as_posix() for file in files_of(folder)}
    pages |= {file.relative_to(folder).as_posix() for file in files_of(folder)}
    links = []
    for file in files_of(folder):
        text = file.read_text(encoding="utf-8")
        links += [(file.name, target) for target in re.findall(r"\]\(([^)]+\.(?:md|rst))\)", text)]
        links += [(file.name, target) for target in re.findall(r":doc:`[^<`]+</reference/([^>]+)>`", text)]
        objects = re.findall(r":py:\w+:`[^<`]+<([^>]+)>`", text)
        links += [(file.name, "/".join(target.rsplit(".", 1))) for target in objects]
    assert [(name, target) for name, target in links if target not in pages] == []
    assert len(pages) > 1000
    assert len(links) > 10_000


def test_a_page_names_its_module_its_subject_its_other_path_and_its_neighbours(folder):
    text = page(folder, "calque_core.lax/cumsum.rst")
    assert (
        ".. py:function:: calque_core.lax.cumsum(operand: Value, axis: int = 0, reverse: bool = False) -> Value" in text
    )
    assert "In :doc:`calque_core.lax </reference/calque_core.lax>`, running reductions: " in text
    assert ":py:func:`cumprod <calque_core.lax.cumprod>`" in text
    assert "Other paths: ``calque.lax.cumsum``." in text


def test_names_in_the_order_of_the_alphabet_are_no_neighbours(folder):
    assert page(folder, "calque_xla_backend/export.rst").endswith(
        "\nIn :doc:`calque_xla_backend </reference/calque_xla_backend>`.\n"
    )


def test_a_name_of_two_modules_has_one_page(folder):
    assert "(calque_autodiff/grad.rst)" in page(folder, "calque.md")
    assert not (folder / "calque" / "grad.rst").exists()


def test_a_value_of_two_names_is_explained_under_its_own(folder):
    assert "[`SymbolicZero`](calque_autodiff/Zero.rst)" in page(folder, "calque_autodiff.md")
    assert "``calque_core.Zero``" in page(folder, "calque_autodiff/Zero.rst")


def test_the_matrix_has_every_primitive(folder):
    text = page(folder, "rule_matrix.md")
    assert re.search(r"^sin  +\+ +\+ +\+", text, re.MULTILINE)
    assert re.search(r"^shard_map  +\+", text, re.MULTILINE)
    assert "floor, transpose: " in text


def test_pages_that_are_as_before_are_not_written_again_and_old_ones_vanish(folder):
    old = folder / "calque_core" / "gone.rst"
    old.write_text("")
    before = {file: file.stat().st_mtime_ns for file in files_of(folder) if file != old}
    reference.write_reference()
    assert {file: file.stat().st_mtime_ns for file in files_of(folder)} == before


def test_no_page_sends_a_reader_of_the_site_to_a_file_of_the_source(folder):
    sources = re.compile(r"Read next|`\w+\.py`")
    assert [file.name for file in files_of(folder) if sources.search(file.read_text(encoding="utf-8"))] == []
    documented = [reference_links.value_of(name) for name in reference_links.Links(names.read_modules()).places]
    assert [value for value in documented if sources.search(inspect.getdoc(value) or "")] == []


# Links in docstrings


@pytest.mark.parametrize(
    ("span", "at", "target"),
    [
        ("grad", "calque/hessian", "calque_autodiff/grad"),
        ("sum", "calque_numpy/trace", "calque_numpy/sum"),  # its own module's, though another module has one too
        ("sum", "calque_core.lax/psum", None),  # Python's
        ("lax.cumsum", "calque_numpy/cumsum", "calque_core.lax/cumsum"),
        ("cond", "calque_core.lax/switch", "calque_core.lax/cond"),
        ("cond", "calque_core/interpret", None),  # of lax or of linalg
        ("ShapedArray", "calque_core.engine/shard_shape", "calque_core/ShapedArray"),
        ("ShapedArray.update", "calque_core.engine/shard_shape", "calque_core/ShapedArray"),
        ("calque_special.igamma", "calque_numpy.scipy.special/gammainc", "calque_special/igamma"),
        ("compilation_cache", "calque_xla_backend/jit", "calque_xla_backend.compilation_cache"),
        ("numpy.linalg.cholesky", "calque_numpy.linalg/cholesky", None),  # NumPy's own
        ("axis", "calque_core.lax/cumsum", None),  # a parameter
        ("t", "calque_linalg/schur", None),  # mathematics
        ("cumsum", "calque_core.lax/cumsum", None),  # the page itself
        ("no_such_name", "calque_core.lax/cumsum", None),
        ("x + 1", "calque_core.lax/cumsum", None),
    ],
)
def test_a_code_span_means_what_its_name_means_in_that_module(links, span, at, target):
    assert links.target(span, links.places[at]) == target


def spans(links):
    """Yield each code span that is a bare name, with its place."""
    for at, place in links.places.items():
        for span in re.findall(r"`([^`]+)`", inspect.getdoc(reference_links.value_of(at)) or ""):
            if re.fullmatch(r"\w+", span):
                yield span, place


def test_no_code_span_that_names_exactly_one_public_name_is_left_without_a_link(links):
    public = {}
    for module in map(importlib.import_module, names.MODULES):
        for name in getattr(module, "__all__", ()):
            if names.has_page(value := getattr(module, name)):
                public.setdefault(name, set()).add(id(value))
    left = [
        (span, place.page)
        for span, place in spans(links)
        if len(public.get(span, ())) == 1 and links.target(span, place) is None and not is_no_name(span, place)
    ]
    assert left == []


def is_no_name(span, place):
    """Tell whether a word is a parameter or an attribute of the page's name, that name, or one of Python's own."""
    return span in place.own_words or len(span) == 1 or hasattr(builtins, span)


def test_no_link_leads_to_another_function_of_the_same_spelling(links):
    wrong = []
    for span, place in spans(links):
        target = links.target(span, place)
        if target and "/" in target and len(links.by_name[span]) > 1:
            parts = place.module.split(".")
            around = [importlib.import_module(".".join(parts[: n + 1])) for n in reversed(range(len(parts)))]
            meant = [getattr(module, span) for module in [*around, calque] if hasattr(module, span)]
            if not meant or reference_links.value_of(target) is not meant[0]:
                wrong.append((span, place.page, target))
    assert wrong == []


def test_names_that_mention_each_other_are_linked_both_ways(folder):
    assert ":py:func:`cholesky <calque_linalg.cholesky>`" in see_also(folder, "calque_linalg/cholesky_update")
    assert ":py:func:`cholesky_update <calque_linalg.cholesky_update>`" in see_also(folder, "calque_linalg/cholesky")


def see_also(folder, name):
    return re.search(r"^See also: .*$", page(folder, f"{name}.rst"), re.MULTILINE)[0]


def test_a_docstring_becomes_text_with_bold_labels_and_an_example():
    docstring = "Return `sin` of *x*,\nor raise.\nRaises: ShapeError if `x` is bad.\n\n>>> sin(0)\n0"
    pages = {"sin": "calque_core.lax/sin", "ShapeError": "calque_core/ShapeError"}
    assert reference_text.to_rst(docstring, pages.get) == [
        "| Return \\ :py:func:`sin <calque_core.lax.sin>`\\  of \\*x\\*, or raise.",
        "| **Raises:** \\ :py:class:`ShapeError <calque_core.ShapeError>`\\  if \\ ``x``\\  is bad.",
        "",
        ">>> sin(0)",
        "0",
        "",
    ]


def test_a_docstring_of_a_member_has_the_names_of_its_class(folder):
    text = page(folder, "calque_core/ShapedArray.rst")
    assert ".. py:method:: update(**fields: Any) -> ShapedArray" in text
    assert "Return this type for a value that may vary along the mesh axes \\ ``vma``\\ ," in text  # an attribute


def test_a_type_in_a_signature_leads_to_the_value_of_that_name_in_its_source(links):
    of_export = links.places["calque_xla_backend/export"]
    assert links.of_annotation("Exported", of_export) == "calque_xla_backend/Exported"
    assert links.of_annotation("Any", of_export) is None
    assert links.of_annotation("no_such_name", of_export) is None
    assert links.of_annotation("ShapedArray", links.places["calque_core/ShapedArray"]) is None  # the page itself


class Shown:
    """A class."""

    def __init__(self, a: int, *, b: str = "x", c: object = print, d: object = object()):
        self.a = a

    @property
    def first(self) -> int:
        """The first."""

    @classmethod
    def make(cls, f=len, *rest: int) -> Shown:
        """Make one."""

    def grow(self, by: float = 1e-3, /) -> None:
        """Grow by `by`."""

    def silent(self): ...

    def _hidden(self):
        """Not public."""


def test_a_class_is_described_with_its_documented_public_members():
    lines = list(reference_objects.described("m.Shown", Shown, lambda text: text.split("\n")))
    assert lines[0] == ".. py:class:: m.Shown(a: int, *, b: str = 'x', c: object = print, d: object = ...)"
    directives = [line for line in lines if ".. " in line]
    assert directives[1:] == [
        "   .. py:property:: first",
        "   .. py:method:: grow(by: float = 0.001, /) -> None",
        "   .. py:method:: make(f=len, *rest: int) -> Shown",
    ]
    assert "      :classmethod:" in [line for line in lines if line.startswith("      :")]
    assert "      Grow by `by`." in lines


def test_a_class_of_errors_names_its_bases_and_a_value_without_a_signature_has_none():
    lines = list(reference_objects.described("m.E", UnicodeError, lambda text: [text]))
    assert lines[0] == ".. py:class:: m.E"
    assert "   **Is a:** ``ValueError``" in lines


# Errors


def test_every_error_class_has_an_example_and_its_mend_to_which_its_page_leads(folder, links):
    text = (DOCS / "errors.md").read_text(encoding="utf-8")
    errors = [page for page in links.places if reference_objects.is_error(reference_links.value_of(page))]
    assert len(errors) >= 12
    for error in errors:
        name = error.split("/")[1]
        section = re.search(rf"^## {name}\n(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE)[1]
        assert f"{name}: " in section or f"except calque.distributed.{name}" in section
        assert section.count("\n>>> ") >= 2, name
        assert f"| `{name}` | " in text
        assert f"<../../errors.html#{name.lower()}>" in page(folder, f"{error}.rst")
