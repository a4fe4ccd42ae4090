"""What run_tests.py keeps of the output of ctest and pytest, that no failure gets lost, and nothing goes on
after an interrupt."""

import asyncio
import os
import pathlib
import signal
import subprocess
import sys
import time

import run_tests
from run_tests import Part, Stage


def taken_from(*lines: str) -> Part:
    part = Part("part", [])
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
    for code, passed in ((0, True), (3, False), (77, True)):
        part = Part("part", ["sh", "-c", f"echo said; exit {code}"])
        asyncio.run(part.run(tmp_path, {}))
        assert part.passed == passed
        assert part.skipped == (["said"] if code == 77 else [])
        assert (tmp_path / "part.log").read_text() == "said\n"


def test_parts_beside_others_run_meanwhile_and_are_shown_afterwards(tmp_path, capfd):
    first, second = tmp_path / "first", tmp_path / "second"
    os.mkfifo(first)
    os.mkfifo(second)
    stage = Stage([Part("shown", ["sh", "-c", f"cat {first}; echo back > {second}"])],
                  beside=[[Part("quiet", ["sh", "-c", f"echo to > {first}; cat {second}; exit 1"])]])
    asyncio.run(stage.run(tmp_path, {}))
    assert capfd.readouterr().out == "\n==== shown ====\nto\n\n==== quiet ====\nback\n"
    assert stage.parts[0].passed and not stage.beside[0][0].passed


def test_a_part_that_ends_just_before_it_is_interrupted_has_ended():
    async def end_what_has_ended():
        process = await asyncio.create_subprocess_exec("true", start_new_session=True)
        await process.wait()
        await run_tests.end_group(process)

    asyncio.run(end_what_has_ended())


def test_an_interrupt_ends_all(tmp_path):
    """Also one of the test run alone, not of its group: as `kill` sends it."""
    program = f"""if True:
        import asyncio, pathlib, sys
        sys.path.insert(0, {str(pathlib.Path(run_tests.__file__).parent)!r})
        import run_tests
        from run_tests import Part, Stage
        folder = pathlib.Path({str(tmp_path)!r})
        run_tests.CLEAN_UP_S = 1
        waits = lambda name, first="": Part(
            name, ["sh", "-c", f"{{first}} echo $$ > {{folder / name}}; exec sleep 100"])
        stage = Stage([waits("shown")], beside=[[waits("quiet", "trap '' INT;"), waits("never")]])
        asyncio.run(stage.run(folder, {{}}))
    """
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          text=True) as process:
        while not all((tmp_path / name).exists() and (tmp_path / name).read_text() for name in ("shown", "quiet")):
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=50)
    assert process.returncode != 0 and "KeyboardInterrupt" in said
    for name in ("shown", "quiet"):
        assert not pathlib.Path("/proc", (tmp_path / name).read_text().strip()).exists()
    assert not (tmp_path / "never").exists()
