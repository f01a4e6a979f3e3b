"""The exception for mistakes that a user can correct, and the usual way to raise it."""


class RlgoError(Exception):
    """Bad input, described in one line that names the value and what was expected.

    The command line prints it as ``rlgo: error: <line>`` and exits with status 2; GTP as ``? <line>``.
    """


def expect(holds: bool, name: str, value: object, expected: str) -> None:
    """Raise `RlgoError` with ``name = value: expected ...`` unless `holds`."""
    if not holds:
        raise RlgoError(f"{name} = {value}: expected {expected}")
