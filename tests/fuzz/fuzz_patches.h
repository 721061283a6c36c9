// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace lacuna::fuzz {

/// A change to one of several things that are sound: {target, offset 16 bits, how 2 bits | count -
/// 1 6 bits} bytes…
struct Patch {
  enum class How : std::uint8_t { Overwrite, Insert, Remove, Cut };
  std::size_t target = 0;
  std::size_t offset = 0;
  How how = How::Overwrite;
  std::size_t count = 0;   ///< of what is removed
  std::string_view bytes;  ///< of Overwrite and Insert

  /// Offsets beyond the end begin anew.
  void apply(std::string& sound) const {
    const std::size_t at = offset % (sound.size() + 1);
    switch (how) {
      case How::Overwrite:
        return overwrite(sound, sound.size());
      case How::Insert:
        sound.insert(at, bytes);
        return;
      case How::Remove:
        sound.erase(at, count);
        return;
      case How::Cut:
        sound.resize(at);
    }
  }
  /// Whatever `how` is, in the first `limit` bytes; the size stays.
  void overwrite(std::string& sound, std::size_t limit) const {
    limit = std::min(limit, sound.size());
    if (limit == 0) return;
    const std::size_t at = offset % limit;
    const std::size_t most = std::min(bytes.size(), limit - at);
    std::copy_n(bytes.data(), most, sound.data() + at);
  }
};

/// Calls `visit` with each patch of an input.
template <class Visit>
void forEachPatch(const std::uint8_t* data, std::size_t size, Visit&& visit) {
  constexpr std::size_t kHead = 4;
  while (size >= kHead) {
    Patch patch;
    patch.target = data[0];
    patch.offset = static_cast<std::size_t>(data[1] | data[2] << 8);
    patch.how = static_cast<Patch::How>(data[3] >> 6);
    patch.count = 1 + data[3] % 64;
    data += kHead;
    size -= kHead;
    if (patch.how == Patch::How::Overwrite || patch.how == Patch::How::Insert) {
      patch.bytes = {reinterpret_cast<const char*>(data), std::min(patch.count, size)};
      data += patch.bytes.size();
      size -= patch.bytes.size();
    }
    visit(static_cast<const Patch&>(patch));
  }
}

}  // namespace lacuna::fuzz
