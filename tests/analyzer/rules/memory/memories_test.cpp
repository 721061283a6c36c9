// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "rules/memory/memories.h"

#include "analyzer/rules/rule_runs.h"
#include "lacuna/analyzer/memory.h"

namespace lacuna::analyzer {
namespace {

TEST(Memories, AreNoneWithoutAllocations) {
  EXPECT_THAT(memories(Analysis()), testing::IsEmpty());
}

TEST(Memories, OfOneDeviceNeedNoName) {
  const Analysis analysis = analysed({});
  const auto all = memories(analysis);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].where, "");
  EXPECT_EQ(all[0].device, analysis.devices.at(0).id);
  EXPECT_EQ(all[0].memory.peakBytes, 120u << 20);
}

TEST(Memories, OfSeveralDevicesAreEachTheirOwn) {
  const Analysis analysis = analysed({.ranks = 2});
  const auto all = memories(analysis);
  ASSERT_EQ(all.size(), 2U);
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].where, " of " + analysis.devices.at(i).label);
    EXPECT_EQ(all[i].device, analysis.devices.at(i).id);
    EXPECT_EQ(all[i].memory.peakBytes, 120u << 20);
  }
}

TEST(Memories, ATensorComesFromItsOperatorOrIsCalledByItsName) {
  EXPECT_EQ(originOf({.tensor = "weight", .op = "aten::conv2d"}), "weight from aten::conv2d");
  EXPECT_EQ(originOf({.tensor = "", .op = "aten::conv2d"}), "aten::conv2d");
  EXPECT_EQ(originOf({.tensor = "weight", .op = ""}), "weight");
  EXPECT_EQ(originOf({}), "an unnamed operator");
}

TEST(Memories, MoreBytesThanAGainCountsAreAsManyAsItCan) {
  EXPECT_EQ(signedBytes(42), 42);
  EXPECT_EQ(signedBytes(UINT64_MAX), INT64_MAX);
}

TEST(Memories, AMomentBeginsWhereItEnds) {
  const Evidence evidence = momentOf(7, "the peak", prof::DeviceId(3));
  EXPECT_EQ(evidence.startNs, 7);
  EXPECT_EQ(evidence.endNs, 7);
  EXPECT_EQ(evidence.what, "the peak");
  EXPECT_EQ(evidence.device, prof::DeviceId(3));
}

PeakEdit edit(PeakEditKind kind, std::uint32_t device, const char* origin,
              std::uint64_t peakAfterBytes) {
  PeakEdit out;
  out.kind = kind;
  out.device = prof::DeviceId(device);
  out.origin = origin;
  out.peakAfterBytes = peakAfterBytes;
  out.costNsPerStep = kind == PeakEditKind::Recompute ? 2'000'000 : 0;
  return out;
}

/// Edits of a peak of 100 bytes.
Analysis editedPeaks() {
  Analysis analysis;
  analysis.of<PeakEdits>() = {edit(PeakEditKind::FreeEarlier, 1, "aten::relu", 70),
                              edit(PeakEditKind::Recompute, 1, "aten::block", 60),
                              edit(PeakEditKind::FreeEarlier, 2, "aten::loss", 10)};
  return analysis;
}

TEST(PredictedEdit, IsTheOneThatSavesTheDeviceMost) {
  Finding finding;
  finding.advice = "need less";
  predictEdit(editedPeaks(), finding, prof::DeviceId(1), 100);
  EXPECT_EQ(finding.gainBasis, GainBasis::Bytes);
  EXPECT_EQ(finding.gainChain.gain.value(), 40);
  EXPECT_EQ(finding.advice,
            "need less; most helps to recompute aten::block, which takes 2.00 ms a step");
}

TEST(PredictedEdit, OfADeviceThatIsNotKnownMayBeAnyOfThem) {
  Finding finding;
  predictEdit(editedPeaks(), finding, {}, 100);
  EXPECT_EQ(finding.gainChain.gain.value(), 90);
  EXPECT_THAT(finding.advice, testing::HasSubstr("free earlier what is of aten::loss"));
}

TEST(PredictedEdit, ThatSavesNothingIsNone) {
  for (const std::uint64_t peak : {60U, 50U}) {
    Finding finding;
    finding.advice = "need less";
    predictEdit(editedPeaks(), finding, prof::DeviceId(1), peak);
    EXPECT_EQ(finding.gainBasis, GainBasis::None) << peak;
    EXPECT_THAT(finding.notPredicted, testing::StartsWith("nothing that is alive at the peak"))
        << peak;
    EXPECT_EQ(finding.advice, "need less") << peak;
  }
  Finding unknown;
  predictEdit(editedPeaks(), unknown, prof::DeviceId(3), 100);
  EXPECT_EQ(unknown.gainBasis, GainBasis::None);
}

}  // namespace
}  // namespace lacuna::analyzer
