// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace lacuna::cli {

/// The words that may stand in the place of the last of `words`, which is typed in part. `words`
/// are those after `lacuna`. Empty where files may stand, or anything.
std::vector<std::string> completions(const CLI::App& app, std::span<const std::string> words);

/// "lcn, chrome" as its words.
std::vector<std::string> wordsOf(std::string_view list);

}  // namespace lacuna::cli
