// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "store/watched_store.h"

#include "store/backend.h"

namespace lacuna::analyzer {
namespace {

class WatchedBackend final : public Store::Backend {
 public:
  WatchedBackend(std::shared_ptr<const Store> store, Progress watch)
      : store_(std::move(store)), inner_(store_->backend()), watch_(std::move(watch)) {}

  [[nodiscard]] std::uint64_t rows(std::size_t table) const override { return inner_.rows(table); }
  [[nodiscard]] ColumnView column(std::size_t table, std::size_t column) const override {
    return inner_.column(table, column);
  }
  prof::Status scan(std::size_t table, std::span<const std::size_t> columns,
                    prof::TimeWindow window,
                    const std::function<bool(const RowBlock&)>& visit) const override {
    const auto rows = static_cast<double>(inner_.rows(table));
    bool stopped = false;
    const prof::Status status = inner_.scan(table, columns, window, [&](const RowBlock& block) {
      stopped = !watch_(static_cast<double>(block.firstRow) / rows);
      return !stopped && visit(block);
    });
    if (stopped) return prof::Error{"cancelled"};
    return status;
  }
  [[nodiscard]] std::unique_ptr<RowStream> stream(std::size_t table,
                                                  std::span<const std::size_t> columns,
                                                  prof::TimeWindow window) const override {
    return inner_.stream(table, columns, window);
  }
  void readRow(std::size_t table, std::uint64_t row, std::span<const std::size_t> columns,
               std::span<std::byte* const> out) const override {
    inner_.readRow(table, row, columns, out);
  }
  [[nodiscard]] std::string_view text(prof::StringId id) const override { return inner_.text(id); }
  [[nodiscard]] prof::StringId find(std::string_view text) const override {
    return inner_.find(text);
  }
  [[nodiscard]] std::uint32_t stringCount() const override { return inner_.stringCount(); }
  [[nodiscard]] prof::TimeWindow span() const override { return inner_.span(); }
  [[nodiscard]] std::vector<std::string> warnings() const override { return inner_.warnings(); }
  [[nodiscard]] std::uint64_t damagedReads() const override { return inner_.damagedReads(); }
  [[nodiscard]] const std::filesystem::path& path() const override { return inner_.path(); }
  [[nodiscard]] const prof::Reader* reader() const override { return inner_.reader(); }

 private:
  std::shared_ptr<const Store> store_;
  const Store::Backend& inner_;
  Progress watch_;
};

}  // namespace

std::shared_ptr<const Store> watchScans(const std::shared_ptr<const Store>& store, Progress watch) {
  return std::make_shared<const Store>(
      std::make_shared<const WatchedBackend>(store, std::move(watch)));
}

}  // namespace lacuna::analyzer
