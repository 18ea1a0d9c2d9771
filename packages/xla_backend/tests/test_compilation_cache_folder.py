"""Which folder compiled programs are loaded from, and which are refused."""

import logging
import stat
import sys
from types import SimpleNamespace

import pytest

from calque_xla_backend.compilation_cache import folder as folders
from calque_xla_backend.compilation_cache.folder import Choice, choose_folder, create, obstacle, refusal

posix = pytest.mark.skipif(sys.platform == "win32", reason="owners and modes are those of POSIX")
VARIABLES = ("CALQUE_CACHE", "XDG_CACHE_HOME", "HOME", "LOCALAPPDATA")


@pytest.fixture
def environment(monkeypatch):
    """Return a function that sets the variables about folders, and unsets those that it does not name."""

    def set_variables(platform="linux", **values):
        monkeypatch.setattr(folders.sys, "platform", platform)
        for name in VARIABLES:
            monkeypatch.delenv(name, raising=False)
        for name, value in values.items():
            monkeypatch.setenv(name, value)

    return set_variables


@posix
@pytest.mark.parametrize(
    ("platform", "values", "expected"),
    [
        ("linux", {"HOME": "/home/me"}, "/home/me/.cache/calque"),
        ("linux", {"HOME": "/home/me", "XDG_CACHE_HOME": "/caches"}, "/caches/calque"),
        ("linux", {"HOME": "/home/me", "XDG_CACHE_HOME": "relative"}, "/home/me/.cache/calque"),
        ("darwin", {"HOME": "/Users/me"}, "/Users/me/Library/Caches/calque"),
        ("darwin", {"HOME": "/Users/me", "XDG_CACHE_HOME": "/caches"}, "/caches/calque"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/calque/cache"),
        ("linux", {"HOME": "/home/me", "CALQUE_CACHE": "/mine"}, "/mine"),
        ("linux", {"HOME": "/home/me", "CALQUE_CACHE": "~/mine"}, "/home/me/mine"),
        ("linux", {"HOME": "/home/me", "CALQUE_CACHE": "/mine//programs/"}, "/mine/programs"),
        ("linux", {"HOME": "/home/me", "CALQUE_CACHE": ""}, "/home/me/.cache/calque"),
    ],
)
def test_the_folder_follows_the_conventions_of_the_system_and_one_variable_moves_it(
    environment, platform, values, expected
):
    environment(platform, **values)
    assert choose_folder() == Choice(expected)


@pytest.mark.parametrize("word", ["off", "OFF", " off "])
def test_one_word_turns_the_cache_off(environment, word):
    environment(HOME="/home/me", CALQUE_CACHE=word)
    assert choose_folder() == Choice(None, "CALQUE_CACHE is off")


@pytest.mark.parametrize("word", ["on", "1", "cache/here"])
def test_a_relative_folder_is_a_mistake(environment, word):
    environment(HOME="/home/me", CALQUE_CACHE=word)
    assert choose_folder() == Choice(None, f"CALQUE_CACHE is {word!r}; use 'off' or an absolute path", logging.WARNING)


@pytest.mark.parametrize("values", [{}, {"HOME": ""}, {"HOME": "relative"}])
def test_without_a_home_there_is_no_folder(environment, values):
    environment(**values)
    assert choose_folder() == Choice(
        None, "HOME is not an absolute path, so there is no folder of caches", logging.INFO
    )


@posix
def test_a_new_folder_is_for_this_user_alone(tmp_path):
    folder = tmp_path / "a" / "b"
    create(str(folder))
    create(str(folder))
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert refusal(str(folder)) == ""


@posix
@pytest.mark.parametrize("mode", [0o720, 0o702, 0o777])
def test_a_folder_that_others_may_write_to_is_refused(tmp_path, mode):
    tmp_path.chmod(mode)
    assert refusal(str(tmp_path)) == f"other users may write to {tmp_path} (mode {mode:o}); `chmod 700` closes it"


@posix
def test_a_shared_temporary_folder_is_refused(tmp_path):
    tmp_path.chmod(0o1777)
    assert refusal(str(tmp_path)) == f"{tmp_path} is shared by all users"


@posix
def test_a_folder_of_another_user_is_refused(tmp_path, monkeypatch):
    owner = tmp_path.stat().st_uid
    monkeypatch.setattr(folders.os, "geteuid", lambda: owner + 1)
    assert refusal(str(tmp_path)) == f"{tmp_path} belongs to another user (number {owner})"


@posix
@pytest.mark.parametrize("is_made", [True, False])
def test_a_folder_that_others_may_replace_is_refused(tmp_path, is_made):
    folder = tmp_path / "open" / "inner" / "cache"
    if is_made:
        create(str(folder))
    else:
        folder.parents[1].mkdir()
    folder.parents[1].chmod(0o777)
    assert refusal(str(folder)) == (
        f"every user may replace {folder}, because every user may write to {folder.parents[1]}"
    )
    folder.parents[1].chmod(0o1777)  # the sticky bit: each user may rename their own files only
    assert refusal(str(folder)) == ""


@posix
def test_a_folder_that_a_group_may_replace_is_refused(tmp_path):
    folder = tmp_path / "open" / "closed" / "cache"
    folder.mkdir(parents=True, mode=0o700)
    folder.parents[1].chmod(0o770)
    assert refusal(str(folder)) == (
        f"other users may replace {folder}, because the group of {folder.parents[1]} may write to it; "
        "`chmod g-w` closes it"
    )
    folder.parents[1].chmod(0o1770)
    assert refusal(str(folder)) == ""


@posix
@pytest.mark.parametrize("mode", [0o700, 0o1777])
def test_a_folder_inside_of_another_users_is_refused(tmp_path, monkeypatch, mode):
    folder, other = tmp_path / "theirs" / "cache", tmp_path / "theirs"
    folder.mkdir(parents=True, mode=0o700)
    other.chmod(mode)
    owned, status_of = other.stat(), folders.os.stat
    stranger = SimpleNamespace(st_mode=owned.st_mode, st_uid=owned.st_uid + 1)
    monkeypatch.setattr(
        folders.os, "stat", lambda path, **how: stranger if path == str(other) else status_of(path, **how)
    )
    assert refusal(str(folder)) == (
        f"another user may replace {folder}, because {other} belongs to the user of number {owned.st_uid + 1}"
    )


@posix
def test_a_link_that_others_may_replace_is_refused(tmp_path):
    target, shared = tmp_path / "cache", tmp_path / "shared"
    target.mkdir(mode=0o700)
    shared.mkdir(mode=0o700)
    (shared / "link").symlink_to(target)
    assert refusal(str(shared / "link")) == ""
    shared.chmod(0o777)
    assert refusal(str(shared / "link")) == (
        f"every user may replace {shared / 'link'}, because every user may write to {shared}"
    )


@posix
def test_a_link_is_judged_by_the_folder_that_it_names(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    target.mkdir()
    target.chmod(0o777)
    link.symlink_to(target)
    assert refusal(str(link)).startswith(f"other users may write to {link}")


def test_a_file_is_no_folder(tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    assert refusal(str(file)) == f"{file} is not a folder"
    with pytest.raises(FileExistsError):
        create(str(file))


def test_a_folder_that_cannot_be_examined_is_refused(tmp_path, monkeypatch):
    def fail(path):
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(folders.os, "stat", fail)
    monkeypatch.setattr(folders.os.path, "exists", lambda path: True)
    assert "Permission denied" in refusal(str(tmp_path))


@posix
def test_an_obstacle_to_writing_is_named(tmp_path, monkeypatch):
    folder = tmp_path / "a" / "b"
    assert obstacle(str(folder)) == obstacle(str(tmp_path)) == ""
    with monkeypatch.context() as patch:
        patch.setattr(folders.os, "statvfs", lambda path: SimpleNamespace(f_bavail=1, f_frsize=4096))
        assert obstacle(str(folder)) == f"the disk of {tmp_path} is full"
    monkeypatch.setattr(folders.os, "access", lambda path, mode: False)
    assert obstacle(str(folder)) == f"files cannot be written to {tmp_path}"
    (tmp_path / "a").write_text("")
    assert obstacle(str(folder)) == f"{folder} cannot be made, because {tmp_path / 'a'} is not a folder"
