// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "import/importers.h"
#include "lacuna/analyzer/files.h"
#include "lacuna/analyzer/store.h"
#include "store/lcn_backend.h"

namespace lacuna::analyzer {

namespace {

StoreResult openKind(SourceKind kind, const std::filesystem::path& path, const OpenOptions& options) {
  switch (kind) {
    case SourceKind::Json:
      return importChrome(path, options);
    case SourceKind::Sqlite:
      return importNsys(path, options);
    case SourceKind::Perfetto:
      return importPerfetto(path, options);
    case SourceKind::Pickle:
      return importSnapshot(path, options);
    case SourceKind::Lcn: {
      auto reader = prof::Reader::open(path, {.budget = options.budget});
      if (!reader) return reader.error();
      return std::make_shared<const Store>(std::make_shared<LcnBackend>(std::move(*reader)));
    }
    case SourceKind::Empty:
      return prof::Error{fmt::format("{}: is empty; the program that wrote it may have been stopped", path.string())};
    default:
      return prof::Error{
          fmt::format("{}: not a trace that lacuna knows; it reads .lcn, Kineto and Chrome JSON, SQLite exports "
                      "of Nsight Systems and Perfetto traces and memory snapshots of PyTorch (also gz and zstd)",
                      path.string())};
  }
}

/// Analyses and views take memory by the row, whatever it was read from.
prof::Status allowRows(const Store& store, const std::filesystem::path& path, const prof::Budget& budget) {
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
