// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>

#include "import/importers.h"
#include "lacuna/prof/reader.h"
#include "store/lcn_backend.h"

namespace lacuna::analyzer {
namespace {

/// By the magic number, or by the first block where that is damaged.
bool looksLikeLcn(std::string_view head) {
  if (head.starts_with("\x89LCN\r\n\x1a\n")) return true;
  constexpr std::size_t kHeaderBytes = 64;
  constexpr std::string_view kMarker = "\xf7\xce\xb5\x62\x6c\x6b\x1a\n";
  return head.size() > kHeaderBytes && head.substr(kHeaderBytes).starts_with(kMarker);
}

StoreResult openLcn(const std::filesystem::path& path, const OpenOptions& options) {
  auto reader = prof::Reader::open(path, {.budget = options.budget});
  if (!reader) return reader.error();
  return std::make_shared<const Store>(std::make_shared<LcnBackend>(std::move(*reader)));
}

}  // namespace

constinit const Importer kLcnImporter{
    .kind = SourceKind::Lcn,
    .name = "Lacuna trace",
    .plural = ".lcn",
    .recognises = looksLikeLcn,
    .open = openLcn,
};

}  // namespace lacuna::analyzer
