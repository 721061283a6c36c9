# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""`python -m lacuna …` is `lacuna …`."""

import os
import sys

from ._program import Error, program


def main():
    try:
        command = program()
        os.execv(command, [str(command), *sys.argv[1:]])
    except (Error, OSError) as error:
        sys.exit(f"lacuna: error: {error}")


main()
