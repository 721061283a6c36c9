// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "analyses/time/projection.h"
#include "report/sections/registry.h"

namespace lacuna::analyzer::sections {
namespace of_ranges {
namespace {

const Column<ProjectedRange> kColumns[]{
    {{"name", "name", ColumnKind::Name, "the range"}, kValueOf<&ProjectedRange::name>},
    {{"count", "count", ColumnKind::Count, "ranges that launched work"},
     kValueOf<&ProjectedRange::count>},
    {{"work", "work", ColumnKind::Count, "kernels, copies and memsets that they launched"},
     kValueOf<&ProjectedRange::work>},
    {{"host_ns", "on the host", ColumnKind::Time, "of the ranges themselves"},
     kValueOf<&ProjectedRange::hostNs>},
    {{"projected_ns", "on a device", ColumnKind::Time,
      "from the first start of a range's work to its last end"},
     kValueOf<&ProjectedRange::projectedNs>},
    {{"busy_ns", "busy", ColumnKind::Time, "of that, while its work ran"},
     kValueOf<&ProjectedRange::busyNs>},
    {{"min_ns", "", ColumnKind::Time, "of `projected_ns`, the shortest"},
     kValueOf<&ProjectedRange::minNs>},
    {{"max_ns", "", ColumnKind::Time, "of `projected_ns`, the longest"},
     kValueOf<&ProjectedRange::maxNs>},
};

std::vector<Table> tables(const Analysis& analysis) {
  return {tableOf("projected_ranges",
                  "ranges by the device work launched inside them; longest on a device first",
                  kColumns, analysis.of<ProjectedRanges>())};
}

}  // namespace
}  // namespace of_ranges

constinit const Section ranges{
    .name = "ranges",
    .title = "Ranges on the device",
    .about = "annotated ranges by the device work launched inside them",
    .tables = of_ranges::tables,
    .remedy =
        "mark phases with NVTX ranges (torch.profiler.record_function in PyTorch): what is "
        "launched inside of them is summed up here",
};

}  // namespace lacuna::analyzer::sections
