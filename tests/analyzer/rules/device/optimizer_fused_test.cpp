// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyzer/rules/rule_runs.h"

namespace lacuna::analyzer {
namespace {

TEST(OptimizerFusedFinding, AnOptimizerOfMultiTensorKernelsIsNotAdvisedToBecomeOne) {
  RunPlan plan{.operators = 10, .kernelNs = 2'000, .batchNs = 10'000, .syncEachStep = true};
  EXPECT_THAT(opportunities(plan), testing::Not(testing::Contains(FindingId::OptimizerFused)));
  plan.optimizerKernels = 12;
  EXPECT_THAT(opportunities(plan), testing::Contains(FindingId::OptimizerFused));
  plan.optimizerKernel = "void at::native::multi_tensor_apply_kernel<FusedAdamMathFunctor<float>>";
  EXPECT_THAT(opportunities(plan), testing::Not(testing::Contains(FindingId::OptimizerFused)));
}

}  // namespace
}  // namespace lacuna::analyzer
