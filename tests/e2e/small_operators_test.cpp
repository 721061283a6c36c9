// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <sstream>
#include <vector>

#include "e2e/run_fixture.h"

namespace lacuna {
namespace {

using prof::Allocation;
using prof::ApiCall;
using prof::Kernel;
using prof::Range;

/// All but the times of the rows, in order of their text.
std::vector<std::string> rowsOf(const prof::Reader& reader) {
  std::vector<std::string> lines;
  const auto add = [&](const auto&... values) {
    std::ostringstream line;
    ((line << values << ' '), ...);
    lines.push_back(line.str());
  };
  const auto text = [&](prof::StringId id) { return reader.text(id); };
  const auto each = [&]<class Row>(const Row&, const auto& write) {
    const auto table = *reader.table<Row>();
    for (std::size_t i = 0; i < reader.rows<Row>(); ++i) write(table.row(i));
  };
  each(Range{}, [&](const Range& row) {
    add("range", text(row.name), text(row.domain), text(row.category), text(row.text), row.depth,
        int{row.flags}, row.payload, row.correlation);
  });
  each(Kernel{},
       [&](const Kernel& row) { add("kernel", text(row.name), row.queue.value, row.correlation); });
  each(ApiCall{},
       [&](const ApiCall& row) { add("call", text(row.name), row.durNs, row.correlation); });
  each(Allocation{}, [&](const Allocation& row) {
    add("memory", row.bytes, static_cast<int>(row.action), static_cast<int>(row.role), text(row.op),
        text(row.tensor), row.sequence, row.queue.value);
  });
  std::sort(lines.begin(), lines.end());
  return lines;
}

// A recorder that waits for ranges hears of each when it begins; another one hears of small
// operators when they are over. The traces are the same.
TEST_F(RunTest, SmallOperatorsAreTheSameRowsCompleteOrInParts) {
  ASSERT_EQ(WEXITSTATUS(record(program("small_operators"))), 0) << errorText();
  const std::vector<std::string> complete = rowsOf(trace());
  const std::string inParts =
      "-o parts.lcn -- env LACUNA_STEP_RANGE=none " + program("small_operators");
  ASSERT_EQ(WEXITSTATUS(lacuna(inParts)), 0) << errorText();
  EXPECT_EQ(complete, rowsOf(trace("parts.lcn")));
  EXPECT_EQ(std::count_if(complete.begin(), complete.end(),
                          [](const auto& row) { return row.starts_with("kernel mul"); }),
            300);
}

// They are reported once, at the beginning, which the ring has long overwritten.
TEST_F(RunTest, ARingThatHasTurnedStillHasTheQueuesAndTheKnobs) {
  ASSERT_EQ(WEXITSTATUS(lacuna("-o out.lcn --ring 1M -- " + program("small_operators") + " 200 3")),
            3)
      << errorText();
  const prof::Reader reader = trace("out.dump-1.lcn");
  ASSERT_GT(reader.rows<prof::Drop>(), 0u) << "it has turned";
  const auto devices = *reader.column<&prof::Device::id>();
  const auto queues = *reader.table<prof::Queue>();
  const auto kernels = *reader.column<&Kernel::queue>();
  ASSERT_FALSE(kernels.empty());
  for (const auto queue : kernels)
    ASSERT_EQ(std::count(queues.id.begin(), queues.id.end(), queue), 1);
  for (const auto device : queues.device)
    EXPECT_EQ(std::count(devices.begin(), devices.end(), device), 1);
  const auto keys = *reader.column<&prof::Environment::key>();
  EXPECT_TRUE(std::any_of(keys.begin(), keys.end(),
                          [&](auto key) { return reader.text(key).starts_with("knob."); }));
}

TEST_F(RunTest, ExecutionsOfSmallOperatorsLieWithinTheirRanges) {
  ASSERT_EQ(WEXITSTATUS(record(program("small_operators"))), 0) << errorText();
  const prof::Reader reader = trace();
  const auto ranges = *reader.table<Range>();
  std::map<std::uint64_t, std::pair<prof::TimeNs, prof::TimeNs>> operators;
  for (std::size_t i = 0; i < reader.rows<Range>(); ++i) {
    const Range row = ranges.row(i);
    if (reader.text(row.category) == "operator")
      operators[row.correlation] = {row.startNs, row.startNs + row.durNs};
  }
  const auto kernels = *reader.table<Kernel>();
  std::size_t within = 0;
  for (std::size_t i = 0; i < reader.rows<Kernel>(); ++i) {
    const Kernel row = kernels.row(i);
    const auto [begin, end] = operators[row.correlation];
    within += row.startNs >= begin && row.startNs + row.durNs <= end ? 1 : 0;
  }
  EXPECT_GE(within, 900u);
}

// Kernels refer by number to the devices and queues that a program describes when it begins.
TEST_F(RunTest, ACaptureRangeKnowsTheDevicesThatWereDescribedBefore) {
  ASSERT_EQ(WEXITSTATUS(lacuna("-o out.lcn --capture-range step -- " + program("small_operators"))),
            0)
      << errorText();
  const prof::Reader reader = trace();
  EXPECT_GT(reader.rows<Kernel>(), 0u);
  EXPECT_EQ(reader.rows<prof::Device>(), 1u);
  EXPECT_EQ(reader.rows<prof::Queue>(), 1u);
}

}  // namespace
}  // namespace lacuna
