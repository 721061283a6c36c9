// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0

// Bytes that claim to be any file, compressed or not: what is unpacked does not depend on how it is
// asked for.
#include <algorithm>
#include <string_view>
#include <vector>

#include "fuzz_import.h"
#include "import/byte_source.h"
#include "lacuna/analyzer/files.h"

namespace {

using namespace lacuna::analyzer;

/// A few bytes may unpack to gigabytes; no more than this is asked for.
constexpr std::size_t kMostBytes = 1 << 20;

struct Unpacked {
  std::string text;
  bool isComplete = true;
};

Unpacked readInPieces(const std::filesystem::path& path, std::size_t piece) {
  const auto source = ByteSource::open(path);
  if (!source) std::abort();
  Unpacked out;
  std::vector<char> buffer(piece);
  while (out.text.size() < kMostBytes) {
    const std::size_t got = (*source)->read(buffer.data(), piece);
    if (got > piece) std::abort();
    out.text.append(buffer.data(), got);
    if (got == piece) continue;
    // Fewer only at the end.
    if ((*source)->read(buffer.data(), piece) != 0) std::abort();
    break;
  }
  const double progress = (*source)->progress();
  if (!(progress >= 0 && progress <= 1)) std::abort();
  out.isComplete = (*source)->problem().empty();
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::filesystem::path& path = fuzzFile(data, size);
  const auto kind = sniff(path);
  if (kind ? describe(*kind).empty() : kind.error().message.empty()) std::abort();
  const Unpacked large = readInPieces(path, 1 << 16);
  const Unpacked small = readInPieces(path, 61);
  if (!large.isComplete || !small.isComplete) return 0;
  const std::size_t common = std::min({large.text.size(), small.text.size(), kMostBytes});
  if (std::string_view(large.text).substr(0, common) !=
      std::string_view(small.text).substr(0, common))
    std::abort();
  if (common < kMostBytes && large.text.size() != small.text.size()) std::abort();
  return 0;
}
