# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
import importlib.util


class PyCodeCache:
    modules = []

    @classmethod
    def load_by_key_path(cls, key, path):
        spec = importlib.util.spec_from_file_location(key, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        cls.modules.append(module)
        return module
