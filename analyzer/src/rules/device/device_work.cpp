// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "rules/device/device_work.h"

#include <cmath>

#include "analyses/work/kernels.h"
#include "lacuna/prof/bounds.h"

namespace lacuna::analyzer {

KernelShares kernelShares(const Analysis& analysis) {
  KernelShares shares;
  for (const KernelRow& row : analysis.of<KernelTable>()) {
    if (row.work == Work::Communication) continue;
    prof::addTo(shares.all, row.totalNs);
    if (row.matrix) prof::addTo(shares.matrix, row.totalNs);
    if (row.matrix && !row.tensorCore) prof::addTo(shares.matrixWithoutCores, row.totalNs);
    if (row.pointwise) {
      prof::addTo(shares.pointwise, row.totalNs);
      shares.pointwiseCount += row.count;
    }
  }
  return shares;
}

void offer(const Facts& facts, Outcome& out, Finding finding, std::string_view change,
           const Threshold& atLeast) {
  const auto prediction = facts.play(change);
  if (prediction && prediction->gainShare() >= atLeast) out.add(std::move(finding), change);
}

Quantity roundedCount(std::string_view name, double count, std::string_view one) {
  return Quantity::counted(name, static_cast<std::uint64_t>(std::llround(count)), one);
}

}  // namespace lacuna::analyzer
