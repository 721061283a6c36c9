// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/analyzer/export.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <vector>

#include "export/exporters.h"
#include "lacuna/analyzer/track_file.h"
#include "lacuna/prof/file_error.h"
#include "lacuna/prof/whole_file.h"
#include "store/damage_watch.h"
#include "store/lcn_writer.h"

namespace lacuna::analyzer {

std::optional<Format> formatOf(const std::filesystem::path& path) {
  std::string name = path.filename().string();
  for (const std::string_view packed : {".gz", ".zst"}) {
    if (name.size() > packed.size() && name.ends_with(packed)) name.resize(name.size() - packed.size());
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
  if (!to.empty()) return fmt::format("--to {}: there is no such format; there are: {}", to, formatNames());
  return fmt::format("{}: say what to write with --to: {}; or by the file's ending: {}", out, formatNames(),
                     formatEndings());
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

/// Whether the name asks for compression, which only what goes through a ByteSink can have.
bool isPacked(const std::filesystem::path& path) {
  return path.extension() == ".gz" || path.extension() == ".zst";
}

/// What a failed export leaves; not a device or a pipe that it wrote to.
void discard(const std::filesystem::path& path) {
  std::error_code ignored;
  if (std::filesystem::is_regular_file(path, ignored)) std::filesystem::remove(path, ignored);
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

prof::Status exportDatabase(const Store& store, const std::filesystem::path& path, const ExportOptions& options) {
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

prof::Status exportLcn(const Store& store, const std::filesystem::path& path, const ExportOptions& options) {
  if (isPacked(path)) {
    return prof::Error{fmt::format("{}: a .lcn is compressed inside; name a .lcn file", path.string())};
  }
  LcnWriteOptions how;
  how.progress = options.progress;
  return writeLcn(store, path, how);
}

constexpr std::string_view kUnfinished = "unfinished-";

std::filesystem::path folderOf(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : ".";
}

/// The file that a link leads to, which is replaced while the link stays; another path as it is.
std::filesystem::path behindLink(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_symlink(path, error)) return path;
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  return !error && std::filesystem::is_regular_file(real, error) ? real : path;
}

/// Whether `name` is what a process that is no more called the unfinished file of that final name.
bool isLeftover(std::string_view name, std::string_view finalName) {
  if (!name.starts_with(kUnfinished)) return false;
  name.remove_prefix(kUnfinished.size());
  pid_t pid = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
  if (error != std::errc() || pid <= 0) return false;
  name.remove_prefix(static_cast<std::size_t>(end - name.data()));
  return name.size() == finalName.size() + 1 && name[0] == '-' && name.substr(1) == finalName && ::kill(pid, 0) != 0 &&
         errno == ESRCH;
}

/// Removes what exports to this name left that were killed, or ended with the machine.
void removeLeftovers(const std::filesystem::path& path) {
  std::error_code error;
  std::vector<std::filesystem::path> leftovers;
  for (std::filesystem::directory_iterator at(folderOf(path), error), end; !error && at != end; at.increment(error)) {
    if (isLeftover(at->path().filename().string(), path.filename().string())) leftovers.push_back(at->path());
  }
  for (const auto& leftover : leftovers) discard(leftover);
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
  return format == Format::Lcn && std::filesystem::is_regular_file(path, ignored) ? addTracks(path) : prof::Status();
}

/// People know a file by the name that it was to get.
prof::Error named(std::string message, const std::filesystem::path& unfinished, const std::filesystem::path& path) {
  const std::size_t at = message.find(unfinished.string());
  if (at != std::string::npos) message.replace(at, unfinished.string().size(), path.string());
  return prof::Error{std::move(message)};
}

}  // namespace

std::filesystem::path unfinishedName(const std::filesystem::path& path) {
  std::error_code ignored;
  const std::filesystem::path real = behindLink(path);
  const auto kind = std::filesystem::symlink_status(real, ignored).type();
  if (kind != std::filesystem::file_type::regular && kind != std::filesystem::file_type::not_found) return path;
  const std::filesystem::path folder = folderOf(real);
  if (::access(folder.c_str(), W_OK | X_OK) != 0) return path;
  return folder / fmt::format("{}{}-{}", kUnfinished, ::getpid(), real.filename().string());
}

prof::Status writeWhole(const std::filesystem::path& path,
                        const std::function<prof::Status(const std::filesystem::path&)>& write) {
  const std::filesystem::path unfinished = unfinishedName(path);
  if (unfinished == path) return write(path);
  const std::filesystem::path real = behindLink(path);
  removeLeftovers(real);
  prof::Status status = prof::createDraft(unfinished);
  if (status) status = write(unfinished);
  if (status) status = prof::publishDraft(unfinished, real);
  if (status) return status;
  discard(unfinished);
  return named(status.error().message, unfinished, path);
}

namespace {

/// `done` is called when the store is no longer read.
prof::Status exportAndCall(const Store& store, const std::filesystem::path& path, Format format,
                           const ExportOptions& options, const std::function<void()>& done) {
  std::error_code ignored;
  if (std::filesystem::equivalent(store.path(), path, ignored)) {
    return prof::Error{fmt::format("{}: is the trace that is read; name another file to write", path.string())};
  }
  if (const auto target = prof::checkTarget(path); !target) return target;
  return writeWhole(path, [&](const auto& unfinished) {
    const prof::Status written = writeRows(store, unfinished, format, options);
    if (!written) return written;
    done();
    return addTimeline(unfinished, format);
  });
}

}  // namespace

prof::Status exportTrace(const Store& store, const std::filesystem::path& path, Format format,
                         const ExportOptions& options) {
  return exportAndCall(store, path, format, options, [] {});
}

prof::Status exportTrace(std::shared_ptr<const Store>&& store, const std::filesystem::path& path, Format format,
                         const ExportOptions& options) {
  std::shared_ptr<const Store> last = std::move(store);
  return exportAndCall(*last, path, format, options, [&] { last = nullptr; });
}

}  // namespace lacuna::analyzer
