"""The one exception for mistakes that a person can mend."""


class RlgoError(Exception):
    """Bad input: one clear line that names the thing and what was expected.

    The command line prints it as ``rlgo: error: <line>`` and exits with status 2; GTP as ``? <line>``.
    """
