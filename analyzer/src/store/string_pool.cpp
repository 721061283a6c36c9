// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "store/string_pool.h"

#include <xxhash.h>

#include <cstring>
#include <utility>

namespace lacuna::analyzer {
namespace {

constexpr std::size_t kPageBytes = 1 << 16;

}  // namespace

StringPool::StringPool() : texts_(1), slots_(1024) {}

std::uint64_t StringPool::hashOf(std::string_view text) {
  return XXH3_64bits(text.data(), text.size());
}

prof::StringId StringPool::intern(std::string_view text) {
  return intern(text, hashOf(text));
}

prof::StringId StringPool::intern(std::string_view text, std::uint64_t hash) {
  if (text.empty()) return {};
  const std::size_t mask = slots_.size() - 1;
  const auto tag = static_cast<std::uint32_t>(hash >> 32);
  for (std::size_t at = hash & mask;; at = (at + 1) & mask) {
    Slot& slot = slots_[at];
    if (slot.id == 0) {
      slot = {tag, size()};
      texts_.push_back(keep(text));
      if (texts_.size() * 2 > slots_.size()) grow();
      return prof::StringId(size() - 1);
    }
    if (slot.hash == tag && texts_[slot.id] == text) return prof::StringId(slot.id);
  }
}

prof::StringId StringPool::find(std::string_view text) const {
  if (text.empty()) return {};
  const std::uint64_t hash = hashOf(text);
  const std::size_t mask = slots_.size() - 1;
  const auto tag = static_cast<std::uint32_t>(hash >> 32);
  for (std::size_t at = hash & mask; slots_[at].id != 0; at = (at + 1) & mask) {
    if (slots_[at].hash == tag && texts_[slots_[at].id] == text)
      return prof::StringId(slots_[at].id);
  }
  return {};
}

std::string_view StringPool::keep(std::string_view text) {
  if (text.size() > left_) {
    const std::size_t bytes = std::max(kPageBytes, text.size());
    pages_.push_back(std::make_unique_for_overwrite<char[]>(bytes));
    next_ = pages_.back().get();
    left_ = bytes;
  }
  std::memcpy(next_, text.data(), text.size());
  const std::string_view kept(next_, text.size());
  next_ += text.size();
  left_ -= text.size();
  bytes_ += text.size();
  return kept;
}

void StringPool::grow() {
  std::vector<Slot> bigger(slots_.size() * 2);
  const std::size_t mask = bigger.size() - 1;
  for (const Slot& slot : slots_) {
    if (slot.id == 0) continue;
    std::size_t at = hashOf(texts_[slot.id]) & mask;
    while (bigger[at].id != 0) at = (at + 1) & mask;
    bigger[at] = slot;
  }
  slots_ = std::move(bigger);
}

}  // namespace lacuna::analyzer
