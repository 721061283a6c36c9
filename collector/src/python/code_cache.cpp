// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "python/code_cache.h"

#include <cstring>
#include <utility>

#include "python/line_table.h"
#include "python/objects.h"

namespace lacuna::collector::python {
namespace {

/// Large programs have some ten thousand functions. Beyond that everything is forgotten and read
/// again.
constexpr std::size_t kMostCodes = 1 << 16;
constexpr std::size_t kMostTableBytes = std::size_t{1} << 20;
constexpr std::size_t kMostBytes = std::size_t{64} << 20;
constexpr std::size_t kMostLines = 1 << 12;
constexpr std::size_t kMostFileCharacters = 4096;
constexpr std::size_t kMostNameCharacters = 512;
/// An instruction that has not begun yet is in front of the first one.
constexpr std::int64_t kBefore = -2;

template <class T>
T takeAt(std::span<const std::byte> from, std::size_t offset) {
  T value{};
  std::memcpy(&value, from.data() + offset, sizeof value);
  return value;
}

}  // namespace

bool Code::holds(std::int64_t offset) const {
  // Up to 3.10 the size is elsewhere; the table of lines decides.
  return offset >= kBefore && offset % 2 == 0 &&
         (identity_.units == 0 || offset < static_cast<std::int64_t>(2 * identity_.units));
}

std::uint32_t Code::lineAt(LineTable kind, std::int64_t offset) {
  if (lines_.size() >= kMostLines) lines_.clear();
  const auto [at, fresh] = lines_.try_emplace(offset, 0);
  if (!fresh) return at->second;
  const auto firstLine =
      static_cast<std::uint32_t>(identity_.firstLine > 0 ? identity_.firstLine : 0);
  const auto found =
      offset < 0 ? std::optional(firstLine)
                 : lineOf(kind, table_, identity_.firstLine, static_cast<std::uint64_t>(offset));
  at->second = found.value_or(0);
  return at->second;
}

Code* CodeCache::at(std::uint64_t address, std::span<const std::byte> head) {
  const auto& places = layout_.code;
  if (head.size() < places.size || takeAt<std::uint64_t>(head, places.type) != layout_.codeType)
    return nullptr;
  const Code::Identity identity{
      takeAt<std::uint64_t>(head, places.file), takeAt<std::uint64_t>(head, places.name),
      takeAt<std::uint64_t>(head, places.table),
      places.units ? takeAt<std::uint64_t>(head, *places.units) & 0x7fffffff : 0,
      takeAt<std::int32_t>(head, places.firstLine)};
  if (const auto known = codes_.find(address); known != codes_.end()) {
    if (known->second.identity_ == identity) return &known->second;
    bytes_ -= known->second.table_.size();
    codes_.erase(known);
  }
  auto code = load(identity);
  if (!code) return nullptr;
  if (codes_.size() >= kMostCodes || bytes_ + code->table_.size() > kMostBytes) {
    codes_.clear();
    bytes_ = 0;
  }
  bytes_ += code->table_.size();
  return &codes_.emplace(address, std::move(*code)).first->second;
}

Code* CodeCache::known(std::uint64_t address) {
  const auto found = codes_.find(address);
  return found != codes_.end() ? &found->second : nullptr;
}

std::optional<Code> CodeCache::load(const Code::Identity& identity) {
  const auto function = readText(memory_, layout_, identity.name, kMostNameCharacters);
  const auto file = readText(memory_, layout_, identity.file, kMostFileCharacters);
  auto table = readBytes(memory_, layout_, identity.table, kMostTableBytes);
  if (!function || !file) return std::nullopt;
  Code code;
  code.identity_ = identity;
  code.number_ = numberOf_(*function, *file);
  // Without one there are functions and no lines.
  if (table) code.table_ = std::move(*table);
  return code;
}

}  // namespace lacuna::collector::python
