// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "lacuna/prof/announced_operator.h"
#include "lacuna/prof/recording.h"
#include "libprof/record/recorded.h"

namespace lacuna::prof {
namespace {

using OperatorRecordTest = RecordingTest;

constexpr std::size_t kSegment = LACUNA_SEGMENT_BYTES;

/// An operator that has just run.
AnnouncedOperator completeOperator() {
  const LacunaName domain = lacunaName("lacuna.rt");
  AnnouncedOperator announced;
  announced.beginStamp = lacunaStamp_();
  announced.startStamp = lacunaStamp_();
  announced.stopStamp = lacunaStamp_();
  announced.endStamp = lacunaStamp_();
  announced.domain = domain;
  announced.name = lacunaSite(lacunaName("add"), domain, lacunaName("operator"), 0);
  announced.executionName = lacunaSite(lacunaName("add"), domain, lacunaName("execution"), 0);
  announced.shapes = lacunaName("f32[1] f32[1]");
  announced.correlation = announced.execution.correlation = 41;
  announced.sequence = 12;
  announced.execution.sequence = 7;
  announced.execution.bytes = 12;
  announced.memory = {.address = 0x7f1234567840,
                      .bytes = 4,
                      .sequence = 6,
                      .op = lacunaName("add"),
                      .tensor = lacunaName("sum"),
                      .role = static_cast<std::uint8_t>(MemoryRole::Activation)};
  announced.hasMemory = true;
  return announced;
}

/// The same, event by event.
void recordInParts(const AnnouncedOperator& announced) {
  LacunaEvent begin{};
  begin.domain = announced.domain;
  begin.name = announced.name;
  begin.payloadType = LacunaPayloadU64;
  begin.payload = announced.sequence;
  begin.correlation = announced.correlation;
  begin.text = announced.shapes;
  lacunaRangePushEvent(&begin);
  recordMemory(announced.memory);
  lacunaPushExecution_(announced.domain, announced.executionName, 0, &announced.execution);
  lacunaDomainRangePop(announced.domain);
  lacunaDomainRangePop(announced.domain);
}

/// All but the times of a trace's ranges, kernels, calls and allocations.
std::vector<std::string> rowsWithoutTimes(const std::filesystem::path& path) {
  Trace file(path);
  std::vector<std::string> all;
  const auto add = [&](const auto&... values) {
    std::string line;
    ((line += fmt::format("{} ", values)), ...);
    all.push_back(line);
  };
  for (const Range& row : file.rows<Range>()) {
    add("range", file.text(row.name), file.text(row.domain), file.text(row.category),
        file.text(row.text), row.depth, row.flags, static_cast<int>(row.payloadType), row.payload,
        row.correlation, row.thread.value);
  }
  for (const Kernel& row : file.rows<Kernel>()) {
    add("kernel", file.text(row.name), row.queue.value, row.device.value, row.correlation,
        row.flags);
  }
  for (const ApiCall& row : file.rows<ApiCall>()) {
    add("call", file.text(row.name), row.correlation, row.thread.value, row.durNs);
  }
  for (const Allocation& row : file.rows<Allocation>()) {
    add("memory", row.address, row.bytes, row.sequence, static_cast<int>(row.action),
        static_cast<int>(row.role), file.text(row.op), file.text(row.tensor), row.queue.value,
        row.thread.value);
  }
  std::sort(all.begin(), all.end());
  return all;
}

TEST_F(OperatorRecordTest, OperatorsAreTheRowsOfTheirParts) {
  // Also operators that do not fit into one record: sizes, numbers that are far apart, no memory.
  const auto variants = [] {
    std::vector<AnnouncedOperator> all(6, completeOperator());
    all[1].memory.bytes = std::uint64_t{1} << 40;
    all[2].execution.bytes = 1 << 24;
    all[3].memory.sequence = 7;
    all[3].execution.sequence = 1'000'000;
    all[4].endStamp += std::uint64_t{1} << 33;
    all[5].execution.kind = 3;
    return all;
  };
  auto parts = Session::start(trace());
  for (const AnnouncedOperator& announced : variants()) recordInParts(announced);
  ASSERT_OK((*parts).stop());
  const std::vector<std::string> expected = rowsWithoutTimes(trace());
  auto session = Session::start(trace());
  for (const AnnouncedOperator& announced : variants()) lacunaAnnouncedOperator_(&announced);
  ASSERT_OK((*session).stop());
  EXPECT_EQ(rowsWithoutTimes(trace()), expected);
}

TEST_F(OperatorRecordTest, OperatorsKeepTheirTimes) {
  auto session = Session::start(trace());
  lacunaMark(lacunaName("before"));
  AnnouncedOperator announced = completeOperator();
  const std::uint64_t begin = announced.beginStamp;
  announced.startStamp = begin + 300'000;
  announced.stopStamp = begin + 500'000;
  announced.endStamp = begin + 900'000;
  lacunaAnnouncedOperator_(&announced);
  ASSERT_OK((*session).stop());
  Trace file(trace());
  const Kernel kernel = file.rows<Kernel>().at(0);
  ASSERT_EQ(file.rows<Range>().size(), 2u);
  const Range execution =
      file.rows<Range>()[0].depth == 1 ? file.rows<Range>()[0] : file.rows<Range>()[1];
  const Range range =
      file.rows<Range>()[0].depth == 0 ? file.rows<Range>()[0] : file.rows<Range>()[1];
  EXPECT_GE(range.startNs, file.rows<Mark>().at(0).timeNs);
  EXPECT_EQ(kernel.startNs, execution.startNs);
  EXPECT_EQ(kernel.durNs, execution.durNs);
  EXPECT_EQ(file.rows<Allocation>().at(0).timeNs, kernel.startNs);
  const auto sinceBegin = static_cast<double>(kernel.startNs - range.startNs);
  EXPECT_NEAR(sinceBegin / static_cast<double>(range.durNs), 3.0 / 9, 0.01);
  EXPECT_NEAR(static_cast<double>(kernel.durNs) / static_cast<double>(range.durNs), 2.0 / 9, 0.01);
}

TEST_F(OperatorRecordTest, DroppedOperatorsCountForTheirParts) {
  ASSERT_OK(createRecording(
      recordingDir(), {.poolBytes = kSegment, .maxPoolBytes = kSegment, .sharedMemory = false}));
  ASSERT_EQ(lacunaAttach(recordingDir().c_str()), 0);
  constexpr std::uint64_t kOperators = 5000;
  const AnnouncedOperator announced = completeOperator();
  for (std::uint64_t i = 0; i < kOperators; ++i) lacunaAnnouncedOperator_(&announced);
  lacunaDetach();
  const auto stats = recover(recordingDir(), trace(), false);
  ASSERT_OK(stats);
  EXPECT_GT((*stats).dropped, 0u);
  EXPECT_EQ((*stats).events + (*stats).dropped, 3 * kOperators);
}

TEST_F(OperatorRecordTest, OperatorsThatAreNotOverStayOpen) {
  auto session = Session::start(trace());
  AnnouncedOperator announced = completeOperator();
  announced.stopStamp = announced.endStamp = 0;
  lacunaAnnouncedOperator_(&announced);
  lacunaMark(lacunaName("in between"));
  lacunaDomainRangePop(announced.domain);
  lacunaDomainRangePop(announced.domain);
  ASSERT_OK((*session).stop());
  Trace file(trace());
  const Kernel kernel = file.rows<Kernel>().at(0);
  const TimeNs between = file.rows<Mark>().at(0).timeNs;
  EXPECT_LE(kernel.startNs, between);
  EXPECT_GE(kernel.startNs + kernel.durNs, between);
  for (const Range& range : file.rows<Range>()) EXPECT_EQ(range.flags, 0);
}

}  // namespace
}  // namespace lacuna::prof
