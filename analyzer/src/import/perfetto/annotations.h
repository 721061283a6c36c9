// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "formats/proto_wire.h"
#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {

/// Turns the debug annotations of events into sets of arguments; lists and dictionaries become
/// JSON.
class PerfettoAnnotations {
 public:
  /// Texts that annotations refer to by number, of one sequence of packets.
  struct Interned {
    std::unordered_map<std::uint64_t, prof::StringId> names, texts;
  };

  explicit PerfettoAnnotations(StoreBuilder& builder) : builder_(builder) {}

  /// The set of an event's annotations, 0 where none is readable.
  prof::ArgSetId add(const std::vector<std::string_view>& annotations, const Interned& interned);
  /// Annotations so far whose name or value was not read.
  [[nodiscard]] std::uint64_t unread() const { return unread_; }

 private:
  bool addArg(std::string_view annotation, const Interned& interned, prof::ArgSetId set,
              std::string& shape);
  void takeName(const proto::Field& field, const Interned& interned, prof::Arg& arg);
  void takeValue(const proto::Field& field, const Interned& interned, prof::Arg& arg,
                 std::string& json);
  void setText(prof::Arg& arg, std::string_view value, prof::ArgType type);
  void appendToShape(std::string& shape, prof::StringId key) const;
  bool annotationJson(std::string_view annotation, const Interned& interned, std::string& out,
                      int depth, std::string* key = nullptr) const;
  bool leafJson(const proto::Field& field, const Interned& interned, int depth,
                std::string& leaf) const;

  StoreBuilder& builder_;
  std::uint32_t sets_ = 0;
  std::uint64_t unread_ = 0;
};

}  // namespace lacuna::analyzer
