"""`python -m tinytail` is the command `tinytail`."""

import sys

from tinytail.cli.main import main

sys.exit(main())
