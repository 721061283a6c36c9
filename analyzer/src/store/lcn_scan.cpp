// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "store/lcn_scan.h"

#include <algorithm>
#include <mutex>
#include <numeric>
#include <utility>

namespace lacuna::analyzer {

using prof::TimeNs;

void LcnBackend::Scan::restrictTo(std::uint64_t firstRow, std::uint64_t lastRow) {
  firstWanted_ = firstRow;
  lastWanted_ = lastRow;
}

void LcnBackend::Scan::run() {
  while (advance()) {
  }
}

bool LcnBackend::Scan::advance() {
  if (stopped_) return false;
  const bool last = at_ >= table_.blocks.size() || firstRow_ > lastWanted_;
  if (last || (table_.time && table_.blocks[at_].time.startNs >= window_.endNs)) {
    flush(last ? INT64_MAX : table_.blocks[at_].time.startNs);
    stopped_ = true;
    return false;
  }
  const TimeNs horizon =
      at_ + 1 < table_.blocks.size() ? table_.blocks[at_ + 1].time.startNs : INT64_MAX;
  step(at_++, horizon);
  return true;
}

LcnSeen LcnBackend::Scan::seen(std::size_t i) const {
  const std::scoped_lock lock(table_.mutex);
  return table_.seen[i];
}

void LcnBackend::Scan::loadTimes(std::size_t i, Rows& rows) {
  const prof::BlockInfo& block = table_.blocks[i];
  rows.starts.resize(block.rows);
  rows.lengths.assign(block.rows, 0);
  std::vector<prof::ColumnSpec> specs{table_.spec.columns[*table_.time]};
  std::vector<void*> out{rows.starts.data()};
  if (table_.length) {
    specs.push_back(table_.spec.columns[*table_.length]);
    out.push_back(rows.lengths.data());
  }
  store_.readBlock(block, specs, out);
  LcnSeen learnt{true, true, block.rows == 0 ? 0 : *std::ranges::max_element(rows.starts)};
  for (std::size_t r = 1; r < block.rows && learnt.sorted; ++r)
    learnt.sorted = !before(rows, r, r - 1);
  const std::scoped_lock lock(table_.mutex);
  table_.seen[i] = learnt;
}

bool LcnBackend::Scan::before(const Rows& rows, std::size_t a, std::size_t b) {
  return rows.starts[a] != rows.starts[b] ? rows.starts[a] < rows.starts[b]
                                          : rows.lengths[a] > rows.lengths[b];
}

void LcnBackend::Scan::loadValues(std::size_t i, Rows& rows) {
  const prof::BlockInfo& block = table_.blocks[i];
  std::vector<prof::ColumnSpec> specs;
  std::vector<void*> out;
  rows.count = block.rows;
  rows.values.resize(wanted_.size());
  for (std::size_t c = 0; c < wanted_.size(); ++c) {
    specs.push_back(table_.spec.columns[wanted_[c]]);
    rows.values[c].resize(block.rows * widthOf(specs[c].type));
    out.push_back(rows.values[c].data());
  }
  store_.readBlock(block, specs, out);
}

void LcnBackend::Scan::step(std::size_t i, TimeNs horizon) {
  const prof::BlockInfo& block = table_.blocks[i];
  if (!table_.time) {
    giveBlock(i, block.rows);
    return;
  }
  LcnSeen known = seen(i);
  block_.starts.clear();
  if (!known.known) {
    loadTimes(i, block_);
    known = seen(i);
  }
  if (block.time.endNs < window_.startNs) {
    counted_.push_back(i);
    return;
  }
  if (pending_.count == 0) settle(block.time.startNs);
  if (pending_.count == 0 && counted_.empty() && known.sorted && known.lastStart < horizon) {
    giveBlock(i, block.rows);
    return;
  }
  if (block_.starts.empty()) loadTimes(i, block_);
  loadValues(i, block_);
  block_.hidden.assign(block.rows, 0);
  append(i);
  pendingLast_ = std::max(pendingLast_, known.lastStart);
  if (pending_.count >= 2 * left_ || pendingLast_ < horizon) flush(horizon);
}

void LcnBackend::Scan::giveBlock(std::size_t i, std::uint64_t rows) {
  if (firstRow_ + rows <= firstWanted_) {
    firstRow_ += rows;
    return;
  }
  loadValues(i, block_);
  give(block_, rows);
}

void LcnBackend::Scan::settle(TimeNs horizon) {
  if (counted_.empty()) return;
  std::vector<TimeNs> ready;
  for (std::size_t r = 0; r < pending_.count; ++r) {
    if (pending_.hidden[r] == 0 && pending_.starts[r] < horizon)
      ready.push_back(pending_.starts[r]);
  }
  std::ranges::sort(ready);
  std::erase_if(counted_, [&](std::size_t i) {
    const prof::BlockInfo& block = table_.blocks[i];
    const TimeNs lastStart = seen(i).lastStart;
    const auto next = std::ranges::lower_bound(ready, block.time.startNs);
    if (next != ready.end() && *next <= lastStart) {
      loadTimes(i, block_);
      appendHidden(i, std::vector<std::uint64_t>(block.rows, 1));
    } else if (lastStart >= horizon) {
      return false;
    } else if (next == ready.begin()) {
      firstRow_ += block.rows;
    } else if (block.rows > 0) {
      block_.starts.assign(1, block.time.startNs);
      block_.lengths.assign(1, 0);
      appendHidden(i, {block.rows});
    }
    return true;
  });
}

void LcnBackend::Scan::appendHidden(std::size_t i, std::vector<std::uint64_t> hidden) {
  block_.count = hidden.size();
  block_.values.resize(wanted_.size());
  for (std::size_t c = 0; c < wanted_.size(); ++c) {
    block_.values[c].assign(hidden.size() * widthOf(table_.spec.columns[wanted_[c]].type),
                            std::byte{0});
  }
  block_.hidden = std::move(hidden);
  append(i);
  late_ = true;
}

void LcnBackend::Scan::append(std::size_t i) {
  pending_.values.resize(wanted_.size());
  const auto join = [](auto& to, const auto& from) {
    to.insert(to.end(), from.begin(), from.end());
  };
  join(pending_.starts, block_.starts);
  join(pending_.lengths, block_.lengths);
  join(pending_.hidden, block_.hidden);
  pending_.blocks.insert(pending_.blocks.end(), block_.count, i);
  for (std::size_t c = 0; c < wanted_.size(); ++c) join(pending_.values[c], block_.values[c]);
  pending_.count += block_.count;
}

void LcnBackend::Scan::flush(TimeNs horizon) {
  if (stopped_) return;
  settle(horizon);
  if (pending_.count == 0) return;
  if (std::exchange(late_, false)) arrange(blockOrder());
  arrange(timeOrder(pending_.starts, &pending_.lengths));
  const auto end = horizon == INT64_MAX ? pending_.starts.end()
                                        : std::ranges::lower_bound(pending_.starts, horizon);
  const auto ready = static_cast<std::size_t>(end - pending_.starts.begin());
  for (std::size_t from = 0; from < ready && !stopped_;) {
    if (pending_.hidden[from] != 0) {
      firstRow_ += pending_.hidden[from++];
      continue;
    }
    std::size_t to = from + 1;
    while (to < ready && pending_.hidden[to] == 0) ++to;
    give(pending_, to - from, from);
    from = to;
  }
  drop(ready);
  left_ = pending_.count;
  if (left_ == 0) pendingLast_ = INT64_MIN;
}

RowOrder LcnBackend::Scan::blockOrder() const {
  RowOrder order(pending_.count);
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::uint32_t row) { return pending_.blocks[row]; });
  return order;
}

