// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace lacuna::collector::python {

/// The name under which a file of Python code is imported: "numpy.core.fromnumeric" for a file of an installed package
/// or of Python's own library, the file's name without its ending for one of the program.
std::string moduleOf(std::string_view file);

}  // namespace lacuna::collector::python
