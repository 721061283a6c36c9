// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "python/layout.h"
#include "python/memory.h"

namespace lacuna::collector::python {

/// A number for a function of a file, the same for all processes.
using NumberOf = std::function<std::uint32_t(const std::string& function, const std::string& file)>;

/// A code object, as it was when its texts were read.
class Code {
 public:
  [[nodiscard]] std::uint32_t number() const { return number_; }
  /// True when an instruction can be `offset` bytes after the first one.
  [[nodiscard]] bool holds(std::int64_t offset) const;
  /// 0 where it has none.
  std::uint32_t lineAt(LineTable kind, std::int64_t offset);

 private:
  friend class CodeCache;
  /// The fields that distinguish this code object from another that comes to lie at its address.
  struct Identity {
    std::uint64_t file = 0, name = 0, table = 0, units = 0;
    std::int32_t firstLine = 0;
    friend bool operator==(const Identity&, const Identity&) = default;
  };
  Identity identity_;
  std::uint32_t number_ = 0;
  std::vector<std::byte> table_;
  std::unordered_map<std::int64_t, std::uint32_t> lines_;
};

/// The code objects of one process, by address. Each is read once and used as long as the object
/// there is the same.
class CodeCache {
 public:
  /// `layout` and `memory` outlive it.
  CodeCache(const Layout& layout, Memory& memory, NumberOf numberOf)
      : layout_(layout), memory_(memory), numberOf_(std::move(numberOf)) {}
  /// The code at `address`, of whose object `head` holds the first code.size bytes; null where that
  /// is no code object. Valid until the next call.
  Code* at(std::uint64_t address, std::span<const std::byte> head);
  /// The code that at() found there last, or null.
  Code* known(std::uint64_t address);
  [[nodiscard]] std::size_t size() const { return codes_.size(); }

 private:
  std::optional<Code> load(const Code::Identity& identity);

  const Layout& layout_;
  Memory& memory_;
  NumberOf numberOf_;
  std::unordered_map<std::uint64_t, Code> codes_;
  std::size_t bytes_ = 0;  ///< of tables
};

}  // namespace lacuna::collector::python
