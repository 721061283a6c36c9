// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "format/string_table.h"

#include <algorithm>

#include "base/checksum.h"

namespace lacuna::prof::format {
namespace {

constexpr std::size_t kChunkBytes = std::size_t{1} << 18;
constexpr std::size_t kPieceBytes = std::size_t{1} << 20;
constexpr std::size_t kMaxTextBytes = std::size_t{1} << 24;
/// The most ids that a file may leave out where damage took their block, besides one for each byte
/// before the next block. Without a limit the ids of a few bytes would take gigabytes.
constexpr std::uint64_t kMaxMissing = std::uint64_t{1} << 20;

}  // namespace

std::size_t StringInterner::Hash::operator()(std::string_view text) const {
  return base::checksum({reinterpret_cast<const std::byte*>(text.data()), text.size()});
}

StringInterner::StringInterner() : texts_(1) {
  markWritten();
}

std::string_view StringInterner::keep(std::string_view text) {
  if (chunkUsed_ + text.size() > chunkSize_) {
    chunkSize_ = std::max(kChunkBytes, text.size());
    chunks_.push_back(std::make_unique<char[]>(chunkSize_));
    chunkUsed_ = 0;
  }
  char* place = chunks_.back().get() + chunkUsed_;
  std::copy(text.begin(), text.end(), place);
  chunkUsed_ += text.size();
  return {place, text.size()};
}

StringId StringInterner::intern(std::string_view text) {
  if (text.empty()) return StringId();
  text = text.substr(0, kMaxTextBytes);
  const auto found = ids_.find(text);
  if (found != ids_.end()) return StringId(found->second);
  const auto id = static_cast<std::uint32_t>(texts_.size());
  texts_.push_back(keep(text));
  ids_.emplace(texts_.back(), id);
  return StringId(id);
}

void StringInterner::skipTo(std::uint32_t count) {
  if (count > texts_.size()) texts_.resize(count);
}

std::uint32_t StringInterner::takePending(base::Bytes& blob) {
  const std::size_t first = written_;
  std::size_t bytes = 0;
  while (hasPending() && bytes < kPieceBytes)
    bytes += texts_[written_++].size() + sizeof(std::uint32_t);
  const auto count = static_cast<std::uint32_t>(written_ - first);
  blob.clear();
  base::ByteWriter out(blob);
  out.number(static_cast<std::uint32_t>(first));
  out.number(count);
  for (std::size_t i = first; i < written_; ++i)
    out.number(static_cast<std::uint32_t>(texts_[i].size()));
  for (std::size_t i = first; i < written_; ++i) out.raw(texts_[i].data(), texts_[i].size());
  return count;
}

bool StringStore::add(base::Bytes blob, std::uint64_t offset) {
  auto kept = std::make_shared<const base::Bytes>(std::move(blob));
  base::ByteReader in(*kept);
  const auto first = in.number<std::uint32_t>();
  const auto count = in.number<std::uint32_t>();
  if (!in.ok() || first == 0 || count > in.left() / sizeof(std::uint32_t)) return false;
  const std::uint64_t missing = missing_ + (first > texts_.size() ? first - texts_.size() : 0);
  if (missing > kMaxMissing + offset) return false;
  const auto sizes = in.raw(count * sizeof(std::uint32_t));
  std::uint64_t bytes = 0;
  for (base::ByteReader lengths(sizes); lengths.left() > 0;)
    bytes += lengths.number<std::uint32_t>();
  if (bytes > in.left()) return false;
  missing_ = missing;
  base::ByteReader lengths(sizes);
  if (texts_.size() < std::size_t{first} + count) texts_.resize(std::size_t{first} + count);
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto text = in.raw(lengths.number<std::uint32_t>());
    texts_[first + i] = {reinterpret_cast<const char*>(text.data()), text.size()};
  }
  blobs_.push_back(std::move(kept));
  return true;
}

}  // namespace lacuna::prof::format
