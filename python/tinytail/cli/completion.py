"""The command `tinytail completion`."""

from __future__ import annotations

import sys
from typing import Literal

from tinytail.cli.codes import OK


def completion(shell: Literal["bash", "zsh", "fish"], /) -> int:
    """Print the script that completes tinytail's commands, options and names.

    In bash, `source <(tinytail completion bash)`; for every shell to come, put that line into
    ~/.bashrc. In zsh likewise. In fish, `tinytail completion fish | source`.

    Parameters
    ----------
    shell
        The shell that the script is for.
    """
    from tinytail.cli.app import app

    sys.stdout.write(app.generate_completion(shell=shell))
    return OK
