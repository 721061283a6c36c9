// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "import/importers.h"
#include "lacuna/analyzer/source.h"
#include "lacuna/analyzer/store.h"
#include "store/lcn_backend.h"

namespace lacuna::analyzer {

prof::Result<std::shared_ptr<const Store>> Store::open(const std::filesystem::path& path, const OpenOptions& options) {
  const auto kind = sniff(path);
  if (!kind) return kind.error();
  switch (*kind) {
    case SourceKind::Json:
      return importChrome(path, options);
    case SourceKind::Sqlite:
      return importNsys(path, options);
    case SourceKind::Perfetto:
      return importPerfetto(path, options);
    case SourceKind::Pickle:
      return importSnapshot(path, options);
    case SourceKind::Lcn: {
      auto reader = prof::Reader::open(path);
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

}  // namespace lacuna::analyzer
