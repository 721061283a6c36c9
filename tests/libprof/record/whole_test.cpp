// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "lacuna/prof/recording.h"
#include "lacuna/prof/said_whole.h"
#include "libprof/record/recorded.h"

namespace lacuna::prof {
namespace {

using WholeTest = RecordingTest;

constexpr std::size_t kSegment = LACUNA_SEGMENT_BYTES;

/// An operator that has just run.
SaidWhole wholeOperator() {
  const LacunaName domain = lacunaName("lacuna.rt");
  SaidWhole said;
  said.beginStamp = lacunaStamp_();
  said.startStamp = lacunaStamp_();
  said.stopStamp = lacunaStamp_();
  said.endStamp = lacunaStamp_();
  said.domain = domain;
  said.name = lacunaSite(lacunaName("add"), domain, lacunaName("operator"), 0);
  said.executionName = lacunaSite(lacunaName("add"), domain, lacunaName("execution"), 0);
  said.shapes = lacunaName("f32[1] f32[1]");
  said.correlation = said.execution.correlation = 41;
  said.sequence = 12;
  said.execution.sequence = 7;
  said.execution.bytes = 12;
  said.memory = {.address = 0x7f1234567840,
                 .bytes = 4,
                 .sequence = 6,
                 .op = lacunaName("add"),
                 .tensor = lacunaName("sum"),
                 .role = static_cast<std::uint8_t>(MemoryRole::Activation)};
  said.hasMemory = true;
  return said;
}

/// The same, event by event.
void tellInParts(const SaidWhole& said) {
  LacunaEvent begin{};
  begin.domain = said.domain;
  begin.name = said.name;
  begin.payloadType = LacunaPayloadU64;
  begin.payload = said.sequence;
  begin.correlation = said.correlation;
  begin.text = said.shapes;
  lacunaRangePushEvent(&begin);
  recordMemory(said.memory);
  lacunaPushExecution_(said.domain, said.executionName, 0, &said.execution);
  lacunaDomainRangePop(said.domain);
  lacunaDomainRangePop(said.domain);
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
    add("range", file.text(row.name), file.text(row.domain), file.text(row.category), file.text(row.text), row.depth,
        row.flags, static_cast<int>(row.payloadType), row.payload, row.correlation, row.thread.value);
  }
  for (const Kernel& row : file.rows<Kernel>()) {
    add("kernel", file.text(row.name), row.queue.value, row.device.value, row.correlation, row.flags);
  }
  for (const ApiCall& row : file.rows<ApiCall>()) {
    add("call", file.text(row.name), row.correlation, row.thread.value, row.durNs);
  }
  for (const Allocation& row : file.rows<Allocation>()) {
    add("memory", row.address, row.bytes, row.sequence, static_cast<int>(row.action), static_cast<int>(row.role),
        file.text(row.op), file.text(row.tensor), row.queue.value, row.thread.value);
  }
  std::sort(all.begin(), all.end());
  return all;
}

TEST_F(WholeTest, OperatorsAreTheRowsOfTheirParts) {
  // Also operators that do not fit into one record: sizes, numbers that are far apart, no memory.
  const auto variants = [] {
    std::vector<SaidWhole> all(6, wholeOperator());
    all[1].memory.bytes = std::uint64_t{1} << 40;
    all[2].execution.bytes = 1 << 24;
    all[3].memory.sequence = 7;
    all[3].execution.sequence = 1'000'000;
    all[4].endStamp += std::uint64_t{1} << 33;
    all[5].execution.kind = 3;
    return all;
  };
  auto parts = Session::start(trace());
  for (const SaidWhole& said : variants()) tellInParts(said);
  ASSERT_OK((*parts).stop());
  const std::vector<std::string> expected = rowsWithoutTimes(trace());
  auto session = Session::start(trace());
  for (const SaidWhole& said : variants()) lacunaWhole_(&said);
  ASSERT_OK((*session).stop());
  EXPECT_EQ(rowsWithoutTimes(trace()), expected);
}

TEST_F(WholeTest, OperatorsKeepTheirTimes) {
  auto session = Session::start(trace());
  lacunaMark(lacunaName("before"));
  SaidWhole said = wholeOperator();
  const std::uint64_t begin = said.beginStamp;
  said.startStamp = begin + 300'000;
  said.stopStamp = begin + 500'000;
  said.endStamp = begin + 900'000;
  lacunaWhole_(&said);
  ASSERT_OK((*session).stop());
  Trace file(trace());
  const Kernel kernel = file.rows<Kernel>().at(0);
  ASSERT_EQ(file.rows<Range>().size(), 2u);
  const Range execution = file.rows<Range>()[0].depth == 1 ? file.rows<Range>()[0] : file.rows<Range>()[1];
  const Range range = file.rows<Range>()[0].depth == 0 ? file.rows<Range>()[0] : file.rows<Range>()[1];
  EXPECT_GE(range.startNs, file.rows<Mark>().at(0).timeNs);
  EXPECT_EQ(kernel.startNs, execution.startNs);
  EXPECT_EQ(kernel.durNs, execution.durNs);
  EXPECT_EQ(file.rows<Allocation>().at(0).timeNs, kernel.startNs);
  const auto sinceBegin = static_cast<double>(kernel.startNs - range.startNs);
  EXPECT_NEAR(sinceBegin / static_cast<double>(range.durNs), 3.0 / 9, 0.01);
  EXPECT_NEAR(static_cast<double>(kernel.durNs) / static_cast<double>(range.durNs), 2.0 / 9, 0.01);
}

TEST_F(WholeTest, DroppedOperatorsCountForTheirParts) {
  ASSERT_OK(createRecording(recordingDir(), {.poolBytes = kSegment, .maxPoolBytes = kSegment, .sharedMemory = false}));
  ASSERT_EQ(lacunaAttach(recordingDir().c_str()), 0);
  constexpr std::uint64_t kOperators = 5000;
  const SaidWhole said = wholeOperator();
  for (std::uint64_t i = 0; i < kOperators; ++i) lacunaWhole_(&said);
  lacunaDetach();
  const auto stats = recover(recordingDir(), trace(), false);
  ASSERT_OK(stats);
  EXPECT_GT((*stats).dropped, 0u);
  EXPECT_EQ((*stats).events + (*stats).dropped, 3 * kOperators);
}

TEST_F(WholeTest, OperatorsThatAreNotOverStayOpen) {
  auto session = Session::start(trace());
  SaidWhole said = wholeOperator();
  said.stopStamp = said.endStamp = 0;
  lacunaWhole_(&said);
  lacunaMark(lacunaName("in between"));
  lacunaDomainRangePop(said.domain);
  lacunaDomainRangePop(said.domain);
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
