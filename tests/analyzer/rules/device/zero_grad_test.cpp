// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyses/work/name_guesses.h"
#include "analyzer/rules/cpu_training.h"
#include "analyzer/rules/rule_runs.h"

namespace lacuna::analyzer {
namespace {

TEST(ZeroGradFinding, ZerosThatAreWrittenOnceAreNoHabit) {
  const RunPlan always{.zeroGradNs = 1'000'000};
  EXPECT_NE(find(analysed(always), FindingId::ZeroGrad), nullptr);
  // The first step may be the warm-up, or one of two.
  for (const int steps : {12, 2}) {
    const RunPlan once{.steps = steps, .zeroGradNs = 1'000'000, .zeroGradSteps = 1};
    EXPECT_EQ(find(analysed(once), FindingId::ZeroGrad), nullptr) << steps;
  }
}

TEST(ZeroGradFinding, ZerosThatAnOperatorWritesForItselfClearNoGradients) {
  EXPECT_NE(find(analysed({.zeroGradNs = 1'000'000, .zerosIn = ""}), FindingId::ZeroGrad), nullptr);
  for (const char* op : {"aten::zeros", "torch::autograd::AccumulateGrad"})
    EXPECT_EQ(find(analysed({.zeroGradNs = 1'000'000, .zerosIn = op}), FindingId::ZeroGrad),
              nullptr)
        << op;
}

TEST(ZeroGradFinding, ZerosOfManyTensorsInOneKernelAreFills) {
  EXPECT_TRUE(fillsMemory(
      "void at::native::multi_tensor_apply_kernel<TensorListMetadata<1>, ZeroFunctor<float>>"));
  EXPECT_TRUE(fillsMemory("void at::native::vectorized_elementwise_kernel<4, FillFunctor<float>>"));
  EXPECT_FALSE(fillsMemory(
      "void at::native::multi_tensor_apply_kernel<TensorListMetadata<2>, FusedAdamMathFunctor>"));
  EXPECT_TRUE(fillsMemory("aten::_foreach_zero_"));
  EXPECT_FALSE(fillsMemory("aten::_foreach_add_"));
}

TEST(ZeroGradFinding, AFillOfAllGradientsByACpusOperatorIsFound) {
  constexpr prof::TimeNs kMs = CpuTraining::kMs;
  CpuTraining training;
  training.each(0, kMs, "", "Optimizer.zero_grad#SGD.zero_grad")
      .work(0, kMs, "aten::_foreach_zero_");
  training.work(2 * kMs, 3 * kMs, "aten::linear");
  for (int i = 0; i < 4; ++i)
    training.work(5 * kMs + i * kMs / 4, kMs / 4, "torch::autograd::AccumulateGrad");
  const Analysis analysis = training.analysed();
  const Finding* finding = find(analysis, FindingId::ZeroGrad);
  ASSERT_NE(finding, nullptr);
  // The fill goes, and with it each accumulation: all gradients were filled at once.
  EXPECT_NEAR(static_cast<double>(finding->predictedGainNsPerStep), 2e6, 0.1e6);
}

}  // namespace
}  // namespace lacuna::analyzer
