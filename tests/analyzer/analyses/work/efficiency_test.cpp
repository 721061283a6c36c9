// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyses/work/efficiency.h"

#include <gtest/gtest.h>

#include "analyses/work/name_guesses.h"
#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {
namespace {

TEST(Occupancy, IsBoundByWarpsRegistersAndSharedMemory) {
  EXPECT_DOUBLE_EQ(occupancyOf({1000, 256, 32, 0}, 8, 0, 108), 1);
  EXPECT_DOUBLE_EQ(occupancyOf({1000, 256, 64, 0}, 8, 0, 108), 0.5);
  // 48 + 1 KiB a block of 164 KiB: three blocks of eight warps.
  EXPECT_DOUBLE_EQ(occupancyOf({1000, 256, 32, 48 * 1024}, 8, 0, 108), 24.0 / 64);
}

// Launches of a real A100 trace, with the occupancy that its profiler estimated.
TEST(Occupancy, AgreesWithKineto) {
  EXPECT_NEAR(occupancyOf({64, 128, 90, 49'152}, 8, 0, 108), 0.04, 0.005);
  EXPECT_NEAR(occupancyOf({512, 512, 40, 400}, 8, 0, 108), 0.75, 0.005);
  EXPECT_NEAR(occupancyOf({864, 256, 47, 0}, 8, 0, 108), 0.63, 0.006);
  EXPECT_NEAR(occupancyOf({2400, 256, 27, 0}, 8, 0, 108), 1, 0.005);
}

TEST(Occupancy, IsUnknownForLaunchesThatNoDeviceExecutes) {
  constexpr std::uint64_t kMost = UINT64_MAX;
  for (const std::uint32_t major : {7U, 8U, 9U, 12U}) {
    EXPECT_EQ(occupancyOf({1, std::uint64_t{65535} * 65537, 16, 0}, major, 0, 108), -1);
    EXPECT_EQ(occupancyOf({1, 4'294'967'295, 16, 0}, major, 0, 108), -1);
    EXPECT_EQ(occupancyOf({1, 4'294'967'296, 16, 0}, major, 0, 108), -1);
    EXPECT_EQ(occupancyOf({1, 32, 16, 4'294'966'272}, major, 0, 108), -1);
    EXPECT_EQ(occupancyOf({1, 32, UINT32_MAX, 0}, major, 0, 108), -1);
    EXPECT_EQ(occupancyOf({kMost, kMost, UINT32_MAX, kMost}, major, 0, 108), -1);
  }
  EXPECT_DOUBLE_EQ(occupancyOf({kMost, 256, 32, 0}, 8, 0, 108), 1);
}

TEST(Occupancy, IsUnknownForUnknownDevices) {
  EXPECT_DOUBLE_EQ(occupancyOf({64, 128, 90, 0}, 3, 5, 13), -1);
}

TEST(Numbers, AreReadOffKernelNames) {
  EXPECT_EQ(numberOfKernel("ampere_fp16_s16816gemm_fp16_128x64"), Number::F16);
  EXPECT_EQ(numberOfKernel("cutlass_80_tensorop_s1688gemm_64x64_16x6"), Number::Tf32);
  EXPECT_EQ(numberOfKernel("sm90_xmma_gemm_bf16bf16_bf16f32_f32"), Number::Bf16);
  EXPECT_EQ(numberOfKernel("ampere_sgemm_128x64_tn"), Number::F32);
  EXPECT_EQ(numberOfKernel("turing_fp16_s1688gemm_fp16_256x128_ldg8_f2f_tn"), Number::F16);
  EXPECT_EQ(numberOfKernel("nvjet_tst_128x256_64x4_2x1_v_bz_coopA_TNN"), Number::Bf16);
  EXPECT_EQ(numberOfKernel("nvjet_hsh_128x256_64x4_2x1_v_bz_coopA_TNN"), Number::F16);
  EXPECT_EQ(numberOfKernel("Cijk_Ailk_Bljk_BBS_BH_MT128x128x32_MI32x32x8x1"), Number::Bf16);
  EXPECT_EQ(numberOfKernel("some_kernel"), Number::Unknown);
}

TEST(KernelNames, ShowMatrixWorkAndTensorCores) {
  for (const char* name : {"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_"
                           "warpgroupsize1x1x1_execute_segment_k_off_kernel",
                           "nvjet_tst_128x256_64x4_2x1_v_bz_coopA_TNN",
                           "sm80_xmma_gemm_f16f16_f16f32_f32_nn_n_tilesize128x128x32",
                           "turing_fp16_s1688gemm_fp16_256x128_ldg8_f2f_tn",
                           "Cijk_Ailk_Bljk_HHS_BH_MT128x128x32_MI32x32x8x1",
                           "volta_fp16_s884cudnn_fp16_256x64_ldg8_relu_exp_small_nhwc_tn_v1",
                           "sm80_xmma_fprop_implicit_gemm_indexed_f16f16_f16f32_f32_nhwckrsc_nhwc_"
                           "tilesize128x128x64_tensor16x8x16"}) {
    EXPECT_TRUE(isMatrixWork(name)) << name;
    EXPECT_TRUE(usesTensorCores(name)) << name;
  }
  EXPECT_TRUE(isMatrixWork("ampere_sgemm_128x64_nn"));
  EXPECT_FALSE(usesTensorCores("ampere_sgemm_128x64_nn"));
  // The end of a convolution is no work of its own.
  EXPECT_TRUE(isMatrixWork("cudnn_ampere_scudnn_128x64_relu_xregs_large_nn_v1"));
  EXPECT_FALSE(isPointwiseWork("cudnn_ampere_scudnn_128x64_relu_xregs_large_nn_v1"));
  for (const char* name : {"volta_fp32_icudnn_int8x4_128x128_relu_medium_nn_v1",
                           "maxwell_scudnn_winograd_128x128_ldg1_ldg4_relu_tile_nt",
                           "cudnn_infer_ampere_scudnn_128x32_relu_nn_v1"}) {
    EXPECT_TRUE(isMatrixWork(name)) << name;
    EXPECT_FALSE(isPointwiseWork(name)) << name;
  }
  // Nor is a compiler's pointwise kernel a convolution where it only adds the bias of one.
  EXPECT_FALSE(isMatrixWork("triton_poi_fused_convolution_relu_3"));
  EXPECT_TRUE(isPointwiseWork("triton_poi_fused_convolution_relu_3"));
  EXPECT_FALSE(isMatrixWork("triton_red_fused_native_layer_norm_addmm_1"));
  EXPECT_TRUE(isMatrixWork("triton_tem_fused_addmm_relu_2"));
  EXPECT_TRUE(isMatrixWork("void fbgemm_gpu::f8f8bf16_rowwise_gemm_kernel<128>"));
  for (const char* name :
       {"void fbgemm_gpu::split_embedding_codegen_forward_unweighted_kernel<float>",
        "void fbgemm_gpu::linearize_index_kernel<long>", "upsample_bilinear2d_out_frame"}) {
    EXPECT_FALSE(isMatrixWork(name)) << name;
  }
  // Nor can it be fused with its neighbours, whatever its parameters are called.
  EXPECT_FALSE(
      isPointwiseWork("void split_embedding_backward_codegen_rowwise_adagrad_kernel<float>(float*, "
                      "fbgemm_gpu::FixedDivisor)"));
}

TEST(Peaks, AreOfADeviceOfThatWholeNumber) {
  for (const char* name :
       {"NVIDIA A100-SXM4-40GB", "NVIDIA A100", "A100X", "NVIDIA PG199 A100-PCIE-40GB"})
    EXPECT_EQ(peaksOf(name, 0).source, "A100") << name;
  EXPECT_EQ(peaksOf("NVIDIA H100 80GB HBM3", 0).source, "H100");
  EXPECT_EQ(peaksOf("Tesla T4", 0).source, "T4");
  EXPECT_EQ(peaksOf("NVIDIA L40S", 0).source, "L40S");
  for (const char* name :
       {"NVIDIA RTX A1000 Laptop GPU", "NVIDIA RTX A4000", "NVIDIA L40", "NVIDIA T400 4GB", ""}) {
    EXPECT_EQ(peaksOf(name, 0).source, "") << name;
    EXPECT_EQ(peaksOf(name, 0).flops[static_cast<std::size_t>(Number::F16)], 0) << name;
  }
}

TEST(Roofline, HoldsOperatorsAgainstTheDevicesPeaks) {
  DeviceAccount device;
  device.name = "NVIDIA A100-PG509-200";
  // 2·1024³ operations at 312 T/s take 6.883 µs; 6 MiB at 1,555 GB/s take 4.046 µs.
  const OperatorRow product{.name = "mm",
                            .shapes = "f16[1024,1024] f16[1024,1024]",
                            .count = 12,
                            .deviceNs = 137'660,
                            .deviceCalls = 10};
  // 24 MB at 1,555 GB/s take 15.434 µs.
  const OperatorRow sum{.name = "add",
                        .shapes = "f32[2000000] f32[2000000]",
                        .count = 1,
                        .deviceNs = 30'868,
                        .deviceCalls = 1};
  StoreBuilder builder;
  const std::vector<OperatorRow> rows{product, sum};
  const auto stats = efficiencyStats(*builder.build(), {0, 1'000'000}, {&device, 1}, rows, {});
  ASSERT_TRUE(stats);
  ASSERT_EQ(stats->rows.size(), 2u);
  EXPECT_NEAR(stats->rows[0].ofRoof, 0.5, 0.001);
  EXPECT_FALSE(stats->rows[0].memoryBound);
  EXPECT_NEAR(stats->rows[1].ofRoof, 0.5, 0.001);
  EXPECT_TRUE(stats->rows[1].memoryBound);
  EXPECT_NEAR(stats->mfu, 0.06883, 0.0001);
}

}  // namespace
}  // namespace lacuna::analyzer
