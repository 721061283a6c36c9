// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "report/kernel_name.h"

#include <gtest/gtest.h>

namespace lacuna::analyzer {
namespace {

TEST(KernelName, KeepsWhatTellsAKernelFromItsLike) {
  EXPECT_EQ(withoutScopes("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
                          "at::detail::Array<char*, 3> >(int, at::native::CUDAFunctor_add<float>)"),
            "vectorized_elementwise_kernel<4, CUDAFunctor_add<float>, Array<char*, 3>>");
  EXPECT_EQ(withoutScopes("void at::native::(anonymous namespace)::max_pool_forward_nchw<float, float>(int, float*)"),
            "max_pool_forward_nchw<float, float>");
  EXPECT_EQ(withoutScopes("void cutlass::Kernel<cutlass::gemm::device::Tile<128> >(cutlass::Params)"),
            "Kernel<Tile<128>>");
}

TEST(KernelName, KeepsALambdaAndItsNumber) {
  EXPECT_EQ(withoutScopes("void at::native::unrolled<at::native::copy(at::Iterator&)::{lambda(float)#2}, 4>(int)"),
            "unrolled<copy(Iterator&)::{lambda(float)#2}, 4>");
}

TEST(KernelName, LeavesOtherNamesAsTheyAre) {
  for (const char* name : {"", "void", "ampere_sgemm_32x32_sliced1x4_tn", "aten::conv2d", "step 3 (of 5)", "a < b",
                           "DataLoader::next", "void (", "triton_poi_fused_add_0"})
    EXPECT_EQ(withoutScopes(name), name);
}

TEST(KernelName, EndsWithAnythingThatIsCutOff) {
  for (const char* name :
       {"void at::native::f<", "void at::", "void a::(anonymous namespace)", "a::b<c::>", "void ::("})
    EXPECT_FALSE(withoutScopes(name).empty()) << name;
}

}  // namespace
}  // namespace lacuna::analyzer
