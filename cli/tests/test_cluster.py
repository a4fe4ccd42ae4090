"""Pocket clusters without root: what would be run, and what is refused. tests/cluster has the rest."""

import os
from ipaddress import IPv4Network
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from unisono import cluster, cluster_launch, cluster_network
from unisono.cluster_command import up_command
from unisono.cluster_launch import Site
from unisono.cluster_network import Link, Node
from unisono.launchers import HYDRA, OPEN_MPI, SLURM
from unisono.places import Failure

NODE = Node("pocket1", "unisono-pocket1", "/records/uts", "uni-pocket-1", "198.18.0.3")
NETWORK = IPv4Network("198.18.0.0/24")
SITE = Site(["a", "b", "c"], "uni-pocket", "198.18.0.0/24", "/records/rsh", "/records/rank")


# ---- networks ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "bits"),
    [("1gbit", 10**9), ("2.5Gbit", 2500 * 10**6), ("100mbit", 10**8), ("1000000bit", 10**6)],
)
def test_rates_are_bits_per_second(text, bits):
    assert cluster_network.parse_rate(text) == bits


@pytest.mark.parametrize("text", ["", "fast", "1gb", "1 gbit", "0gbit", "10kbit", "-1gbit"])
def test_other_rates_are_refused(text):
    with pytest.raises(Failure, match="1mbit and more"):
        cluster_network.parse_rate(text)


def test_a_network_that_is_in_use_is_left_alone():
    used = [IPv4Network("10.0.0.0/8"), IPv4Network("198.18.0.0/23"), IPv4Network("198.18.2.7/32")]
    assert str(cluster_network.free_network(used)) == "198.18.3.0/24"
    with pytest.raises(Failure, match="no network is left"):
        cluster_network.free_network([IPv4Network("198.18.0.0/15")])


def test_connections_have_linuxs_own_congestion_control_at_both_ends():
    commands = cluster_network.bridge_commands("uni-pocket", NETWORK)
    commands += cluster_network.node_commands(NODE, "uni-pocket", NETWORK, Link(10**9))
    routes = [command for command in commands if "change" in command]
    assert [route[: route.index("route")] for route in routes] == [["ip"], ["ip", "-n", "unisono-pocket1"]]
    assert all(route[-2:] == ["congctl", "cubic"] for route in routes)


def test_both_ends_of_a_link_send_at_the_rate_and_one_of_them_late():
    commands = cluster_network.node_commands(NODE, "uni-pocket", NETWORK, Link(10**9, 50))
    shaped = [command for command in commands if command[0] == "tc"]
    classes = [command for command in shaped if "class" in command]
    assert [command[: command.index("class")] for command in classes] == [
        ["tc"],
        ["tc", "-n", "unisono-pocket1"],
    ]
    assert all("1000000000bit" in command for command in classes)
    assert [command for command in shaped if "netem" in command] == [
        "tc -n unisono-pocket1 qdisc add dev uni-pocket parent 1:1 handle 10: netem delay 50us"
        " limit 100000".split()
    ]


def test_every_name_fits_an_interface():
    nodes = cluster._name_nodes("abcdefgh", 64, NETWORK)
    assert max(len(node.port) for node in nodes) <= 15
    assert len({node.address for node in nodes} | {cluster_network.gateway_of(NETWORK)}) == 65


# ---- launchers -----------------------------------------------------------------------------------


def launch(family, line):
    """The words that follow the cluster's own options."""
    command = cluster_launch.launch_command(SITE, family, "mpiexec", line.split())
    return " ".join(command)


@pytest.mark.parametrize(
    ("ranks", "hosts"), [(3, "a:1,b:1,c:1"), (6, "a:2,b:2,c:2"), (7, "a:3,b:3,c:3")]
)
def test_ranks_are_in_blocks_unless_told_otherwise(ranks, hosts):
    assert f"-hosts {hosts} -n {ranks} /records/rank true" in launch(HYDRA, f"-n {ranks} true")
    assert f"--host {hosts} -n {ranks} /records/rank true" in launch(OPEN_MPI, f"-n {ranks} true")


def test_the_user_may_say_how_many_ranks_a_node_gets():
    assert "-hosts a,b,c -n 6 -ppn 1" in launch(HYDRA, "-n 6 -ppn 1 true")
    assert "--host a,b,c --map-by ppr:1:node" in launch(OPEN_MPI, "--map-by ppr:1:node -n 3 true")


def test_the_user_may_say_which_nodes():
    assert "-hosts b -n 2 " in launch(HYDRA, "-hosts b -n 2 true")
    assert "a:1" not in launch(HYDRA, "-hosts b -n 2 true")
    assert "--host b:2" in launch(OPEN_MPI, "--host b:2 -n 2 true")
    assert "a:1" not in launch(OPEN_MPI, "--host b:2 -n 2 true")


