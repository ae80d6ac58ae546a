"""``python -m prunemodels``."""

import sys

from prunemodels.cli import main

sys.exit(main())
