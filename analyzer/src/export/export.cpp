// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "export/exporters.h"
#include "lacuna/analyzer/files.h"
#include "lacuna/analyzer/lanes.h"
#include "lacuna/prof/file_error.h"
#include "store/damage_watch.h"
#include "store/lcn_writer.h"

namespace lacuna::analyzer {

std::optional<Format> formatOf(const std::filesystem::path& path) {
  std::string name = path.filename().string();
  for (const std::string_view packed : {".gz", ".zst"}) {
    if (name.size() > packed.size() && name.ends_with(packed))
      name.resize(name.size() - packed.size());
  }
  if (name.ends_with(".lcn")) return Format::Lcn;
  if (name.ends_with(".speedscope.json")) return Format::Speedscope;
  if (name.ends_with(".json")) return Format::Chrome;
  if (name.ends_with(".folded")) return Format::Folded;
  if (name.ends_with(".csv")) return Format::Csv;
  if (name.ends_with(".pftrace") || name.ends_with(".perfetto-trace")) return Format::Perfetto;
  if (name.ends_with(".sqlite")) return Format::Nsys;
  return std::nullopt;
}

std::string unknownFormat(std::string_view out, std::string_view to) {
  if (!to.empty())
    return fmt::format("--to {}: there is no such format; there are: {}", to, formatNames());
  return fmt::format("{}: name what to write with --to: {}; or by the file's ending: {}", out,
                     formatNames(), formatEndings());
}

std::string_view formatEndings() {
  return ".lcn, .json, .pftrace, .sqlite, .folded, .speedscope.json, .csv";
}

std::string_view formatNames() {
  return "lcn, chrome, perfetto, nsys, folded, speedscope, csv, table-json";
}

std::optional<Format> formatNamed(std::string_view name) {
  if (name == "lcn") return Format::Lcn;
  if (name == "chrome") return Format::Chrome;
  if (name == "perfetto") return Format::Perfetto;
  if (name == "nsys") return Format::Nsys;
  if (name == "folded") return Format::Folded;
  if (name == "speedscope") return Format::Speedscope;
  if (name == "csv") return Format::Csv;
  if (name == "table-json") return Format::TableJson;
  return std::nullopt;
}

namespace {

/// True when the name asks for compression, which only what goes through a ByteSink can have.
bool isPacked(const std::filesystem::path& path) {
  return path.extension() == ".gz" || path.extension() == ".zst";
}

/// Removes what a failed export leaves; not a device or a pipe that it wrote to.
void discard(const std::filesystem::path& path) {
  std::error_code ignored;
  const auto kind = std::filesystem::symlink_status(path, ignored).type();
  if (kind == std::filesystem::file_type::regular) std::filesystem::remove(path, ignored);
}

prof::Status exportToSink(const Store& store, const std::filesystem::path& path, Format format,
                          const ExportOptions& options) {
  auto sink = ByteSink::create(path);
  if (!sink) return sink.status();
  const auto write = [&] {
    switch (format) {
      case Format::Perfetto:
        return exportPerfetto(store, **sink, options);
      case Format::Folded:
        return exportFolded(store, **sink, options);
      case Format::Speedscope:
        return exportSpeedscope(store, **sink, options);
      case Format::Csv:
        return exportCsv(store, **sink, options);
      case Format::TableJson:
        return exportTableJson(store, **sink, options);
      default:
        return exportChrome(store, **sink, options);
    }
  };
  prof::Status status = write();
  if (status) status = (*sink)->finish();
  if (!status) discard(path);
  return status;
}

prof::Status exportDatabase(const Store& store, const std::filesystem::path& path,
                            const ExportOptions& options) {
  if (isPacked(path)) {
    return prof::Error{
        fmt::format("{}: a database is not compressed while it is written; name a .sqlite file and "
                    "compress that",
                    path.string())};
  }
  prof::Status status = exportNsys(store, path, options);
  if (!status) discard(path);
  return status;
}

prof::Status exportLcn(const Store& store, const std::filesystem::path& path,
                       const ExportOptions& options) {
  if (isPacked(path)) {
    return prof::Error{
        fmt::format("{}: a .lcn is compressed inside; name a .lcn file", path.string())};
  }
  LcnWriteOptions how;
  how.progress = options.progress;
  return writeLcn(store, path, how);
}

/// The rows; a .lcn has no timeline yet.
prof::Status writeRows(const Store& store, const std::filesystem::path& path, Format format,
                       const ExportOptions& options) {
  const DamageWatch watch(store);
  const prof::Status status = format == Format::Lcn    ? exportLcn(store, path, options)
                              : format == Format::Nsys ? exportDatabase(store, path, options)
                                                       : exportToSink(store, path, format, options);
  if (!status) return status;
  prof::Status damage = watch.status();
  if (!damage) discard(path);
  return damage;
}

prof::Status addTimeline(const std::filesystem::path& path, Format format) {
  std::error_code ignored;
  return format == Format::Lcn && std::filesystem::is_regular_file(path, ignored) ? addTracks(path)
                                                                                  : prof::Status();
}

/// `done` is called when the store is no longer read.
prof::Status exportAndCall(const Store& store, const std::filesystem::path& path, Format format,
                           const ExportOptions& options, const std::function<void()>& done) {
  std::error_code ignored;
  if (std::filesystem::equivalent(store.path(), path, ignored)) {
    return prof::Error{
        fmt::format("{}: is the trace that is read; name another file to write", path.string())};
  }
  if (const auto target = prof::checkTarget(path); !target) return target;
  const auto write = [&](const std::filesystem::path& unfinished) {
    const prof::Status written = writeRows(store, unfinished, format, options);
    if (!written) return written;
    done();
    return addTimeline(unfinished, format);
  };
  return prof::writeAtomically(path, write, options.existing);
}

}  // namespace

prof::Status exportTrace(const Store& store, const std::filesystem::path& path, Format format,
                         const ExportOptions& options) {
  return exportAndCall(store, path, format, options, [] {});
}

prof::Status exportTrace(std::shared_ptr<const Store>&& store, const std::filesystem::path& path,
                         Format format, const ExportOptions& options) {
  std::shared_ptr<const Store> last = std::move(store);
  return exportAndCall(*last, path, format, options, [&] { last = nullptr; });
}

}  // namespace lacuna::analyzer
