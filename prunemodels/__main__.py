"""``python -m prunemodels``."""

import sys

from prunemodels.command_line.cli import main

sys.exit(main())