void LcnBackend::Scan::arrange(const RowOrder& order) {
  reorder(pending_.starts, order);
  reorder(pending_.lengths, order);
  reorder(pending_.hidden, order);
  reorder(pending_.blocks, order);
  for (std::size_t c = 0; c < wanted_.size(); ++c) {
    permuteRows(pending_.values[c], widthOf(table_.spec.columns[wanted_[c]].type), order);
  }
}

void LcnBackend::Scan::drop(std::size_t count) {
  const auto cut = [&](auto& values, std::size_t width) {
    values.erase(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(count * width));
  };
  cut(pending_.starts, 1);
  cut(pending_.lengths, 1);
  cut(pending_.hidden, 1);
  cut(pending_.blocks, 1);
  for (std::size_t c = 0; c < wanted_.size(); ++c) {
    cut(pending_.values[c], widthOf(table_.spec.columns[wanted_[c]].type));
  }
  pending_.count -= count;
}

void LcnBackend::Scan::give(const Rows& rows, std::size_t count, std::size_t from) {
  std::vector<const std::byte*> pointers;
  for (std::size_t c = 0; c < wanted_.size(); ++c) {
    pointers.push_back(rows.values[c].data() +
                       from * widthOf(table_.spec.columns[wanted_[c]].type));
  }
  if (count > 0 && !visit_({firstRow_, count, pointers})) stopped_ = true;
  firstRow_ += count;
}

}  // namespace lacuna::analyzer
