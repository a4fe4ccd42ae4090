"""Prints at the end what test_ceph.py has seen."""


def pytest_terminal_summary(terminalreporter):
    terminalreporter.section("Unisono on CephFS")
    for report in terminalreporter.getreports("passed"):
        terminalreporter.write_line(dict(report.user_properties)["seen"])
