// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/analyzer/store_builder.h"

#include <algorithm>
#include <cassert>
#include <numeric>

#include "store/memory_backend.h"
#include "store/string_pool.h"

namespace lacuna::analyzer {
namespace {

using Order = std::vector<std::uint32_t>;

/// The order of the rows by time, of equal starts the longer first; empty when they are in order already.
Order timeOrder(const std::vector<prof::TimeNs>& times, const std::vector<prof::TimeNs>* lengths) {
  const auto before = [&](std::size_t a, std::size_t b) {
    if (times[a] != times[b]) return times[a] < times[b];
    return lengths != nullptr && (*lengths)[a] > (*lengths)[b];
  };
  std::size_t sorted = 1;
  while (sorted < times.size() && !before(sorted, sorted - 1)) ++sorted;
  if (sorted >= times.size()) return {};
  assert(times.size() < UINT32_MAX);
  Order order(times.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), before);
  return order;
}

template <class Row>
Order orderOf(const typename Row::Columns& columns) {
  const std::optional<std::size_t> time = columnWithHint(prof::tableSpec<Row>(), prof::Hint::Time);
  const std::optional<std::size_t> length = columnWithHint(prof::tableSpec<Row>(), prof::Hint::Length);
  const std::vector<prof::TimeNs>* times = nullptr;
  const std::vector<prof::TimeNs>* lengths = nullptr;
  std::size_t at = 0;
  columns.forEach([&]<class T>(const std::vector<T>& values) {
    if constexpr (std::is_same_v<T, prof::TimeNs>) {
      if (time == at) times = &values;
      if (length == at) lengths = &values;
    }
    ++at;
  });
  return times != nullptr ? timeOrder(*times, lengths) : Order();
}

template <class T>
void reorder(std::vector<T>& values, const Order& order) {
  if (order.empty()) return;
  std::vector<T> sorted(values.size());
  for (std::size_t i = 0; i < order.size(); ++i) sorted[i] = values[order[i]];
  values = std::move(sorted);
}

template <class Row>
MemoryTable freeze(typename Row::Columns& columns) {
  MemoryTable table;
  const Order order = orderOf<Row>(columns);
  std::size_t at = 0;
  columns.forEach([&]<class T>(std::vector<T>& values) {
    reorder(values, order);
    auto owner = std::make_shared<const std::vector<T>>(std::exchange(values, {}));
    assert(at == 0 || table.rows == owner->size());
    table.rows = owner->size();
    table.columns.push_back(
        {reinterpret_cast<const std::byte*>(owner->data()), table.rows, prof::tableSpec<Row>().columns[at++].type});
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

StoreBuilder::StoreBuilder() : tables_(std::make_unique<Tables>()), impl_(std::make_unique<Impl>()) {}
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
  std::vector<MemoryTable> tables;
  prof::forEachTable([&]<class Row>() { tables.push_back(freeze<Row>(columns<Row>())); });
  auto backend = std::make_shared<MemoryBackend>(std::move(tables), std::move(impl_->strings),
                                                 std::move(impl_->warnings), std::move(impl_->path));
  impl_ = std::make_unique<Impl>();
  return std::make_shared<const Store>(std::move(backend));
}

}  // namespace lacuna::analyzer
