// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lacuna/prof/reader.h"
#include "run_description.h"

namespace lacuna::cli {

/// The contents of a trace file, whatever wrote it. The storage of rows is known for .lcn files
/// only.

/// A column over all blocks of its table.
struct ColumnSummary {
  std::string name;
  std::uint64_t rawBytes = 0;
  std::optional<std::uint64_t> storedBytes{};
  std::map<std::string, std::size_t> encodings{};  ///< blocks that use it

  /// The encoding that most blocks use; empty where nothing is stored.
  [[nodiscard]] std::string mainEncoding() const;
};

struct TableSummary {
  std::string name;
  std::uint16_t id = 0;
  std::uint64_t rows = 0;
  std::optional<std::size_t> blocks{};
  std::optional<std::uint64_t> storedBytes{};
  prof::TimeWindow span{INT64_MAX, INT64_MIN};
  std::vector<ColumnSummary> columns{};

  [[nodiscard]] bool isTimed() const { return span.startNs <= span.endNs; }
};

struct TraceSummary {
  std::string file;
  std::string_view source;  ///< the kind of file, in words
  RunDescription run{};     ///< empty where the file is too damaged to be opened as a trace
  std::uint64_t bytes = 0;
  std::uint64_t derivedBytes = 0;  ///< of that, what was computed from the rows and can be again
  std::optional<std::string> formatVersion{};
  std::optional<bool> complete{};
  std::uint64_t strings = 0;
  prof::TimeWindow span{0, 0};
  std::uint64_t droppedEvents = 0;
  std::map<std::string, std::uint64_t> dropReasons{};
  std::vector<prof::Damage> damage{};
  std::vector<std::string> warnings{};  ///< of importers: what of the file could not be read
  std::vector<TableSummary> tables{};   ///< those with rows

  [[nodiscard]] std::uint64_t rows() const;
};

/// Reads the file; of an .lcn only its index, unless every checksum is to be tested.
prof::Result<TraceSummary> summarise(const std::string& file, bool verify);

}  // namespace lacuna::cli
