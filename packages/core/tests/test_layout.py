from calque_core.show.layout import Row, flatten_rows, page


def test_rows_are_indented_and_joined():
    assert page([Row(0, "a"), Row(2, "b")], wrap=False, source_info=False, name_stack=False) == "a\n  b"


def test_long_rows_break_between_words_only_where_asked():
    row = Row(4, " ".join(["word"] * 30))
    lines = page([row], wrap=True, source_info=False, name_stack=False).splitlines()
    assert len(lines) > 1
    assert max(map(len, lines)) <= 80
    assert lines[0].startswith("    word")
    assert lines[1].startswith("        word")
    assert len(page([row], wrap=False, source_info=False, name_stack=False).splitlines()) == 1


def test_a_word_longer_than_the_page_stays_whole():
    assert page([Row(0, "x" * 100)], wrap=True, source_info=False, name_stack=False) == "x" * 100


def test_deep_rows_keep_room_for_several_words():
    lines = page([Row(1000, " ".join(["word"] * 8))], wrap=True, source_info=False, name_stack=False).splitlines()
    assert len(lines) == 1


def test_comments_stand_in_one_column():
    position = (page.__code__, 0)
    rows = [Row(0, "a", position), Row(0, "longer", position), Row(0, "none")]
    text = page(rows, wrap=False, source_info=True, name_stack=False)
    first, second, third = text.splitlines()
    assert first.index("#") == second.index("#") == len("longer") + 2
    assert "layout.py:" in first
    assert third == "none"


def test_generators_unroll_to_any_depth():
    def nested(depth):
        yield Row(depth, "down")
        if depth:
            yield nested(depth - 1)
        yield Row(depth, "up")

    rows = list(flatten_rows(nested(5000)))
    assert len(rows) == 2 * 5001
    assert [row.indent for row in rows[:3]] == [5000, 4999, 4998]
    assert rows[-1] == Row(5000, "up")
