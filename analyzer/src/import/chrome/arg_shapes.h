// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "formats/arg_rules.h"
#include "import/chrome/chrome_texts.h"
#include "import/chrome/json_walker.h"

namespace lacuna::analyzer {

/// Values of one argument name over many events.
struct ArgStream {
  struct Value {
    std::uint32_t set = 0;
    prof::ArgType type = prof::ArgType::Null;
    std::uint64_t bits = 0;
  };
  prof::ArgScope scope = prof::ArgScope::Argument;
  prof::StringId key;
  std::vector<Value> values;
};

/// The arguments of events: sets of values, and the shape of each set, which names them in order.
/// An argument that a column of the row repeats is a line of the shape and has no value. Shapes
/// form a tree that grows with the events. For each event: begin(), what the rules read of its row
/// into `source`, addField(), and last keep() or keepEnd().
class ArgShapes {
 public:
  ArgShapes(StringPool& strings, ChromeTexts& texts);

  void begin();
  /// Keeps a field of the event beside its arguments. Both texts must live until keep().
  void addField(std::string_view key, std::string_view value) { extras_.push_back({key, value}); }
  prof::ArgSetId keep(ArgTable table, const RawEvent& event);
  /// The arguments of a range's end, whose other fields repeat those of its begin.
  prof::ArgSetId keepEnd(const RawEvent& event);
  /// Forgets sets and values; shapes and streams stay.
  void clearRows();

  ArgSource source;  ///< of the event at hand
  std::vector<ArgStream> streams;
  prof::ArgSet::Columns sets;

 private:
  struct Edge {
    /// kShapeField and kShapeConstant edges have one child, arguments one for each of stored and
    /// repeated.
    char mode = 0;
    std::string key;
    ArgRule rule = ArgRule::None;
    std::uint32_t stream = 0;
    std::array<std::uint32_t, 2> child{};
  };
  struct Node {
    std::uint32_t last = 0;
    std::vector<Edge> edges;
    std::unordered_map<std::string, std::uint32_t>
        many;  ///< edges by mode and key, where they are many
    std::uint32_t parent = 0;
    std::string line;  ///< how a set of arguments goes on from the parent's; empty where it begins
    prof::StringId text;  ///< all lines, once a set has ended here
  };
  struct Extra {
    std::string_view key, value;
  };

  bool repeats(ArgRule rule, std::string_view token);
  void store(std::uint32_t stream, std::string_view token);
  std::uint32_t step(std::uint32_t node, char mode, std::string_view key, ArgTable table,
                     std::string_view value);
  Edge& edgeFor(std::uint32_t node, char mode, std::string_view key, ArgTable table);
  std::uint32_t streamFor(prof::ArgScope scope, std::string_view key);
  [[nodiscard]] std::string linesTo(std::uint32_t node) const;
  prof::ArgSetId setOf(std::uint32_t node);

  StringPool& strings_;
  ChromeTexts& texts_;
  std::vector<Node> nodes_;
  std::map<std::pair<prof::ArgScope, std::string>, std::uint32_t, std::less<>> streamNumbers_;
  std::vector<Extra> extras_;
  std::string scratch_;
};

}  // namespace lacuna::analyzer
