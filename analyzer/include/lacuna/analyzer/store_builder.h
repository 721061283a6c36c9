// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>

#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {

/// Makes a store in memory: the end of every importer, and how tests write a trace by hand. One thread at a time.
class StoreBuilder {
 public:
  StoreBuilder();
  ~StoreBuilder();
  StoreBuilder(const StoreBuilder&) = delete;
  StoreBuilder& operator=(const StoreBuilder&) = delete;

  /// The same text always gets the same id.
  prof::StringId intern(std::string_view text);
  [[nodiscard]] std::string_view text(prof::StringId id) const;

  template <class Row>
  void append(const Row& row) {
    columns<Row>().push(row);
  }
  /// The rows so far, to fill in bulk; all columns must have the same length when build() is called.
  template <class Row>
  typename Row::Columns& columns() {
    return std::get<typename Row::Columns>(*tables_);
  }

  void setPath(const std::filesystem::path& path);
  void addWarning(std::string text);

  /// Sorts the tables by time (stable) and hands them over; the builder is empty afterwards.
  std::shared_ptr<const Store> build();

 private:
  struct Impl;
  template <class>
  struct TupleOf;
  template <class... Row>
  struct TupleOf<std::tuple<Row...>> {
    using Type = std::tuple<typename Row::Columns...>;
  };
  using Tables = TupleOf<prof::AllRows>::Type;

  std::unique_ptr<Tables> tables_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace lacuna::analyzer
