"""What holds for all tests."""

import signal

# a shell that runs this in the background has SIGINT ignored, and processes inherit that: the tests that send Ctrl-C to theirs would
# wait for ever
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
