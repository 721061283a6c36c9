// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lacuna/analyzer/store.h"
#include "lacuna/prof/place_file.h"
#include "lacuna/prof/result.h"

namespace lacuna::analyzer {

/// The registry: one line for each kind of file that can be read, in the order in which sniff()
/// tries them. The importer of a kind, kKindImporter, is defined in a file of its own under
/// analyzer/src/import/.
#define LACUNA_IMPORTERS(IMPORTER) \
  IMPORTER(Lcn)                    \
  IMPORTER(Json)                   \
  IMPORTER(Sqlite)                 \
  IMPORTER(Perfetto)               \
  IMPORTER(Pickle)

/// The kind of a file, by its first bytes (decompressed).
enum class SourceKind {
  Empty,
#define LACUNA_SOURCE_KIND(name) name,
  LACUNA_IMPORTERS(LACUNA_SOURCE_KIND)
#undef LACUNA_SOURCE_KIND
      Unknown
};
/// Reads some bytes of the file. Fails where it cannot be read, and on a compressed .lcn, which is
/// read in any order.
prof::Result<SourceKind> sniff(const std::filesystem::path& path);

/// The kind in words for people.
std::string_view describe(SourceKind kind);

/// The formats that a trace can be written in. A text format is compressed where the path ends in
/// .gz or .zst.
enum class Format {
  Lcn,         ///< .lcn, everything
  Chrome,      ///< .json: Chrome's trace event format, as Kineto writes it
  Perfetto,    ///< .pftrace: Perfetto's protocol buffers
  Nsys,        ///< .sqlite: Nsight Systems' SQLite schema
  Folded,      ///< .folded: one line for each stack with its self time in ns, for flame graphs
  Speedscope,  ///< .speedscope.json: one evented profile for each thread
  Csv,         ///< .csv: one table
  TableJson,   ///< one table, one JSON object a row
};

struct ExportOptions {
  /// The table to write as Csv or TableJson.
  std::string table = "kernel";
  /// Keeps or replaces a file that has that name already.
  prof::Existing existing = prof::Existing::Replace;
  Progress progress;
  /// Hears what the format cannot hold, in words for people.
  std::function<void(const std::string&)> warn;
};

/// By the ending of a path; nothing for an ending that no format has.
std::optional<Format> formatOf(const std::filesystem::path& path);
/// By name: lcn, chrome, perfetto, nsys, folded, speedscope, csv, table-json.
std::optional<Format> formatNamed(std::string_view name);
std::string_view formatNames();
/// The endings that formatOf() knows, for people.
std::string_view formatEndings();
/// Why `out` cannot be written: the name given with --to, or its ending, is no format.
std::string unknownFormat(std::string_view out, std::string_view to);

/// Writes a trace to a file, whole or not at all; it fails where the trace turns out to be damaged.
prof::Status exportTrace(const Store& store, const std::filesystem::path& path, Format format,
                         const ExportOptions& options = {});
/// The same for a store that nobody else keeps. It is freed as soon as its rows are written, before
/// a .lcn gets its timeline. So only one of the two needs memory at a time.
prof::Status exportTrace(std::shared_ptr<const Store>&& store, const std::filesystem::path& path,
                         Format format, const ExportOptions& options = {});

/// The way in which a trace's clock was brought to that of the first one.
enum class AlignedBy : std::uint8_t {
  Reference,    ///< it is the first one
  Collectives,  ///< the ends of the collectives that both took part in
  Clocks,       ///< the time of day by both clocks
  Markers,      ///< the starts of the steps with the same marker
  Start,        ///< nothing better: both traces' first moments are laid on each other
};
std::string_view nameOf(AlignedBy how);

struct Alignment {
  AlignedBy how = AlignedBy::Reference;
  std::int64_t offsetNs = 0;  ///< was added to the trace's times
  std::uint64_t matches = 0;  ///< collectives or markers that show it
  std::int64_t spreadNs = 0;  ///< median distance of single matches from the offset
};

struct Merged {
  std::shared_ptr<const Store> store;
  std::vector<Alignment> alignments;  ///< one for each input
};

/// The difference between the time of day and the trace's clock, where the trace knows it.
std::optional<std::int64_t> timeOfDay(const Store& store);

/// Puts traces of one job, such as its ranks, on the first one's clock into one trace. Processes,
/// threads, devices and queues stay apart (devices with the same unique id are one); processes
/// without a rank get the number of their trace when no trace has ranks. Everything is held in
/// memory.
///
/// Collectives: the k-th of each name within each step of both traces belong together where both
/// have as many. All ranks leave a collective at nearly the same time, so the offset is the median
/// difference of the ends. Fails where a trace turns out to be damaged while it is read.
prof::Result<Merged> mergeTraces(std::span<const std::shared_ptr<const Store>> inputs);

}  // namespace lacuna::analyzer
