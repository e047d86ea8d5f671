from tools_catalog.comparison import FieldComparison, Row, compare, side_by_side

OLD = {"description": "Reads a file.", "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}}}


def by_name(old: object, new: object) -> dict[str, FieldComparison]:
    return {field.name: field for field in compare(old, new)}  # type: ignore[arg-type]


def test_equal_definitions_have_no_change() -> None:
    assert [field.is_changed for field in compare(OLD, OLD)] == [False, False]


def test_empty_fields_are_left_out() -> None:
    assert set(by_name(OLD, OLD)) == {"description", "input_schema"}


def test_what_changed_inside_a_line_is_marked_and_nothing_else() -> None:
    [row] = side_by_side("Reads a small file.", "Reads a large file.")
    assert row.left == [(False, "Reads a "), (True, "small"), (False, " file.")]
    assert row.right == [(False, "Reads a "), (True, "large"), (False, " file.")]


def test_added_and_removed_lines_have_nothing_beside_them() -> None:
    assert side_by_side("a", "a\nb") == [Row([(False, "a")], [(False, "a")]), Row(None, [(True, "b")])]
    assert side_by_side("a\nb", "a") == [Row([(False, "a")], [(False, "a")]), Row([(True, "b")], None)]


def test_both_sides_can_be_put_together_again() -> None:
    left, right = "one\ntwo words\nthree\nfour", "one\ntwo other words\n3\nfour\nfive"
    rows = side_by_side(left, right)
    assert "\n".join("".join(t for _, t in row.left) for row in rows if row.left is not None) == left
    assert "\n".join("".join(t for _, t in row.right) for row in rows if row.right is not None) == right


def test_long_equal_stretches_are_folded() -> None:
    schema = {f"p{i}": i for i in range(100)}
    field = by_name({"input_schema": schema}, {"input_schema": {**schema, "p50": -1}})["input_schema"]
    assert len(field.rows) == 9
    assert sum(row.skipped for row in field.rows) == 102 - 7


def test_a_first_definition_is_compared_with_nothing() -> None:
    fields = by_name({}, OLD)
    assert all(row.left is None for field in fields.values() for row in field.rows)
