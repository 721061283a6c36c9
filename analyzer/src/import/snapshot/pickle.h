// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "import/byte_source.h"
#include "store/string_pool.h"

namespace lacuna::analyzer {

/// The content of a Python pickle, as far as it is plain: None, truth values, numbers, texts,
/// bytes, lists, tuples, sets and dictionaries. Nothing is executed: a pickle that names a class or
/// a function is refused. Memory is bounded by the pickle's size; parts that it uses twice are kept
/// once (so values may contain themselves).
class Pickle {
 public:
  enum class Type : std::uint8_t { None, Bool, Integer, Real, Text, Bytes, List, Dict };
  /// A value's number; values stay where they are.
  using Ref = std::uint32_t;

  /// Fails on anything but a plain pickle of protocols 2 to 5, naming the opcode and its byte, and
  /// on one of more than `mostValues` values and references to them.
  static prof::Result<Pickle> read(ByteSource& source, std::uint64_t mostValues,
                                   const std::function<bool()>& goOn = {});

  [[nodiscard]] Ref root() const { return root_; }
  [[nodiscard]] Type type(Ref value) const { return values_[value].type; }
  /// 0 for what is no number.
  [[nodiscard]] std::int64_t integer(Ref value) const;
  [[nodiscard]] double real(Ref value) const;
  [[nodiscard]] std::string_view text(Ref value) const;
  /// The same number for the same text; 0 for what is no text, or an empty one.
  [[nodiscard]] std::uint32_t textNumber(Ref value) const;
  /// The items of a list, tuple or set; keys and values in turn of a dictionary; nothing of all
  /// others.
  [[nodiscard]] const std::vector<Ref>& items(Ref value) const;
  /// The value of a dictionary's key (the last one given). A large dictionary is indexed when it is
  /// first asked. One thread at a time.
  [[nodiscard]] std::optional<Ref> find(Ref dictionary, std::string_view key) const;
  [[nodiscard]] std::size_t size() const { return values_.size(); }

 private:
  friend class PickleReader;
  struct Value {
    Type type = Type::None;
    std::uint64_t bits = 0;  ///< a number, a text's id, or where the items are
  };
  /// The place of the items of a container that has none.
  static constexpr std::uint64_t kNoItems = UINT64_MAX;

  StringPool texts_;
  std::vector<Value> values_;
  std::vector<std::vector<Ref>> items_;
  /// Indexes of large dictionaries, by their items' place: values by the number of their key.
  mutable std::unordered_map<std::uint64_t, std::unordered_map<std::uint64_t, Ref>> indexes_;
  Ref root_ = 0;
};

}  // namespace lacuna::analyzer
