// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace lacuna::prof {

/// CLOCK_MONOTONIC nanoseconds of the recording machine. Durations are plain differences of these.
using TimeNs = std::int64_t;

/// A 32-bit index that cannot be mixed with the index of another thing. Zero means none (for
/// StringId: the empty string).
template <class Tag>
struct Id {
  std::uint32_t value = 0;

  constexpr Id() = default;
  constexpr explicit Id(std::uint32_t v) : value(v) {}
  constexpr explicit operator bool() const { return value != 0; }
  friend constexpr auto operator<=>(Id, Id) = default;
};

using StringId = Id<struct StringTag>;
using ProcessId = Id<struct ProcessTag>;
using ThreadId = Id<struct ThreadTag>;
using DeviceId = Id<struct DeviceTag>;
/// An in-order device queue: a CUDA stream, or the CPU device's operator queue.
using QueueId = Id<struct QueueTag>;
using TrackId = Id<struct TrackTag>;
using FrameId = Id<struct FrameTag>;
/// The further arguments of one event (tables arg_set and arg).
using ArgSetId = Id<struct ArgSetTag>;

}  // namespace lacuna::prof

template <class Tag>
struct std::hash<lacuna::prof::Id<Tag>> {
  std::size_t operator()(lacuna::prof::Id<Tag> id) const noexcept {
    return std::hash<std::uint32_t>{}(id.value);
  }
};
