// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "format/codec.h"

#include <zstd.h>

#include <algorithm>

namespace lacuna::prof::format {
namespace {

struct FreeContext {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

ZSTD_DCtx* decompressor() {
  thread_local const std::unique_ptr<ZSTD_DCtx, FreeContext> kContext(ZSTD_createDCtx());
  return kContext.get();
}

}  // namespace

struct Compressor::Impl {
  std::unique_ptr<ZSTD_CCtx, FreeContext> context{ZSTD_createCCtx()};
  int level = 1;
};

Compressor::Compressor(int level) : impl_(std::make_unique<Impl>()) {
  impl_->level = level;
}
Compressor::Compressor(Compressor&&) noexcept = default;
Compressor& Compressor::operator=(Compressor&&) noexcept = default;
Compressor::~Compressor() = default;

Plane Compressor::append(std::span<const std::byte> plane, Bytes& out) {
  const std::size_t at = out.size();
  out.resize(at + ZSTD_compressBound(plane.size()));
  const std::size_t stored =
      ZSTD_compressCCtx(impl_->context.get(), out.data() + at, out.size() - at, plane.data(),
                        plane.size(), impl_->level);
  // Decoding a frame costs more than copying; a gain below 1/64 is not worth it.
  if (ZSTD_isError(stored) || stored + plane.size() / 64 >= plane.size()) {
    std::copy(plane.begin(), plane.end(), out.begin() + static_cast<std::ptrdiff_t>(at));
    out.resize(at + plane.size());
    return {PlaneMode::Raw, static_cast<std::uint32_t>(plane.size())};
  }
  out.resize(at + stored);
  return {PlaneMode::Zstd, static_cast<std::uint32_t>(stored)};
}

bool expandPlane(PlaneMode mode, std::span<const std::byte> stored, std::span<std::byte> out) {
  switch (mode) {
    case PlaneMode::Zero:
      std::fill(out.begin(), out.end(), std::byte{0});
      return stored.empty();
    case PlaneMode::Raw:
      if (stored.size() != out.size()) return false;
      std::copy(stored.begin(), stored.end(), out.begin());
      return true;
    case PlaneMode::Zstd:
      return ZSTD_decompressDCtx(decompressor(), out.data(), out.size(), stored.data(),
                                 stored.size()) == out.size();
  }
  return false;
}

}  // namespace lacuna::prof::format
