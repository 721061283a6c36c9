// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "import/perfetto/packet_unpacking.h"

#include <zlib.h>
#include <zstd.h>

#include <cstddef>
#include <memory>

namespace lacuna::analyzer {
namespace {

constexpr std::size_t kMaxUnpackedBytes = 64 << 20;

}  // namespace

bool unpackZstd(std::string_view bytes, std::string& out) {
  constexpr std::size_t kPart = 1 << 16;
  const std::unique_ptr<ZSTD_DCtx, std::size_t (*)(ZSTD_DCtx*)> context(ZSTD_createDCtx(),
                                                                        &ZSTD_freeDCtx);
  ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
  for (std::size_t left = 1; left != 0 || in.pos < in.size;) {
    const std::size_t before = out.size();
    if (before >= kMaxUnpackedBytes) return false;
    out.resize(before + kPart);
    ZSTD_outBuffer to{out.data() + before, kPart, 0};
    left = ZSTD_decompressStream(context.get(), &to, &in);
    out.resize(before + to.pos);
    if (ZSTD_isError(left) != 0) return false;
    if (left != 0 && in.pos == in.size && to.pos < to.size) return false;
  }
  return true;
}

bool unpackZlib(std::string_view bytes, std::string& out) {
  z_stream stream{};
  if (inflateInit(&stream) != Z_OK) return false;
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  int code = Z_OK;
  while (code == Z_OK && out.size() < kMaxUnpackedBytes) {
    const std::size_t before = out.size();
    out.resize(before + (1 << 16));
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + before);
    stream.avail_out = 1 << 16;
    code = inflate(&stream, Z_NO_FLUSH);
    out.resize(out.size() - stream.avail_out);
  }
  inflateEnd(&stream);
  return code == Z_STREAM_END;
}

}  // namespace lacuna::analyzer
