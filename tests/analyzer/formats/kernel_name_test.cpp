// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "formats/kernel_name.h"

#include <gtest/gtest.h>

#include <string>

#include "report/text_cells.h"

namespace lacuna::analyzer {
namespace {

TEST(KernelName, KeepsTheDifferencesOfSimilarKernels) {
  EXPECT_EQ(
      withoutScopes(
          "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
          "at::detail::Array<char*, 3> >(int, at::native::CUDAFunctor_add<float>)"),
      "vectorized_elementwise_kernel<4, CUDAFunctor_add<float>, Array<char*, 3>>");
  EXPECT_EQ(withoutScopes("void at::native::(anonymous namespace)::max_pool_forward_nchw<float, "
                          "float>(int, float*)"),
            "max_pool_forward_nchw<float, float>");
  EXPECT_EQ(
      withoutScopes("void cutlass::Kernel<cutlass::gemm::device::Tile<128> >(cutlass::Params)"),
      "Kernel<Tile<128>>");
}

TEST(KernelName, KeepsALambdaAndItsNumber) {
  EXPECT_EQ(
      withoutScopes(
          "void at::native::unrolled<at::native::copy(at::Iterator&)::{lambda(float)#2}, 4>(int)"),
      "unrolled<copy(Iterator&)::{lambda(float)#2}, 4>");
}

TEST(KernelName, LeavesOtherNamesAsTheyAre) {
  for (const char* name :
       {"", "void", "ampere_sgemm_32x32_sliced1x4_tn", "aten::conv2d", "step 3 (of 5)", "a < b",
        "DataLoader::next", "void (", "triton_poi_fused_add_0"})
    EXPECT_EQ(withoutScopes(name), name);
}

TEST(KernelName, ShowsTheDifferenceOfRowsThatBeginAlike) {
  const auto elementwise = [](const std::string& functor) {
    return "void at::native::vectorized_elementwise_kernel<4, at::native::" + functor +
           ", at::detail::Array<char*, 3> >(int)";
  };
  const std::string add = elementwise("CUDAFunctor_add<float>");
  const std::string mul = elementwise("BinaryFunctor<float, float, float>");
  const auto cells = paddedNames({add, "ampere_sgemm_32x32", mul}, 35);
  ASSERT_EQ(cells.size(), 3U);
  EXPECT_EQ(cells[0], "vectorized…CUDAFunctor_add<float>,…");
  EXPECT_EQ(cells[1], "ampere_sgemm_32x32                 ");
  EXPECT_EQ(cells[2], "vectorized…BinaryFunctor<float,…   ");
  // One alone is cut where it ends to fit, and with room enough each is whole.
  EXPECT_EQ(paddedNames({add}, 35)[0], "vectorized_elementwise_kernel<4,…  ");
  EXPECT_EQ(paddedNames({add, mul}, static_cast<int>(mul.size()))[1], mul);
}

TEST(KernelName, EndsWithAnythingThatIsCutOff) {
  for (const char* name : {"void at::native::f<", "void at::", "void a::(anonymous namespace)",
                           "a::b<c::>", "void ::("})
    EXPECT_FALSE(withoutScopes(name).empty()) << name;
}

}  // namespace
}  // namespace lacuna::analyzer
