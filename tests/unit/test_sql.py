def test_a_script_states_its_parameters_and_its_result(tmp_path: Path) -> None:
    """In a script a colon is no parameter, and a script without that line has none."""
    file = tmp_path / "some.lua"
    file.write_text(
        "-- name: one\n-- What it does.\n-- parameters: a, b\n-- returns: x(100), y\nreturn text:match(':c')\n\n"
        "-- name: two\nreturn ':d'\n"
    )
    one, two = parsed(file)["one"], parsed(file)["two"]
    assert (one.parameters, one.returns, one.description) == (("a", "b"), ("x(100)", "y"), "What it does.")
    assert one.text == "return text:match(':c')"
    assert (two.parameters, two.returns) == ((), ())