def test_all_programs_of_a_job_are_counted_and_wrapped():
    assert launch(HYDRA, "-n 2 true : -n=4 false").endswith(
        "-hosts a:2,b:2,c:2 -n 2 /records/rank true : -n=4 /records/rank false"
    )


def test_the_wrapper_stands_behind_what_preloads():
    line = "-n 3 env LD_PRELOAD=engine.so UNISONO_REPORT=json true"
    assert launch(HYDRA, line).endswith(
        "env LD_PRELOAD=engine.so UNISONO_REPORT=json /records/rank true"
    )


def test_without_a_program_the_launcher_is_left_alone():
    assert launch(HYDRA, "--version") == "mpiexec --version"


def test_files_of_programs_and_other_launchers_are_refused():
    with pytest.raises(Failure, match="not in a file"):
        launch(HYDRA, "-configfile programs")
    with pytest.raises(Failure, match="MPICH and Open MPI only"):
        launch(SLURM, "-n 2 true")


# ---- records -------------------------------------------------------------------------------------


@pytest.fixture
def record(tmp_path, monkeypatch):
    """A cluster that is in the records, and has nothing else."""
    monkeypatch.setattr(cluster, "_RECORDS", tmp_path / "records")
    made = cluster.Cluster("mine", str(NETWORK), Link(10**9), 60, [NODE], {NODE.namespace: 7})
    made.folder.mkdir(parents=True)
    cluster._save(made)
    return made


def test_a_record_comes_back_as_it_was(record):
    assert cluster.names() == ["mine"]
    assert cluster.find("mine") == record


def test_launchers_of_a_cluster_come_first_on_the_path(record):
    path = record.environment()["PATH"]
    assert path == f"{record.launchers}{os.pathsep}{os.environ['PATH']}"


def test_a_launch_has_a_time_limit_and_is_not_the_clusters_own(record, executable, monkeypatch):
    real = executable("real/mpiexec.mpich")
    executable("records/mine/bin/mpiexec.mpich")
    monkeypatch.setenv("PATH", f"{record.launchers}{os.pathsep}{real.parent}")
    command = record.launch_command("mpiexec.mpich", ["--version"])
    assert command == [*"timeout --foreground --kill-after=10 60".split(), str(real), "--version"]


def test_what_has_a_clusters_name_and_another_identity_is_not_its_own():
    made = {"recorded": 7, "crashed": None}
    assert cluster._is_own(lambda name: 7, made, "recorded")
    assert not cluster._is_own(lambda name: 8, made, "recorded")
    assert cluster._is_own(lambda name: 8, made, "crashed")
    assert not cluster._is_own(lambda name: None, made, "crashed")


def test_names_that_do_not_fit_are_refused(record):
    for name in ("", "Mine", "../../etc", "ninechars", "1st"):
        with pytest.raises(Failure, match="up to 8 of a-z and 0-9"):
            cluster.find(name)


def test_a_cluster_that_is_not_up_is_named(unisono):
    done = unisono("cluster", "run", "--name", "nosuch", "--", "true")
    assert done.returncode == 2
    assert "no cluster 'nosuch' is up; 'unisono cluster up' makes one" in done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be two users")
@pytest.mark.parametrize("words", [["status"], ["status", "--json"], ["run", "--", "true"], ["up"], ["down"]])
def test_who_is_not_root_is_told_so(unisono, words):
    """`status` of a cluster that was up ended in a traceback, and ranks without a reason."""
    done = unisono("cluster", *words, user=65534)
    assert (done.returncode, done.stderr) == (
        2, "unisono: a pocket cluster needs root: its nodes are network namespaces\n")  # fmt: skip


def test_only_root_can_make_one(monkeypatch):
    monkeypatch.setattr(cluster.os, "geteuid", lambda: 1000)
    with pytest.raises(Failure, match="needs root"):
        cluster.up()


def test_missing_tools_are_named_with_their_package(monkeypatch):
    monkeypatch.setattr(cluster.os, "geteuid", lambda: 0)
    monkeypatch.setattr(cluster.shutil, "which", lambda tool: None if tool == "tc" else tool)
    with pytest.raises(Failure, match=r"tc is missing \(Debian: iproute2\)"):
        cluster.up()


@pytest.mark.parametrize(("name", "option"), [(cluster.DEFAULT_NAME, ""), ("other", "--name other ")])
def test_up_says_how_to_run_on_the_cluster_that_it_made(monkeypatch, name, option):
    made = SimpleNamespace(name=name, nodes=[SimpleNamespace(host=f"{name}{number}") for number in range(2)])
    monkeypatch.setattr(cluster, "up", lambda **_: made)
    said = CliRunner().invoke(up_command, ["--name", name, "--nodes", "2"]).output
    assert f"2 nodes, {name}0 to {name}1; 'unisono cluster run {option}-- mpiexec" in said
