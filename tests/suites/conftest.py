"""Prints at the end what test_suites.py has seen."""


def pytest_terminal_summary(terminalreporter):
    terminalreporter.section("Unisono under others' tests")
    for report in terminalreporter.getreports("passed") + terminalreporter.getreports("failed"):
        name = report.nodeid.partition("[")[2].rstrip("]")
        terminalreporter.write_line(f"{name}: {dict(report.user_properties).get('seen', 'FAILED')}")
