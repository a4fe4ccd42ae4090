"""What the TAB key gives in each shell, with the scripts that are installed."""

import os
import shutil
import subprocess

import pytest

from unisono import places

BUILD = places.PREFIX
SCRIPTS = {
    "bash": BUILD / "share/bash-completion/completions/unisono",
    "zsh": BUILD / "share/zsh/site-functions/_unisono",
    "fish": BUILD / "share/fish/vendor_completions.d/unisono.fish",
}
pytestmark = pytest.mark.skipif(not SCRIPTS["bash"].exists(), reason="not made: see cli/HelpAndCompletion.cmake")
ENVIRONMENT = os.environ | {"PATH": f"{BUILD / 'bin'}:{os.environ['PATH']}"}

# What bash itself does when the key is pressed.
BASH = """
source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); compopt() { echo "files"; }
_unisono_completion unisono; printf '%s\\n' "${COMPREPLY[@]}"
"""


def in_shell(shell, *words):
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    done = subprocess.run([shell, *map(str, words)], env=ENVIRONMENT, capture_output=True, text=True, timeout=200,
                          check=True)  # fmt: skip
    return done.stdout.split()


def in_bash(*words):
    return in_shell("bash", "-c", BASH, SCRIPTS["bash"], "unisono", *words)


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["run", "--strategy", "tw"], ["two_phase"]),
        (["bench", "--strategy", "la"], ["lacio"]),
        (["run", "--backend", "m"], ["mapped", "mpiio"]),
        (["pocket", "up", "/mnt", "--profile", "ss"], ["ssd"]),
        (["run", "--rep"], ["--report"]),
        (["replay", "--strategies", "two_phase,in"], ["two_phase,independent"]),
        (["compare", "--strategies", "au"], ["auto"]),
        (["explain", "--strategies", "lacio,two"], ["lacio,two_phase"]),
    ],
)
def test_bash_offers_what_is_valid(words, offered):
    assert set(offered) <= set(in_bash(*words))
    assert all(word.startswith(words[-1]) for word in in_bash(*words))


def test_bash_offers_no_strategy_twice():
    assert "lacio,lacio" not in in_bash("replay", "--strategies", "lacio,")


def test_bash_completes_the_programs_own_words_as_files():
    assert in_bash("run", "--", "mpiexec", "./a") == ["files"]


def test_zsh_takes_the_script():
    in_shell("zsh", "-n", SCRIPTS["zsh"])


def test_fish_offers_what_is_valid():
    command = f"source {SCRIPTS['fish']}; complete --do-complete 'unisono run --strategy tw'"
    assert in_shell("fish", "-c", command) == ["two_phase"]
