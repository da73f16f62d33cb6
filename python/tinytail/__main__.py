"""`python -m tinytail` is the command `tinytail`."""

import sys

from tinytail.cli import main

sys.exit(main())
