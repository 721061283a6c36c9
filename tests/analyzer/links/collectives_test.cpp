// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lacuna/analyzer/links.h"
#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {
namespace {

using prof::ArgSetId, prof::ArgType, prof::TimeNs;

constexpr auto kKinds = static_cast<int>(CollectiveKind::Several) + 1;

std::string volumeText(const CollectiveVolume& volume) {
  return fmt::format("{} {} {}", volume.bytes, volume.algorithmBytes, volume.busBytes);
}

/// 1000 bytes among 4 ranks: the share of a rank, the whole buffer, and the bytes across a rank's
/// link. A ring moves 3/4 of the whole where data is gathered or scattered, and twice that where it
/// is reduced for all.
TEST(CollectiveVolume, FollowsFromTheKindAndTheRanks) {
  using enum CollectiveKind;
  const struct {
    CollectiveKind kind;
    std::string_view ofInput, ofMessage;
  } cases[] = {
      {Unknown, "1000 0 0", "1000 0 0"},
      {AllReduce, "1000 1000 1500", "1000 1000 1500"},
      {AllGather, "1000 4000 3000", "1000 4000 3000"},
      {ReduceScatter, "1000 1000 750", "4000 4000 3000"},
      {Broadcast, "1000 1000 1000", "1000 1000 1000"},
      {Reduce, "1000 1000 1000", "1000 1000 1000"},
      {AllToAll, "1000 1000 750", "4000 4000 3000"},
      {Gather, "1000 4000 3000", "1000 4000 3000"},
      {Scatter, "1000 4000 3000", "1000 4000 3000"},
      {Send, "1000 1000 1000", "1000 1000 1000"},
      {Receive, "0 1000 1000", "0 1000 1000"},
      {SendReceive, "1000 1000 1000", "1000 1000 1000"},
      {Several, "1000 0 0", "1000 0 0"},
  };
  static_assert(std::size(cases) == kKinds);
  for (const auto& [kind, ofInput, ofMessage] : cases) {
    EXPECT_EQ(volumeText(volumeOfInput(kind, 1000, 4)), ofInput) << nameOf(kind);
    EXPECT_EQ(volumeText(volumeOfMessage(kind, 1000, 4)), ofMessage) << nameOf(kind);
  }
}

TEST(CollectiveVolume, AloneARankMovesNothingToOthersThatShare) {
  using enum CollectiveKind;
  for (const CollectiveKind kind :
       {AllReduce, AllGather, ReduceScatter, AllToAll, Gather, Scatter}) {
    EXPECT_EQ(volumeText(volumeOfInput(kind, 64, 1)), "64 64 0") << nameOf(kind);
    EXPECT_EQ(volumeOfInput(kind, 64, 0).busBytes, 0)
        << nameOf(kind) << ": the number of ranks is unknown";
  }
  EXPECT_EQ(volumeText(volumeOfInput(AllReduce, 0, 8)), "0 0 0");
}

TEST(CollectiveKind, NamesAreReadInEitherCaseAndWithoutUnderscores) {
  using enum CollectiveKind;
  const std::pair<std::string_view, CollectiveKind> cases[] = {
      {"ncclAllReduce", AllReduce},
      {"all_reduce_coalesced", AllReduce},
      {"ncclReduce", Reduce},
      {"ncclReduceScatter", ReduceScatter},
      {"_reduce_scatter_base", ReduceScatter},
      {"ncclAllGather", AllGather},
      {"gather", Gather},
      {"scatter", Scatter},
      {"ncclBcast", Broadcast},
      {"BROADCAST", Broadcast},
      {"all_to_allv", AllToAll},
      {"ncclSend", Send},
      {"ncclRecv", Receive},
      {"SendRecv", SendReceive},
      {"barrier", Unknown},
      {"", Unknown}};
  for (const auto& [name, kind] : cases) EXPECT_EQ(collectiveKind(name), kind) << name;
}

TEST(CollectiveKind, TheNamesThatReportsPrintAreUnderstoodAgain) {
  using enum CollectiveKind;
  EXPECT_EQ(nameOf(Unknown), "");
  EXPECT_EQ(nameOf(Several), "several");
  for (const CollectiveKind kind :
       {AllReduce, AllGather, ReduceScatter, Broadcast, Reduce, AllToAll, Gather, Scatter, Send})
    EXPECT_EQ(collectiveKind(nameOf(kind)), kind) << nameOf(kind);
}

/// Kernels with the arguments that Kineto writes, in µs.
class KinetoCollectives : public testing::Test {
 protected:
  struct Values {
    std::string_view name = "allreduce", group = "0", description, type = "Float";
    std::int64_t in = 1000, out = 0, ranks = 4;
  };
  void kernel(TimeNs start, const Values& values,
              std::string_view name = "ncclDevKernel_Generic_1") {
    const ArgSetId set(++sets_);
    const auto add = [&](std::string_view key, ArgType type, std::uint64_t value) {
      trace_.append(prof::Arg{set, prof::ArgScope::Argument, trace_.intern(key), type, value});
    };
    const auto addText = [&](std::string_view key, std::string_view value) {
      if (!value.empty()) add(key, ArgType::Text, trace_.intern(value).value);
    };
    addText("Collective name", values.name);
    addText("Process Group Name", values.group);
    addText("Process Group Description", values.description);
    addText("dtype", values.type);
    add("In msg nelems", ArgType::I64, static_cast<std::uint64_t>(values.in));
    add("Out msg nelems", ArgType::I64, static_cast<std::uint64_t>(values.out));
    add("Group size", ArgType::I64, static_cast<std::uint64_t>(values.ranks));
    plain(start, name, set);
  }
  void plain(TimeNs start, std::string_view name, ArgSetId set = {}) {
    trace_.append(
        prof::Kernel{.startNs = start, .durNs = 5, .name = trace_.intern(name), .args = set});
  }
  CollectiveList list(prof::TimeWindow window = {}) {
    store_ = trace_.build();
    sets_ = 0;
    return *listCollectives(*store_, window);
  }
  /// "all_reduce of 0 (4): ×1 4000 4000 6000"
  std::vector<std::string> lines() {
    const CollectiveList found = list();
    std::vector<std::string> out;
    for (const Collective& one : found.calls) {
      const Communicator& among = found.communicatorOf(one);
      out.push_back(fmt::format("{} of {} ({}): ×{} {}", nameOf(one.kind), among.name, among.ranks,
                                one.calls, volumeText(one.volume)));
    }
    return out;
  }

