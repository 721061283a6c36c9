// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

/// Texts in columns of a terminal.
namespace lacuna::analyzer {

/// Terminal columns of UTF-8 text, as all that is printed here is one column wide, and switching colours none.
int columns(std::string_view text);
/// At most `width` columns on one line, with … where something is left out. Not of styled text.
std::string shortened(std::string_view name, int width);
std::string padded(std::string_view text, int width);
/// Names in the rows of a table, each padded. Where names begin alike and do not fit, most of their common part is left
/// out: "vectorized…CUDAFunctor_add<float>, …".
std::vector<std::string> paddedNames(const std::vector<std::string_view>& names, int width);

}  // namespace lacuna::analyzer
