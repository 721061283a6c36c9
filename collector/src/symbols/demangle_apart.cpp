// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "symbols/demangle_apart.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "core/limited_child.h"
#include "symbols/demangled.h"

namespace lacuna::collector::symbols {
namespace {

using Steady = std::chrono::steady_clock;

constexpr std::uint32_t kLongestName = 64 << 10;
constexpr std::uint32_t kTooLong = kLongestName + 1;

/// Sends its length and the name, or nothing but kTooLong.
void send(int out, const std::string& name) {
  const std::uint32_t length =
      name.size() > kLongestName ? kTooLong : static_cast<std::uint32_t>(name.size());
  std::string bytes(reinterpret_cast<const char*>(&length), sizeof length);
  if (length != kTooLong) bytes += name;
  writeAll(out, bytes.data(), bytes.size());
}

/// The symbols in their order, and how far they are done.
class Queue {
 public:
  Queue(const std::set<std::string_view>& symbols, std::uint64_t mostBytes) : room_(mostBytes) {
    for (const std::string_view symbol : symbols) {
      if (!isMangled(symbol)) continue;
      if (symbol.size() > kLongestName) {
        ++plain_.left;
      } else {
        symbols_.emplace_back(symbol);
      }
    }
  }
  [[nodiscard]] bool empty() const { return next_ == symbols_.size(); }
  [[nodiscard]] std::uint64_t room() const { return room_; }

  /// The child's part.
  void work(int out, std::uint64_t moreMemory) const {
    limitMemory(moreMemory);
    for (std::size_t at = next_; at < symbols_.size(); ++at) send(out, demangled(symbols_[at]));
  }
  /// Takes what has come as far as it is whole. False where it makes no sense, or finds no room.
  bool take(std::string& bytes) {
    std::size_t at = 0;
    std::uint32_t length = 0;
    while (bytes.size() - at >= sizeof length) {
      std::memcpy(&length, bytes.data() + at, sizeof length);
      const std::size_t size = length == kTooLong ? 0 : length;
      if (empty() || length > kTooLong) return false;
      if (bytes.size() - at - sizeof length < size) break;
      if (size > room_) return false;
      at += sizeof length;
      if (length == kTooLong) {
        leave(1);
      } else {
        plain_.names.emplace(symbols_[next_++], bytes.substr(at, size));
      }
      at += size;
      room_ -= size;
    }
    bytes.erase(0, at);
    return true;
  }
  void leave(std::size_t count) {
    count = std::min(count, symbols_.size() - next_);
    next_ += count;
    plain_.left += count;
  }
  PlainNames result() && {
    leave(symbols_.size());
    return std::move(plain_);
  }

 private:
  std::vector<std::string> symbols_;
  std::size_t next_ = 0;
  std::uint64_t room_;
  PlainNames plain_;
};

}  // namespace

PlainNames demangleApart(const std::set<std::string_view>& symbols, DemangleLimits& limits) {
  Queue queue(symbols, limits.bytes);
  auto end = ChildEnd::Over;
  while (!queue.empty() && limits.all.count() > 0 && end != ChildEnd::NoChild &&
         end != ChildEnd::Senseless) {
    const auto begun = Steady::now();
    end = runLimited(
        {std::min(limits.one, limits.all), limits.all}, {},
        [&](int out) { queue.work(out, limits.moreMemory); },
        [&](std::string& bytes) { return queue.take(bytes); });
    // The next one is what held the child up, or ended it.
    queue.leave(1);
    limits.all -= std::chrono::duration_cast<std::chrono::milliseconds>(Steady::now() - begun) +
                  std::chrono::milliseconds(1);
  }
  limits.bytes = queue.room();
  return std::move(queue).result();
}

}  // namespace lacuna::collector::symbols
