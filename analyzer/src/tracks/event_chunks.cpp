// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>

#include "lacuna/analyzer/pyramid.h"

namespace lacuna::analyzer {

using prof::TimeNs;

namespace {

/// Appends numbers of so many bits, low bits first.
class BitWriter {
 public:
  explicit BitWriter(PodArray<std::uint64_t>& words) : words_(words) {}
  ~BitWriter() {
    if (used_ > 0) words_.push(word_);
  }
  void put(std::uint64_t value, unsigned width) {
    if (width == 0) return;
    word_ |= value << used_;
    if (used_ + width < 64) {
      used_ += width;
      return;
    }
    words_.push(word_);
    word_ = used_ == 0 ? 0 : value >> (64 - used_);
    used_ = used_ + width - 64;
    if (used_ == 0) word_ = 0;
  }

 private:
  PodArray<std::uint64_t>& words_;
  std::uint64_t word_ = 0;
  unsigned used_ = 0;
};

/// No trace is longer, in years 36, nor further away from time zero, 146; sums of these are numbers
/// still.
constexpr unsigned kMostDurBits = 60;
constexpr unsigned kMostStartBits = 61;

std::uint8_t widthFor(std::uint64_t value) {
  return static_cast<std::uint8_t>(std::bit_width(value));
}

}  // namespace

EventChunks::EventChunks(std::size_t events, std::vector<TimeNs> chunkStarts,
                         std::vector<std::uint32_t> chunkBytes, Load load)
    : size_(events),
      starts_(std::move(chunkStarts)),
      sizes_(std::move(chunkBytes)),
      chunks_(starts_.size()),
      ready_(std::make_unique<std::atomic<const std::byte*>[]>(starts_.size())),
      source_(std::make_unique<Source>()) {
  source_->load = std::move(load);
}

EventChunks EventChunks::copy() const {
  EventChunks out;
  out.size_ = size_;
  out.starts_ = starts_;
  out.sizes_ = sizes_;
  out.chunks_ = chunks_;
  if (!pending_) return out;
  out.pending_ = std::make_unique<Pending>();
  Pending& p = *out.pending_;
  p.start = pending_->start;
  p.dur = pending_->dur;
  p.name = pending_->name;
  p.count = pending_->count;
  p.groups = pending_->groups;
  p.words = pending_->words.copy();
  return out;
}

void EventChunks::add(TimeNs startNs, TimeNs durNs, std::uint32_t name) {
  if (!pending_) pending_ = std::make_unique<Pending>();
  Pending& p = *pending_;
  p.start[p.count] = startNs;
  p.dur[p.count] = durNs;
  p.name[p.count] = name;
  ++size_;
  if (++p.count == kGroup) closeGroup();
}

void EventChunks::closeGroup() {
  Pending& p = *pending_;
  const std::size_t n = std::exchange(p.count, 0);
  Group group{};
  group.start = p.start[0];
  group.least = static_cast<std::uint64_t>(*std::min_element(p.dur.begin(), p.dur.begin() + n));
  group.name = *std::min_element(p.name.begin(), p.name.begin() + n);
  const auto most = static_cast<std::uint64_t>(*std::max_element(p.dur.begin(), p.dur.begin() + n));
  group.startBits = widthFor(static_cast<std::uint64_t>(p.start[n - 1]) -
                             static_cast<std::uint64_t>(group.start));
  group.durBits = widthFor(most - group.least);
  group.nameBits = widthFor(*std::max_element(p.name.begin(), p.name.begin() + n) - group.name);
  group.word = static_cast<std::uint32_t>(p.words.size());
  {
    BitWriter out(p.words);
    for (std::size_t i = 0; i < n; ++i) {
      out.put(static_cast<std::uint64_t>(p.start[i]) - static_cast<std::uint64_t>(group.start),
              group.startBits);
    }
    for (std::size_t i = 0; i < n; ++i)
      out.put(static_cast<std::uint64_t>(p.dur[i]) - group.least, group.durBits);
    for (std::size_t i = 0; i < n; ++i) out.put(p.name[i] - group.name, group.nameBits);
  }
  p.groups.push_back(group);
  if (p.groups.size() == kChunk / kGroup) closeChunk();
}

void EventChunks::closeChunk() {
  Pending& p = *pending_;
  constexpr std::size_t kGroupWords = sizeof(Group) / sizeof(std::uint64_t);
  const std::size_t groups = p.groups.size();
  for (std::size_t g = 0; g < groups; ++g) {
    // From the group itself to its bits.
    p.groups[g].word += static_cast<std::uint32_t>((groups - g) * kGroupWords);
  }
  // Reading the last number may look one word further.
  const std::size_t bytes = groups * sizeof(Group) + (p.words.size() + 1) * sizeof(std::uint64_t);
  Chunk chunk(new std::byte[bytes]());
  std::memcpy(chunk.get(), p.groups.data(), groups * sizeof(Group));
  if (p.words.size() != 0) {
    std::memcpy(chunk.get() + groups * sizeof(Group), p.words.data(),
                p.words.size() * sizeof(std::uint64_t));
  }
  starts_.push_back(p.groups[0].start);
  sizes_.push_back(static_cast<std::uint32_t>(bytes));
  chunks_.push_back(std::move(chunk));
  p.groups.clear();
  p.words.clear();
}

void EventChunks::finish() {
  if (pending_ && pending_->count > 0) closeGroup();
  if (pending_ && !pending_->groups.empty()) closeChunk();
  pending_.reset();
  ready_ = std::make_unique<std::atomic<const std::byte*>[]>(chunks_.size());
  for (std::size_t i = 0; i < chunks_.size(); ++i)
    ready_[i].store(chunks_[i].get(), std::memory_order_relaxed);
}

bool EventChunks::plausible(std::size_t chunk, std::span<const std::byte> bytes) const {
  const std::size_t events = std::min(kChunk, size_ - chunk * kChunk);
  const std::size_t groups = (events + kGroup - 1) / kGroup;
  if (bytes.size() < groups * sizeof(Group) + sizeof(std::uint64_t)) return false;
  for (std::size_t g = 0; g < groups; ++g) {
    Group group{};
    std::memcpy(&group, bytes.data() + g * sizeof(Group), sizeof group);
    const std::size_t count = std::min(kGroup, events - g * kGroup);
    const std::size_t width = std::size_t{group.startBits} + group.durBits + group.nameBits;
    if (group.startBits > kMostStartBits || group.durBits > kMostDurBits || group.nameBits > 32)
      return false;
    if (!isNearZero(group.start) || group.least > std::uint64_t{1} << kMostDurBits) return false;
    const std::size_t words = (width * count + 63) / 64 + 1;
    const std::size_t end =
        g * sizeof(Group) + (std::size_t{group.word} + words) * sizeof(std::uint64_t);
    if (end > bytes.size()) return false;
  }
  return true;
}

bool EventChunks::canBeKept() const {
  for (std::size_t i = 0; i < chunkCount(); ++i) {
    if (!plausible(i, chunkBytes(i))) return false;
  }
  return true;
}

EventChunks::Chunk EventChunks::placeholder(std::size_t chunk) const {
  const std::size_t groups = (std::min(kChunk, size_ - chunk * kChunk) + kGroup - 1) / kGroup;
  const std::size_t least = groups * sizeof(Group) + 2 * sizeof(std::uint64_t);
  const std::size_t bytes = std::max<std::size_t>(least, sizes_[chunk]);
  Chunk out(new std::byte[bytes]());
  for (std::size_t g = 0; g < groups; ++g) {
    Group group{};
    group.start = starts_[chunk];
    group.word = static_cast<std::uint32_t>((groups - g) * sizeof(Group) / sizeof(std::uint64_t));
    std::memcpy(out.get() + g * sizeof(Group), &group, sizeof group);
  }
  return out;
}

const std::byte* EventChunks::read(std::size_t chunk) const {
  const std::scoped_lock lock(source_->mutex);
  if (!chunks_[chunk]) {
    // Every byte is read over, so clearing it first would only cost.
    Chunk bytes(new std::byte[sizes_[chunk]]);
    const std::span<std::byte> all(bytes.get(), sizes_[chunk]);
    if (!source_->load(chunk, all) || !plausible(chunk, all)) {
      source_->damaged = true;
      bytes = placeholder(chunk);
    }
    chunks_[chunk] = std::move(bytes);
    ready_[chunk].store(chunks_[chunk].get(), std::memory_order_release);
  }
  return chunks_[chunk].get();
}

std::uint64_t EventChunks::bytes() const {
  std::uint64_t total =
      starts_.size() * (sizeof(TimeNs) + sizeof(std::uint32_t) + 2 * sizeof(void*));
  for (std::size_t i = 0; i < sizes_.size(); ++i)
    total += ready_ && ready_[i] != nullptr ? sizes_[i] : 0;
  return total;
}

}  // namespace lacuna::analyzer