  StoreBuilder trace_;
  std::shared_ptr<const Store> store_;
  std::uint32_t sets_ = 0;
};

TEST_F(KinetoCollectives, ElementsHaveTheSizeOfTheirType) {
  const std::pair<std::string_view, std::uint64_t> sizes[] = {
      {"Double", 8}, {"Long", 8},     {"Float", 4},         {"Int", 4},
      {"Half", 2},   {"BFloat16", 2}, {"Short", 2},         {"Byte", 1},
      {"Char", 1},   {"Bool", 1},     {"Float8_e4m3fn", 1}, {"ComplexFloat", 0}};
  for (const auto& [type, size] : sizes) {
    kernel(1, {.description = {}, .type = type});
    EXPECT_EQ(lines(), std::vector{fmt::format("all_reduce of 0 (4): ×1 {0} {0} {1}", 1000 * size,
                                               1500 * size)})
        << type;
  }
}

TEST_F(KinetoCollectives, ArgumentsNameWhatTheKernelDoesNot) {
  kernel(1, {.name = "_allgather_base", .description = {}});
  kernel(2, {.name = "scatter",
             .description = {},
             .in = 9,
             .out = 10});  // the root alone puts something in
  kernel(3, {.name = "wait", .description = {}}, "ncclDevKernel_ReduceScatter_Sum_f32_RING_LL");
  kernel(4, {.name = "", .description = {}}, "ncclDevKernel_AllReduce_Sum_f32_RING_LL");
  kernel(5, {.description = {}, .type = ""});
  kernel(6, {.description = {}, .in = 0});
  kernel(7, {.description = {}, .in = -5, .ranks = -1});
  EXPECT_EQ(lines(),
            (std::vector<std::string>{
                "all_gather of 0 (4): ×1 4000 16000 12000", "scatter of 0 (4): ×1 40 160 120",
                "reduce_scatter of 0 (4): ×1 4000 4000 3000",
                "all_reduce of 0 (4): ×1 4000 4000 6000", "all_reduce of 0 (4): ×0 0 0 0",
                "all_reduce of 0 (4): ×0 0 0 0", "all_reduce of 0 (0): ×0 0 0 0"}));
}

TEST_F(KinetoCollectives, ACommunicatorIsItsGroupWithItsDescription) {
  kernel(1, {.group = "1", .description = "tensor parallel"});
  kernel(2, {.group = "2", .description = "tensor parallel"});
  kernel(3, {.group = "1", .description = "tensor parallel"});
  kernel(4, {.group = "1", .description = "undefined"});
  kernel(5, {.name = "", .group = "", .description = "unused"}, "ncclDevKernel_AllGather_RING_LL");
  const CollectiveList found = list();
  ASSERT_EQ(found.communicators.size(), 4U);
  EXPECT_EQ(found.communicators[0], Communicator{}) << "none";
  EXPECT_EQ(found.communicators[1],
            (Communicator{.name = "tensor parallel", .group = "1", .ranks = 4}));
  EXPECT_EQ(found.communicators[2],
            (Communicator{.name = "tensor parallel", .group = "2", .ranks = 4}));
  EXPECT_EQ(found.communicators[3], (Communicator{.name = "1", .group = "1", .ranks = 4}));
  std::vector<std::uint32_t> numbers;
  for (const Collective& one : found.calls) numbers.push_back(one.communicator);
  EXPECT_EQ(numbers, (std::vector<std::uint32_t>{1, 2, 1, 3, 0}));
}

TEST_F(KinetoCollectives, ThoseThatStartWithinTheWindowAreListed) {
  for (const TimeNs start : {10, 20, 29, 30})
    plain(start, "ncclDevKernel_AllReduce_Sum_f32_RING_LL");
  plain(25, "ampere_sgemm_128x64");
  const CollectiveList found = list({20, 30});
  ASSERT_EQ(found.calls.size(), 2U);
  EXPECT_EQ(found.calls[0].startNs, 20);
  EXPECT_EQ(found.calls[0].endNs, 25);
  EXPECT_EQ(found.calls[0].kernel, 1U);
  EXPECT_EQ(found.calls[1].startNs, 29);
  EXPECT_EQ(found.calls[1].kernel, 3U) << "the row of the table, other kernels included";
  EXPECT_EQ(found.calls[1].kind, CollectiveKind::AllReduce);
}

}  // namespace
}  // namespace lacuna::analyzer
