# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Pseudo-terminals for tests of what a command prints in one."""

import fcntl
import os
import struct
import termios


def opened(rows, columns):
    """Our end of a terminal of that size, and the program's."""
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    return ours, theirs


def all_from(ours):
    """What programs write until the last of them has closed the terminal. Closes our end."""
    written = b""
    while True:
        try:
            part = os.read(ours, 1 << 16)
        except OSError:  # Linux: nobody holds the other end
            part = b""
        if not part:
            break
        written += part
    os.close(ours)
    return written
