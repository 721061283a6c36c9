// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "lacuna/analyzer/store.h"
#include "lacuna/prof/place_file.h"

namespace lacuna::analyzer {

/// What a trace can be written as. Text formats may be compressed: a path that ends in .gz or .zst is.
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
  /// Whether a file of that name may be replaced.
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
/// What formatOf() knows, for people.
std::string_view formatEndings();
/// Why nothing is known of how to write `out`: by the name that was given with --to, or by its ending.
std::string unknownFormat(std::string_view out, std::string_view to);

/// Writes a trace to a file, whole or not at all; it fails where the trace turns out to be damaged.
prof::Status exportTrace(const Store& store, const std::filesystem::path& path, Format format,
                         const ExportOptions& options = {});
/// The same of a store that nobody else keeps: it goes as soon as its rows are written, before a .lcn gets its
/// timeline, so that the memory of only one of the two is needed at a time.
prof::Status exportTrace(std::shared_ptr<const Store>&& store, const std::filesystem::path& path, Format format,
                         const ExportOptions& options = {});

}  // namespace lacuna::analyzer
