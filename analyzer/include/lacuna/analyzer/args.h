// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {

/// The arguments of events that have no column of their own (tables arg_set and arg), found by event and name: what the
/// source of a trace called "Collective name", "In msg nelems" and so on. An argument that only repeats a column (see
/// the shape) is not here. Keep the store; safe for many threads.
class Args {
 public:
  struct Value {
    prof::ArgType type = prof::ArgType::Null;
    std::uint64_t bits = 0;
  };

  explicit Args(const Store& store);

  /// The value of an argument of the event whose args column is `set`.
  [[nodiscard]] std::optional<Value> find(prof::ArgSetId set, prof::StringId key,
                                          prof::ArgScope scope = prof::ArgScope::Argument) const;
  [[nodiscard]] std::optional<Value> find(prof::ArgSetId set, std::string_view key) const {
    const prof::StringId id = store_.find(key);
    // A text that the trace does not have finds the number of the empty one.
    return id || key.empty() ? find(set, id) : std::nullopt;
  }
  /// The same as a text (as JSON text for lists and objects), or as a whole number; empty when it is of another type.
  [[nodiscard]] std::optional<std::string_view> text(prof::ArgSetId set, std::string_view key) const;
  [[nodiscard]] std::optional<std::int64_t> integer(prof::ArgSetId set, std::string_view key) const;
  /// Names and order of all arguments of an event, as table arg_set describes them.
  [[nodiscard]] prof::StringId shape(prof::ArgSetId set) const;

  /// Appends a value as JSON; NaN and the infinities, which JSON does not have, as the texts "NaN", "Infinity" and
  /// "-Infinity".
  void appendJson(const Value& value, std::string& out) const;

 private:
  struct Run {
    std::size_t begin = 0, end = 0;
  };
  /// Rows of one key. Where files list their arguments event by event there are many runs, one behind the other.
  struct Runs {
    std::vector<Run> list;
    bool isAscending = true;
  };
  [[nodiscard]] std::optional<Value> findIn(const Run& run, prof::ArgSetId set) const;

  const Store& store_;
  std::span<const prof::ArgSetId> sets_, ids_;
  std::span<const prof::ArgType> types_;
  std::span<const std::uint64_t> values_;
  std::span<const prof::StringId> shapes_;
  std::map<std::pair<prof::ArgScope, prof::StringId>, Runs> runs_;
};

}  // namespace lacuna::analyzer
