"""What holds for all tests."""

import signal

# a shell that runs this in the background has SIGINT ignored, and processes inherit that; tests send Ctrl-C to theirs
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
