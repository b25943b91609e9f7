"""What holds for all tests.

Properties are tried on the same examples each time, however long these take: what is said of a change is no matter of
luck, nor of the machine. ``--hypothesis-profile=default`` looks for new examples.
"""

import signal

from hypothesis import HealthCheck, settings

settings.register_profile("steady", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("steady")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # So it is for what a shell runs in the background, and would be for all processes that tests start.
    signal.signal(signal.SIGINT, signal.default_int_handler)
