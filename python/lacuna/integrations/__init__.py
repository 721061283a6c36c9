# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""For training libraries: callbacks, each in a module of its own, which imports its library:

    from lacuna.integrations.transformers import LacunaCallback
    from lacuna.integrations.lightning import LacunaCallback, LacunaProfiler

and LacunaPlugin of lacuna.integrations.ray, which Ray imports.
"""
