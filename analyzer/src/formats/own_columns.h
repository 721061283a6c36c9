// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <type_traits>

#include "lacuna/prof/events.h"

namespace lacuna::analyzer {

/// The argument in which Chrome JSON of ours holds the columns of an event that Kineto has no words
/// for, by their names.
inline constexpr std::string_view kOwnArgument = "lacuna";
/// The name there of a segment that the caching allocator takes or gives back; readers of
/// "[memory]" would take it for a tensor's.
inline constexpr std::string_view kReservedMemory = "[reserved memory]";

/// The makers of the rows of the allocation table that stand for no event of their own, but for the
/// totals that PyTorch's events carry. A file that has those events has the totals, too.
inline constexpr std::string_view kHeldBefore = "held before the recording";
inline constexpr std::string_view kReservedTotal = "Total Reserved";

/// The queues whose executions, and the call whose launches, are operators and ranges that have
/// events of their own.
inline constexpr std::string_view kOperatorQueue = "outermost operators";
inline constexpr std::string_view kCollectiveQueue = "collectives of the host";
inline constexpr std::string_view kOperatorCall = "operator call";

/// The metadata event that gives the rank of a process, where the file's own distributedInfo does
/// not: that is about one rank.
inline constexpr std::string_view kRankEvent = "lacuna_rank";

/// The metadata events for facts about a process and a thread of ours that Kineto has no words for.
/// These are its parent, its begin and end, its command line and its exit code.
inline constexpr std::string_view kLifeOfProcess = "lacuna_process";
inline constexpr std::string_view kLifeOfThread = "lacuna_thread";

/// Those columns of a table.
template <class Row>
constexpr std::string_view ownColumns() {
  using namespace prof;
  if constexpr (std::is_same_v<Row, Range>)
    return " domain text kind payloadType flags colour payload ";
  if constexpr (std::is_same_v<Row, Mark>) return " domain text payloadType colour payload ";
  if constexpr (std::is_same_v<Row, ApiCall>) return " kind returnCode ";
  if constexpr (std::is_same_v<Row, Kernel>)
    return " dynamicSharedBytes graphId graphNodeId flags ";
  if constexpr (std::is_same_v<Row, Memcpy>)
    return " copyKind sourceKind targetKind flags graphId graphNodeId ";
  if constexpr (std::is_same_v<Row, Memset>) return " value memoryKind flags graphId graphNodeId ";
  if constexpr (std::is_same_v<Row, Sync>) return " kind ";
  if constexpr (std::is_same_v<Row, Allocation>) return " sequence action role tensor op ";
  return "";
}

template <class Row>
constexpr bool isOwnColumn(std::string_view column) {
  const std::string_view all = ownColumns<Row>();
  for (std::size_t at = all.find(column); at != std::string_view::npos;
       at = all.find(column, at + 1)) {
    if (at > 0 && all[at - 1] == ' ' && all[at + column.size()] == ' ') return true;
  }
  return false;
}

/// Calls visit(value, name) for each of them.
template <class Row, class Visit>
void forEachOwnColumn(Row& row, Visit&& visit) {
  using Plain = std::remove_const_t<Row>;
  Plain::forEachMember([&]<auto Member>() {
    constexpr std::string_view kName = Plain::columns()[prof::columnIndex<Member>()].name;
    if constexpr (isOwnColumn<Plain>(kName)) visit(row.*Member, kName);
  });
}

}  // namespace lacuna::analyzer
