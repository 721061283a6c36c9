// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lacuna/prof/events.h"
#include "lacuna/prof/reader.h"
#include "lacuna/prof/result.h"

namespace lacuna::analyzer {

/// Called now and then by long work, possibly from another thread, with 0 … 1; answering false cancels it.
using Progress = std::function<bool(double)>;

struct OpenOptions {
  Progress progress;
};

/// One trace, whatever wrote it, as immutable columnar tables. Cheap to copy the pointer, safe for many threads.
///
/// A table's rows are in the order of their first time column, so neighbouring rows are neighbours in time. `column` keeps
/// what it decoded (meant for traces that fit); `scan` streams blocks in bounded memory (meant for any size).
class Store {
 public:
  /// Opens any source, told apart by its content: .lcn, Kineto or Chrome JSON (also gz, zstd), and whatever importers know.
  static prof::Result<std::shared_ptr<const Store>> open(const std::filesystem::path& path, const OpenOptions& options = {});

  template <class Row>
  [[nodiscard]] std::uint64_t rows() const;
  /// Valid as long as the store.
  template <auto Member>
  [[nodiscard]] std::span<const prof::ValueOf<Member>> column() const;
  /// Calls visit(std::uint64_t firstRow, std::span<const ValueOf<Members>>…) for each block that touches the window, in order.
  template <auto... Members, class Visit>
  prof::Status scan(prof::TimeWindow window, Visit&& visit) const;
  template <class Row>
  [[nodiscard]] Row row(std::uint64_t index) const;

  [[nodiscard]] std::string_view text(prof::StringId id) const;
  /// The id of a text, or the empty id when the trace never mentions it.
  [[nodiscard]] prof::StringId find(std::string_view text) const;
  [[nodiscard]] prof::TimeWindow span() const;
  /// What could not be read, in words for people; shown with every report.
  [[nodiscard]] std::span<const std::string> warnings() const;
  [[nodiscard]] const std::filesystem::path& path() const;

 private:
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

}  // namespace lacuna::analyzer
