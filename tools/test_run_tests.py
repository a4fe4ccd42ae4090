"""What run_tests.py keeps of the output of ctest and pytest, and that no failure gets lost."""

import run_tests


def taken_from(*lines: str) -> run_tests.Part:
    part = run_tests.Part("part", [])
    for line in lines:
        part.take(line + "\n")
    return part


def test_summary_lines_are_kept_as_they_are():
    lines = ["85% tests passed, 2 tests failed out of 13",
             "=================== 8 passed, 1 skipped in 3.21s ===================",
             "========= 1 failed, 7 passed, 2 warnings in 61.02s (0:01:01) ========="]
    assert taken_from("noise", *lines, "Total Test time (real) = 1 sec").summary == lines


def test_skipped_tests_are_listed():
    part = taken_from("The following tests did not run:",
                      "\t 12 - semantics.full_device (Skipped)",
                      "SKIPPED [1] tests/install/test_install.py:46: libx.so has not been built")
    assert part.skipped == ["semantics.full_device",
                            "tests/install/test_install.py:46: libx.so has not been built"]


def test_exit_code_decides(tmp_path):
    for code, passed in ((0, True), (3, False)):
        part = run_tests.Part("part", ["sh", "-c", f"echo said; exit {code}"])
        part.run(tmp_path, {})
        assert part.passed == passed
        assert (tmp_path / "part.log").read_text() == "said\n"
