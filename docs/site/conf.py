# SPDX-FileCopyrightText: The Lacuna authors
# SPDX-License-Identifier: Apache-2.0
"""Settings of Sphinx for scripts/docs."""

project = "Lacuna"
author = "The Lacuna authors"
extensions = ["myst_parser"]
root_doc = "index"
exclude_patterns = []

# Anchors as viewers of the repository make them.
myst_heading_anchors = 6
# Examples are shortened ("…"), which no lexer knows.
suppress_warnings = ["misc.highlighting_failure"]
highlight_language = "none"

html_theme = "furo"
html_title = "Lacuna"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_copyright = False
html_show_sphinx = False
html_theme_options = {"footer_icons": []}
