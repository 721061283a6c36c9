// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "format/planner.h"

#include <algorithm>
#include <cstring>

namespace lacuna::prof::format {
namespace {

constexpr std::size_t kSampleRows = 8192;
constexpr std::size_t kBlocksPerPlan = 32;
/// A prediction from another column makes readers decode that one too, so it has to save this share
/// at least.
constexpr std::size_t kDependentGain = 10;  // percent
constexpr std::size_t kMaxKeys = 5;
constexpr std::uint8_t kMeanShift = 2;

bool constantIn(const ColumnView& view, std::size_t rows) {
  const auto* bytes = static_cast<const std::byte*>(view.values);
  const std::size_t width = widthOf(view.type);
  return std::memcmp(bytes, bytes + width, (rows - 1) * width) == 0;
}

Plan basePlan(Base base) {
  Plan plan;
  plan.base = base;
  return plan;
}

bool dependent(const Plan& plan) {
  return plan.baseColumn != kNoColumn || plan.groupColumn != kNoColumn ||
         plan.contextColumn != kNoColumn;
}

/// The columns that a plan uses besides its own.
std::vector<std::uint8_t> usedBy(const Plan& plan) {
  std::vector<std::uint8_t> used;
  for (const std::uint8_t column : {plan.baseColumn, plan.groupColumn, plan.contextColumn}) {
    if (column != kNoColumn) used.push_back(column);
  }
  return used;
}

bool risesWithTime(const ColumnSpec& column) {
  return column.hint == Hint::Time || column.hint == Hint::Rising;
}

}  // namespace

Planner::Planner(std::span<const ColumnSpec> columns) : columns_(columns), plans_(columns.size()) {}

const std::vector<Plan>& Planner::plans(std::span<const ColumnView> views, std::size_t rows,
                                        Encoder& encoder) {
  if (untilNext_ > 0 && rows <= plannedRows_ * 4) {
    --untilNext_;
    return plans_;
  }
  untilNext_ = kBlocksPerPlan;
  plannedRows_ = rows;
  const std::size_t sample = std::min(rows, kSampleRows);
  const std::size_t first = (rows - sample) / 2;
  std::vector<ColumnView> sampled(views.begin(), views.end());
  for (ColumnView& view : sampled) {
    view.values = static_cast<const std::byte*>(view.values) + first * widthOf(view.type);
  }
  std::vector<std::uint8_t> keys;
  std::vector<std::size_t> varying;
  for (std::size_t c = 0; c < std::min<std::size_t>(columns_.size(), kNoColumn); ++c) {
    plans_[c] = Plan{};
    if (constantIn(sampled[c], sample)) continue;
    varying.push_back(c);
    if (columns_[c].refers != Refers::Nothing && keys.size() < kMaxKeys)
      keys.push_back(static_cast<std::uint8_t>(c));
  }
  encoder.begin(sampled, sample);
  // Keys first: what they are predicted from narrows what they may serve for, and the other way
  // round.
  for (const std::uint8_t key : keys) choose(key, keys, encoder);
  for (const std::size_t c : varying) {
    if (std::find(keys.begin(), keys.end(), c) == keys.end()) choose(c, keys, encoder);
  }
  return plans_;
}

bool Planner::mayUse(std::size_t column, std::uint8_t other) const {
  if (other == column) return false;
  const auto used = usedBy(plans_[other]);
  return std::all_of(used.begin(), used.end(),
                     [&](std::uint8_t next) { return mayUse(column, next); });
}

void Planner::tryPlan(std::size_t column, const Plan& plan, Encoder& encoder) {
  for (const std::uint8_t other : usedBy(plan)) {
    if (!mayUse(column, other)) return;
  }
  scratch_.clear();
  encoder.encode(plan, column, scratch_);
  const bool costsMore = dependent(plan) && !dependent(plans_[column]);
  const std::size_t bytes =
      costsMore ? scratch_.size() * (100 + kDependentGain) / 100 : scratch_.size();
  if (bytes >= bestBytes_) return;
  bestBytes_ = scratch_.size();
  plans_[column] = plan;
}

void Planner::choose(std::size_t column, std::span<const std::uint8_t> keys, Encoder& encoder) {
  const ColumnSpec& spec = columns_[column];
  bestBytes_ = SIZE_MAX;
  const bool rising = risesWithTime(spec);
  const bool narrow = widthOf(spec.type) == 1;
  if (!rising) tryPlan(column, basePlan(Base::None), encoder);
  if (!rising && !narrow && spec.hint != Hint::Length)
    tryPlan(column, Plan{.scheme = Scheme::Dictionary}, encoder);
  if (rising || spec.refers == Refers::Nothing) tryPlan(column, basePlan(Base::Previous), encoder);
  for (std::size_t c = 0; rising && spec.hint == Hint::Time && c < columns_.size(); ++c) {
    if (columns_[c].hint != Hint::Length || columns_[c].type != spec.type) continue;
    Plan end = basePlan(Base::PreviousEnd);
    end.baseColumn = static_cast<std::uint8_t>(c);
    tryPlan(column, end, encoder);
  }
  const Plan independent = plans_[column];
  for (const std::uint8_t key : keys) {
    if (rising) {
      Plan grouped = independent;
      grouped.groupColumn = key;
      tryPlan(column, grouped, encoder);
    } else {
      Plan last;
      last.contextColumn = key;
      tryPlan(column, last, encoder);
    }
    if (!rising && spec.refers != Refers::Nothing) continue;
    Plan mean = rising ? independent : Plan{};
    mean.contextColumn = key;
    mean.contextShift = kMeanShift;
    tryPlan(column, mean, encoder);
  }
  for (const std::uint8_t key : keys) {
    if (!rising || plans_[column].groupColumn == kNoColumn) continue;
    Plan both = plans_[column];
    both.contextColumn = key;
    both.contextShift = kMeanShift;
    tryPlan(column, both, encoder);
  }
}

}  // namespace lacuna::prof::format
