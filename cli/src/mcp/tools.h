// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lacuna/prof/result.h"
#include "mcp/message.h"

namespace lacuna::cli::mcp {

/// An argument that a tool takes.
struct Parameter {
  enum class Kind : std::uint8_t { Text, Texts, Number };
  std::string_view name;
  Kind kind = Kind::Text;
  bool isRequired = false;
  std::string about;
  std::vector<std::string> values = {};  ///< all that there are; empty: any
  std::int64_t least = 0, most = 0;      ///< of Number
};

struct Tool {
  std::string_view name;
  std::string_view title;
  std::string about;
  std::vector<Parameter> parameters;
  std::string_view askForLess;  ///< the way to a shorter answer, behind "left out; "
  /// The command line that answers a call, without the program. The arguments are checked. `limit`
  /// is the time that the call has; 0: any.
  std::vector<std::string> (*words)(const Arguments& arguments,
                                    std::chrono::milliseconds limit) = nullptr;
  /// Answers a call that reads no file, in the place of a command.
  prof::Result<std::string> (*text)(const Arguments& arguments) = nullptr;
};

/// In the order of `tools/list`.
std::span<const Tool> allTools();
/// Null where there is none.
const Tool* findTool(std::string_view name);
/// The member "tools" of a result.
std::string toolList();

/// Fails in words where an argument is missing, unknown, or of another kind than the tool takes.
prof::Status checkArguments(const Tool& tool, const Arguments& arguments);

}  // namespace lacuna::cli::mcp
