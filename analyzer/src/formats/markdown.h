// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace lacuna::analyzer {

/// An item of a list in Markdown, in lines of at most 120 characters, each with its newline.
/// `depth` is 0 for an item of the outer list, 1 for one of a list within that.
std::string markdownItem(std::string_view text, int depth = 0);

}  // namespace lacuna::analyzer
