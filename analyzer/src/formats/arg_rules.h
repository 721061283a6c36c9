// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lacuna/prof/events.h"

namespace lacuna::analyzer {

/// Which column an argument of a Kineto event merely repeats. Such an argument is kept as a line of
/// the event's shape and written again from the column, so it costs nothing. None for all others,
/// which are kept in table arg.
enum class ArgRule : std::uint8_t {
  None,
  Correlation,
  Device,
  Stream,
  Bytes,
  SignedBytes,
  Address,
  Registers,
  SharedBytes,
  Grid,
  Block,
  Bandwidth,
  BlocksPerSm,
  WarpsPerSm,
  Payload,
  Text,
  Name,
  EventId,
  GraphId,
  GraphNodeId,
};

/// The kinds of rows that have arguments.
enum class ArgTable : std::uint8_t {
  Range,
  Mark,
  ApiCall,
  Kernel,
  Memcpy,
  Memset,
  Sync,
  Allocation,
  Flow,
  Overhead
};
inline constexpr std::size_t kArgTables = 10;

ArgRule argRule(ArgTable table, std::string_view key);

/// The part of a row that the rules read.
struct ArgSource {
  std::uint64_t correlation = 0;
  std::uint32_t deviceIndex = 0;
  std::uint32_t multiprocessors = 0;
  std::uint64_t stream = 0;
  std::uint64_t bytes = 0;
  bool freed = false;
  std::uint64_t address = 0;
  std::uint32_t registers = 0;
  std::uint64_t sharedBytes = 0;
  std::uint32_t grid[3] = {};
  std::uint32_t block[3] = {};
  std::int64_t durNs = 0;
  std::uint64_t payload = 0;
  std::uint64_t eventId = 0;
  std::uint32_t graphId = 0;
  std::uint64_t graphNodeId = 0;
  std::string_view text;
  std::string_view name;
};

/// Appends the argument's value as JSON.
void renderArg(ArgRule rule, const ArgSource& source, std::string& out);

/// The lines of a shape start with one of these (see table arg_set).
inline constexpr char kShapeStored = '+';    ///< an argument in table arg
inline constexpr char kShapeRepeated = '=';  ///< an argument that its rule renders
inline constexpr char kShapeField = '.';     ///< a field of the event, in table arg
inline constexpr char kShapeConstant = '!';  ///< a field of the event with its value: !bp="e"
inline constexpr char kShapeFlow =
    '~';  ///< a flow point at the event's start: ~f|category|name|!bp="e"
inline constexpr std::string_view kShapeNoArgs =
    "{}";  ///< the event has an empty list of arguments

}  // namespace lacuna::analyzer
