// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>

#include "import/importers.h"
#include "lacuna/analyzer/files.h"
#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {

namespace {

/// ".lcn, Kineto and Chrome JSON, … and memory snapshots of PyTorch".
std::string readableKinds() {
  std::string out;
  for (std::size_t i = 0; i < importers().size(); ++i) {
    if (i > 0) out += i + 2 < importers().size() ? ", " : " and ";
    out += importers()[i]->plural;
  }
  return out;
}

StoreResult openKind(SourceKind kind, const std::filesystem::path& path,
                     const OpenOptions& options) {
  if (kind == SourceKind::Empty) {
    return prof::Error{fmt::format("{}: is empty; the program that wrote it may have been stopped",
                                   path.string())};
  }
  const auto found = std::ranges::find(importers(), kind, &Importer::kind);
  if (found != importers().end()) return (*found)->open(path, options);
  return prof::Error{
      fmt::format("{}: not a trace that lacuna knows; it reads {} (also gz and zstd)",
                  path.string(), readableKinds())};
}

/// Analyses and views take memory by the row, whatever it was read from.
prof::Status allowRows(const Store& store, const std::filesystem::path& path,
                       const prof::Budget& budget) {
  std::uint64_t rows = 0;
  for (std::size_t table = 0; table < prof::allTables().size(); ++table) rows += store.rows(table);
  std::error_code error;
  const auto bytes = std::filesystem::file_size(path, error);
  return error ? prof::Status() : budget.allow(prof::Budget::Item::Rows, rows, path, bytes);
}

}  // namespace

StoreResult Store::open(const std::filesystem::path& path, const OpenOptions& options) {
  const auto kind = sniff(path);
  if (!kind) return kind.error();
  auto store = openKind(*kind, path, options);
  if (!store) return store;
  if (auto status = allowRows(**store, path, options.budget); !status) return status.error();
  return store;
}

}  // namespace lacuna::analyzer
