// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <vector>

#include "analyzer/analyses/memory/allocations.h"
#include "lacuna/analyzer/memory.h"
#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {
namespace {

using namespace prof;
using test::Allocations;
using test::evenSteps;
using test::kMiB;

TEST(AllocatorState, NamesFragmentationWhereFreePiecesAreTooSmall) {
  Allocations rows;
  rows.add(MemoryAction::Reserve, 1000, 1000);
  rows.add(MemoryAction::Allocate, 1000, 300);
  rows.add(MemoryAction::Allocate, 1300, 400);
  rows.add(MemoryAction::Allocate, 1700, 300);
  rows.add(MemoryAction::Free, 1000, 300);
  rows.add(MemoryAction::Free, 1700, 300);
  rows.add(MemoryAction::Reserve, 5000, 500);
  const auto devices = rows.analysed();
  ASSERT_EQ(devices.size(), 1u);
  const AllocatorState& state = devices[0].allocator;
  EXPECT_EQ(state.atNs, 7);
  EXPECT_EQ(state.reservedBytes, 1000u);
  EXPECT_EQ(state.liveBytes, 400u);
  EXPECT_EQ(state.freeBytes(), 600u);
  EXPECT_EQ(state.largestFreeBytes, 300u);
  EXPECT_EQ(state.freePieces, 2u);
  EXPECT_DOUBLE_EQ(state.fragmentation(), 0.5);
  EXPECT_TRUE(state.fragmented());
  EXPECT_EQ(devices[0].reservedPeakBytes, 1500u);
}

TEST(AllocatorState, IsNotFragmentedWhereThereWasNoRoom) {
  Allocations rows;
  rows.add(MemoryAction::Reserve, 1000, 1000);
  rows.add(MemoryAction::Allocate, 1000, 900);
  rows.add(MemoryAction::Reserve, 5000, 500);
  EXPECT_FALSE(rows.analysed()[0].allocator.fragmented());
}

TEST(DeviceMemory, SeparatesRoles) {
  Allocations rows;
  rows.add(MemoryAction::Allocate, 1, 100, MemoryRole::Parameter);
  rows.add(MemoryAction::Allocate, 2, 40, MemoryRole::Activation);
  rows.add(MemoryAction::Free, 2, 0);
  const auto devices = rows.analysed();
  EXPECT_EQ(devices[0].peakBytes, 140u);
  EXPECT_EQ(devices[0].peakAtNs, 2);
  ASSERT_EQ(devices[0].curve.size(), 3u);
  EXPECT_EQ(devices[0].curve[1].bytes[static_cast<std::size_t>(MemoryRole::Activation)], 40u);
  EXPECT_EQ(devices[0].curve[2].totalBytes(), 100u);
}

TEST(PeakEdits, RankWhatIsFreeBeforeWhatCostsTime) {
  MemoryStats memory;
  memory.peakAtNs = 150;
  memory.live = {{8 * kMiB, MemoryRole::Activation, "", "relu", 120},
                 {6 * kMiB, MemoryRole::Activation, "", "matmul", 110},
                 {5 * kMiB, MemoryRole::Activation, "", "unseen", 110},
                 {4 * kMiB, MemoryRole::Gradient, "net.weight", "", 50},
                 {9 * kMiB, MemoryRole::Parameter, "net.weight", "", 10},
                 {3 * kMiB, MemoryRole::Gradient, "net.bias", "", 140}};
  Steps steps;
  steps.all.resize(2);
  steps.all[0].endNs = steps.all[1].startNs = 100;
  steps.all[1].endNs = 200;
  const std::vector<OperatorRow> operators{
      {.name = "relu", .shapes = {}, .count = 10, .deviceNs = 1000},
      {.name = "matmul", .shapes = {}, .count = 1, .deviceNs = 900}};
  const auto edits = peakEdits(memory, steps, operators);
  ASSERT_EQ(edits.size(), 4u);
  EXPECT_EQ(edits[0].origin, "net.weight");
  EXPECT_EQ(edits[0].kind, PeakEditKind::FreeEarlier);
  EXPECT_EQ(edits[0].bytes, 4 * kMiB);
  EXPECT_EQ(edits[1].origin, "relu");
  EXPECT_EQ(edits[1].costNsPerStep, 100);
  EXPECT_EQ(edits[2].origin, "matmul");
  EXPECT_EQ(edits[2].costNsPerStep, 900);
  EXPECT_EQ(edits[3].costNsPerStep, -1);
}

TEST(PeakEdits, AreForeseenByPlayingThemOnTheAllocations) {
  // Two steps of 100 ns. The first step's gradient lives into the second, whose activation makes
  // the peak; the first step's peak, 14 MiB, is what remains where the second's is lowered.
  Allocations rows;
  rows.addAt(10, MemoryAction::Allocate, 1, 8 * kMiB, MemoryRole::Activation);
  rows.addAt(20, MemoryAction::Allocate, 2, 6 * kMiB, MemoryRole::Gradient);
  rows.addAt(30, MemoryAction::Free, 1, 0);
  rows.addAt(150, MemoryAction::Allocate, 3, 9 * kMiB, MemoryRole::Activation);
  rows.addAt(160, MemoryAction::Free, 2, 0);
  MemoryStats memory;
  memory.peakAtNs = 150;
  memory.live = {{9 * kMiB, MemoryRole::Activation, "", "matmul", 150},
                 {6 * kMiB, MemoryRole::Gradient, "", "matmul", 20}};
  Steps steps;
  steps.all.resize(2);
  steps.all[0].endNs = steps.all[1].startNs = 100;
  steps.all[1].endNs = 200;
  auto edits = peakEdits(memory, steps, {});
  ASSERT_EQ(edits.size(), 2u);
  ASSERT_TRUE(foreseePeaks(*rows.built(), {0, 300}, steps, edits).ok());
  EXPECT_EQ(edits[0].kind, PeakEditKind::FreeEarlier);
  EXPECT_EQ(edits[0].peakAfterBytes, 14 * kMiB);
  EXPECT_EQ(edits[1].kind, PeakEditKind::Recompute);
  EXPECT_EQ(edits[1].peakAfterBytes, 6 * kMiB);
  for (std::size_t n = 0; n < 2; ++n) {
    EXPECT_TRUE(edits[1 - n].concerns(memory.live[n]));
    EXPECT_FALSE(edits[n].concerns(memory.live[n]));
  }
}

}  // namespace
}  // namespace lacuna::analyzer
