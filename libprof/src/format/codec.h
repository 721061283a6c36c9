// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>

#include "format/layout.h"

namespace lacuna::prof::format {

/// Turns one byte plane or blob into a zstd frame, or leaves it as it is where that does not help.
/// One thread at a time.
class Compressor {
 public:
  explicit Compressor(int level);
  Compressor(Compressor&&) noexcept;
  Compressor& operator=(Compressor&&) noexcept;
  ~Compressor();

  /// Appends what is to be stored.
  Plane append(std::span<const std::byte> plane, Bytes& out);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The inverse; `out` has the size of the plane. False when the bytes are not what a Compressor
/// makes. Any thread.
bool expandPlane(PlaneMode mode, std::span<const std::byte> stored, std::span<std::byte> out);

}  // namespace lacuna::prof::format
