// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cassert>

#include "lacuna/analyzer/store.h"
#include "lacuna/prof/bounds.h"
#include "store/memory_backend.h"
#include "store/string_pool.h"
#include "store/table_sort.h"

namespace lacuna::analyzer {
namespace {

/// Brings every column back to its bounds, and counts the values that were outside.
template <class Row>
std::uint64_t boundColumns(typename Row::Columns& columns) {
  std::uint64_t far = 0;
  std::size_t at = 0;
  columns.forEach([&]<class T>(std::vector<T>& values) {
    const prof::Bounds bounds = prof::boundsOf(prof::tableSpec<Row>().columns[at++]);
    if constexpr (std::is_same_v<T, std::int64_t> || std::is_same_v<T, std::uint64_t>) {
      if (bounds.any()) far += prof::bringBack(bounds, std::span(values));
    }
  });
  return far;
}

template <class Row>
MemoryTable freeze(typename Row::Columns& columns) {
  MemoryTable table;
  sortByTime<Row>(columns);
  std::size_t at = 0;
  columns.forEach([&]<class T>(std::vector<T>& values) {
    auto owner = std::make_shared<const std::vector<T>>(std::exchange(values, {}));
    assert(at == 0 || table.rows == owner->size());
    table.rows = owner->size();
    table.columns.push_back({reinterpret_cast<const std::byte*>(owner->data()), table.rows,
                             prof::tableSpec<Row>().columns[at++].type});
    table.owners.push_back(std::move(owner));
  });
  return table;
}

}  // namespace

struct StoreBuilder::Impl {
  StringPool strings;
  std::vector<std::string> warnings;
  std::filesystem::path path;
};

StoreBuilder::StoreBuilder()
    : tables_(std::make_unique<Tables>()), impl_(std::make_unique<Impl>()) {}
StoreBuilder::~StoreBuilder() = default;

prof::StringId StoreBuilder::intern(std::string_view text) {
  return impl_->strings.intern(text);
}
std::string_view StoreBuilder::text(prof::StringId id) const {
  return impl_->strings.text(id);
}
void StoreBuilder::setPath(const std::filesystem::path& path) {
  impl_->path = path;
}
void StoreBuilder::addWarning(std::string text) {
  impl_->warnings.push_back(std::move(text));
}

std::shared_ptr<const Store> StoreBuilder::build() {
  std::uint64_t far = 0;
  prof::forEachTable([&]<class Row>() { far += boundColumns<Row>(columns<Row>()); });
  if (far > 0) addWarning(fmt::format("{} {}", far, kFarValues));
  std::vector<MemoryTable> tables;
  prof::forEachTable([&]<class Row>() { tables.push_back(freeze<Row>(columns<Row>())); });
  auto backend =
      std::make_shared<MemoryBackend>(std::move(tables), std::move(impl_->strings),
                                      std::move(impl_->warnings), std::move(impl_->path));
  impl_ = std::make_unique<Impl>();
  return std::make_shared<const Store>(std::move(backend));
}

}  // namespace lacuna::analyzer
