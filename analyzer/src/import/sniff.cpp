// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "import/byte_source.h"
#include "import/importers.h"
#include "lacuna/analyzer/files.h"

namespace lacuna::analyzer {

namespace {

constexpr std::array kImporters{
#define LACUNA_IMPORTER_PLACE(name) &k##name##Importer,
    LACUNA_IMPORTERS(LACUNA_IMPORTER_PLACE)
#undef LACUNA_IMPORTER_PLACE
};

}  // namespace

std::span<const Importer* const> importers() {
  return kImporters;
}

prof::Result<SourceKind> sniff(const std::filesystem::path& path) {
  auto source = ByteSource::open(path);
  if (!source) return source.error();
  char buffer[512];
  const std::string_view head(buffer, (*source)->read(buffer, sizeof buffer));
  if (const std::string& problem = (*source)->problem(); head.empty() && !problem.empty()) {
    return prof::Error{fmt::format("{}: {}", path.string(), problem)};
  }
  if (head.empty()) return SourceKind::Empty;
  const auto found =
      std::ranges::find_if(kImporters, [&](const Importer* it) { return it->recognises(head); });
  if (found != kImporters.end()) {
    if ((*found)->kind != SourceKind::Lcn || !(*source)->isCompressed()) return (*found)->kind;
    return prof::Error{fmt::format(
        "{}: is a .lcn that was compressed, which it is inside; unpack it first", path.string())};
  }
  if (head.starts_with("version https://git-lfs.github.com/")) {
    return prof::Error{
        fmt::format("{}: is not the file itself but what Git LFS keeps in its place; `git lfs "
                    "pull` fetches the file",
                    path.string())};
  }
  return SourceKind::Unknown;
}

std::string_view describe(SourceKind kind) {
  if (kind == SourceKind::Empty) return "empty";
  const auto found = std::ranges::find(kImporters, kind, &Importer::kind);
  return found == kImporters.end() ? "unknown" : (*found)->name;
}

}  // namespace lacuna::analyzer
