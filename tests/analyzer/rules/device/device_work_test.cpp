// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "rules/device/device_work.h"

#include "analyses/work/kernels.h"
#include "analyzer/rules/rule_runs.h"

namespace lacuna::analyzer {
namespace {

TEST(KernelShares, AreSumsOfTheKernelsOfEachKind) {
  Analysis analysis;
  analysis.of<KernelTable>() = {
      {.name = "sgemm", .count = 2, .totalNs = 100, .matrix = true},
      {.name = "hgemm", .count = 3, .totalNs = 40, .tensorCore = true, .matrix = true},
      {.name = "relu", .count = 5, .totalNs = 20, .pointwise = true},
      {.name = "gelu", .count = 7, .totalNs = 30, .pointwise = true},
      {.name = "softmax", .count = 11, .totalNs = 10}};
  const KernelShares shares = kernelShares(analysis);
  EXPECT_EQ(shares.all, 200);
  EXPECT_EQ(shares.matrix, 140);
  EXPECT_EQ(shares.matrixWithoutCores, 100);
  EXPECT_EQ(shares.pointwise, 50);
  EXPECT_EQ(shares.pointwiseCount, 12U);
}

TEST(KernelShares, LeaveCommunicationOut) {
  Analysis analysis;
  analysis.of<KernelTable>() = {{.name = "relu", .count = 1, .totalNs = 20, .pointwise = true},
                                {.name = "ncclAddMul",
                                 .count = 1,
                                 .totalNs = 500,
                                 .work = Work::Communication,
                                 .pointwise = true}};
  EXPECT_EQ(kernelShares(analysis).all, 20);
  EXPECT_EQ(kernelShares(analysis).pointwiseCount, 1U);
}

TEST(KernelShares, AreNothingWithoutKernels) {
  EXPECT_EQ(kernelShares(Analysis()).all, 0);
}

/// The finding that a rule offers with a change and the least gain, on a run whose kernels are all
/// products.
std::vector<Finding> offered(std::string_view change, double least) {
  const Analysis analysis = analysed({.kernelName = "sgemm_128x64", .syncEachStep = true});
  const auto simulator = Simulator::create(analysis);
  Reported reported;
  const Facts facts(analysis, &*simulator, reported, ruleOf(FindingId::Amp));
  Outcome out(facts, reported);
  Finding finding;
  finding.words = "an offer";
  offer(facts, out, std::move(finding), change, {.name = "gain", .value = least});
  return reported.findings;
}

TEST(Offer, IsMadeWhereItsReplayGainsEnough) {
  const auto findings = offered("kernel*0.5", 0.48);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_NEAR(findings[0].gainShare(), 0.5, 0.02);
  EXPECT_THAT(offered("kernel*0.5", 0.52), testing::IsEmpty());
}

TEST(Offer, IsNotMadeWhereNothingIsReplayed) {
  Analysis analysis;
  Reported reported;
  const Facts facts(analysis, nullptr, reported, ruleOf(FindingId::Amp));
  Outcome out(facts, reported);
  offer(facts, out, {}, "amp=on", {.name = "gain", .value = 0});
  EXPECT_THAT(reported.findings, testing::IsEmpty());
}

TEST(RoundedCount, IsAWholeNumberOfItsNoun) {
  EXPECT_EQ(roundedCount("fills", 1.2, "fill").text(), "1 fill");
  EXPECT_EQ(roundedCount("fills", 11.5, "fill").text(), "12 fills");
}

}  // namespace
}  // namespace lacuna::analyzer
