// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace lacuna::collector::python {

/// The name under which a file of Python code is imported. For a file of an installed package or of
/// Python's own library it is like "numpy.core.fromnumeric". For a file of the program it is the
/// file's name without its ending.
std::string moduleOf(std::string_view file);

}  // namespace lacuna::collector::python
