# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
import contextlib


class Handler:
    def __init__(self):
        self.start_callbacks, self.end_callbacks = [], []

    def run_start_callbacks(self, arguments):
        for callback in self.start_callbacks:
            callback(arguments)

    def run_end_callbacks(self, arguments):
        for callback in self.end_callbacks:
            callback(arguments)

    @contextlib.contextmanager
    def install_callbacks(self, trigger, number):
        self.run_start_callbacks((trigger, number))
        try:
            yield
        finally:
            self.run_end_callbacks((trigger, number))

    def clear(self):
        self.start_callbacks.clear()
        self.end_callbacks.clear()


callback_handler = Handler()
