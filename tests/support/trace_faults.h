// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "lacuna/analyzer/analysis.h"

namespace lacuna::test {

/// Empty where `text` is one valid JSON text, else why not.
std::string jsonFault(std::string_view text);

/// Sends a trace through everything that a user can ask of it: analysis, every section, JSON, page,
/// a diff with itself, every kind of change, queries, the timeline. Answers the first thing that is
/// wrong, or nothing. A refusal with words is not wrong.
std::string faultOf(const std::shared_ptr<const analyzer::Store>& store);

/// The same of any file, and of every format it can be written as: those that are traces open
/// again, those that are JSON are valid. Writes into `folder`, and leaves nothing there. With a
/// number, of only one format, which that picks: fuzzers try many files rather than one file in all
/// ways.
std::string faultOfFile(const std::filesystem::path& path, const std::filesystem::path& folder,
                        std::optional<std::size_t> one = {});

}  // namespace lacuna::test
