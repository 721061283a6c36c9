# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Records the workers of Ray, of Ray Train, too. The machines of the cluster know the plug-in by a variable, which they
have when Ray starts there:

    export RAY_RUNTIME_ENV_PLUGINS='[{"class": "lacuna.integrations.ray.LacunaPlugin"}]'

and a job asks for it:

    ray.init(runtime_env={"lacuna": "/shared/traces"})
"""

from __future__ import annotations

import os
import shlex
from typing import Any

from ray._private.runtime_env.plugin import RuntimeEnvPlugin

from .. import _program


class LacunaPlugin(RuntimeEnvPlugin):  # type: ignore[misc]
    """Puts `lacuna run` in front of each worker's Python. The entry of a runtime_env is a folder for the traces, or
    {"folder": …, "options": […]} with options of `lacuna run`. A trace is named by machine and process."""

    name = "lacuna"

    @staticmethod
    def validate(runtime_env_dict: dict[str, Any]) -> None:
        LacunaPlugin._read(runtime_env_dict["lacuna"])

    @staticmethod
    def _read(entry: Any) -> tuple[str, list[str]]:
        if isinstance(entry, str):
            entry = {"folder": entry}
        known = isinstance(entry, dict) and set(entry) <= {"folder", "options"}
        folder = entry.get("folder") if known else None
        options = entry.get("options", []) if known else None
        if not isinstance(folder, str) or not os.path.isabs(folder):
            raise ValueError('runtime_env: "lacuna" names no folder. Remedy: "lacuna": "/shared/traces", an absolute path')
        if not isinstance(options, list) or not all(isinstance(option, str) for option in options):
            raise ValueError('runtime_env: "options" of "lacuna" is no list of texts. Remedy: "options": ["--duration", "1m"]')
        return folder, options

    async def create(self, uri: str | None, runtime_env: Any, context: Any, logger: Any) -> int:
        os.makedirs(self._read(runtime_env["lacuna"])[0], exist_ok=True)
        return 0

    def modify_context(self, uris: list[str], runtime_env: Any, context: Any, logger: Any) -> None:
        """A worker's command is a line for bash, which this begins; $$ is the number of the process."""
        folder, options = self._read(runtime_env["lacuna"])
        words = [str(_program.program()), "run", "-q", *options]
        trace = f'{shlex.quote(folder + os.sep)}"$HOSTNAME"-$$.lcn'
        context.py_executable = f"{shlex.join(words)} -o {trace} -- {context.py_executable}"
