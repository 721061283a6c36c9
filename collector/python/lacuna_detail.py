# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Which steps of a training are recorded in detail. In a plain step operators, modules and allocations are not watched:
they are most of the events, and most of what recording costs. All else is recorded, and all of what lies between steps.

Plain steps also show how long a step takes without these events. So the report knows their cost, and need not estimate
it."""

import functools

FIRST = 40  # steps in detail: the warm-up, and enough behind it, one after the other, for a replay
EVERY = 400  # steps; of each such stretch behind the first steps
AGAIN = 20  # the last ones are in detail, a twentieth


def is_plain(index):
    """By its number alone, so that the same steps of all ranks and of two runs are plain."""
    return index >= FIRST and (index - FIRST) % EVERY < EVERY - AGAIN


class Detail:
    """Switches the watchers off where a plain step begins, and on again where it ends."""

    def __init__(self, emitter):
        self.emitter = emitter
        self.plain = False

    def step_begins(self, index):
        self.plain = is_plain(index)
        if self.plain:
            self.emitter.detail(0)
        return self.plain

    def watch_evaluations(self, module):
        """An evaluation may begin in a plain step: a batch is asked for, opens the step, and does not come. The evaluation
        is recorded in detail, with what follows in that step."""
        original = module.train

        @functools.wraps(original)
        def train(model, mode=True):
            if not mode:
                self.step_ends()
            return original(model, mode)

        module.train = train

    def step_ends(self):
        if not self.plain:
            return
        self.plain = False
        self.emitter.detail(1)
