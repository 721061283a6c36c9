// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "lacuna/prof/result.h"

namespace lacuna::cli::mcp {

/// Every table that SQL can read, a line each with the names of its columns.
std::string tableListText();
/// A table with the type and the meaning of each column; fails where there is none of that name.
prof::Result<std::string> tableText(std::string_view name);

}  // namespace lacuna::cli::mcp
