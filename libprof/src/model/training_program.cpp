// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "model/training_program.h"

#include <fmt/format.h>

#include "lacuna/prof/events.h"
#include "model/random.h"

namespace lacuna::prof {
namespace {

constexpr std::string_view kGemm = "ampere_bf16_s16816gemm_bf16_128x256_ldg8_f2f_stages_64x3_tn";
constexpr std::string_view kGemmNt = "ampere_bf16_s16816gemm_bf16_256x128_ldg8_f2f_stages_64x3_nt";
constexpr std::string_view kGemmNn =
    "sm80_xmma_gemm_bf16bf16_bf16f32_f32_nn_n_tilesize128x128x32_stage4_warpsize2x2x1";
constexpr std::string_view kElementwise =
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16>, "
    "at::detail::Array<char*, 3> >";
constexpr std::string_view kGelu =
    "void at::native::vectorized_elementwise_kernel<4, "
    "at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&, at::native::GeluType)::{lambda()#2}, "
    "at::detail::Array<char*, 2> >";
constexpr std::string_view kGeluBackward =
    "void at::native::vectorized_elementwise_kernel<4, "
    "at::native::GeluBackwardCUDAKernelImpl(at::TensorIteratorBase&, "
    "at::native::GeluType)::{lambda()#2}, at::detail::Array<char*, 3> >";
constexpr std::string_view kNorm =
    "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, "
    "float>(int, float, c10::BFloat16 const*)";
constexpr std::string_view kNormBackward =
    "void at::native::(anonymous "
    "namespace)::layer_norm_grad_input_kernel_vectorized<c10::BFloat16, float>";
constexpr std::string_view kAttention =
    "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4, false, false> >";
constexpr std::string_view kAttentionBackward =
    "void pytorch_flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits<64, "
    "128, 128, 8, 4, 4, 4> >";
constexpr std::string_view kReduce =
    "void at::native::reduce_kernel<128, 4, at::native::ReduceOp<c10::BFloat16, "
    "at::native::func_wrapper_t<c10::BFloat16> > >";
constexpr std::string_view kAdam =
    "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "
    "namespace)::FusedOptimizerTensorListMetadata<4>, at::native::FusedAdamMathFunctor<float, 4> >";
constexpr std::string_view kNccl =
    "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevComm*, unsigned long, ncclWork*)";

constexpr auto kActivation = static_cast<std::uint8_t>(MemoryRole::Activation);
constexpr auto kGradient = static_cast<std::uint8_t>(MemoryRole::Gradient);

/// Builds the operators of one layer; `scale` makes layers differ as their shapes do.
class LayerMaker {
 public:
  LayerMaker(TrainingProgram& program, Random& random, std::uint32_t layer)
      : program_(program), random_(random), scale_(0.8 + 0.4 * random.uniform()), layer_(layer) {}

  void forward() {
    add({.ranges = {"aten::layer_norm", "aten::native_layer_norm"},
         .kernel = kNorm,
         .hostUs = 14,
         .kernelUs = 9},
        8192, 1, 40);
    linear(2304, 38);
    view("aten::split");
    view("aten::view");
    view("aten::transpose");
    add({.ranges = {"aten::scaled_dot_product_attention",
                    "aten::_scaled_dot_product_flash_attention", "aten::_flash_attention_forward"},
         .kernel = kAttention,
         .hostUs = 22,
         .kernelUs = 64},
        8, 384, 255);
    view("aten::transpose");
    view("aten::view");
    linear(768, 17);
    add({.ranges = {"aten::add"}, .kernel = kElementwise, .hostUs = 8, .kernelUs = 6}, 3072, 1, 32);
    add({.ranges = {"aten::layer_norm", "aten::native_layer_norm"},
         .kernel = kNorm,
         .hostUs = 14,
         .kernelUs = 9},
        8192, 1, 40);
    linear(3072, 52);
    add({.ranges = {"aten::gelu"}, .kernel = kGelu, .hostUs = 9, .kernelUs = 14}, 12288, 1, 38);
    linear(768, 49);
    add({.ranges = {"aten::add"}, .kernel = kElementwise, .hostUs = 8, .kernelUs = 6}, 3072, 1, 32);
  }

  void backward() {
    gradient("autograd::engine::evaluate_function: AddBackward0", "AddBackward0", "", "", 2, 0, 0);
    linearBackward(98);
    gradient("autograd::engine::evaluate_function: GeluBackward0", "GeluBackward0",
             "aten::gelu_backward", kGeluBackward, 12, 19, 12288);
    linearBackward(103);
    gradient("autograd::engine::evaluate_function: NativeLayerNormBackward0",
             "NativeLayerNormBackward0", "aten::native_layer_norm_backward", kNormBackward, 18, 16,
             8192);
    linearBackward(35);
    gradient("autograd::engine::evaluate_function: ScaledDotProductFlashAttentionBackward0",
             "ScaledDotProductFlashAttentionBackward0",
             "aten::_scaled_dot_product_flash_attention_backward", kAttentionBackward, 25, 151,
             384);
    linearBackward(77);
    gradient("autograd::engine::evaluate_function: NativeLayerNormBackward0",
             "NativeLayerNormBackward0", "aten::native_layer_norm_backward", kNormBackward, 18, 16,
             8192);
    accumulate();
    if (layer_ % 2 == 0) allReduce();
  }

 private:
  void add(ProgramOp op, std::uint32_t gridX, std::uint32_t gridY, std::uint16_t registers) {
    op.hostUs *= 0.8 + 0.4 * random_.uniform();
    op.kernelUs *= scale_ * (0.9 + 0.2 * random_.uniform());
    op.gridX = gridX;
    op.gridY = gridY;
    op.registers = registers;
    op.bytes = std::uint64_t{512} * (64 + random_.below(16384));
    op.role = kActivation;
    op.keep = true;
    op.queryEvent = random_.below(4) == 0;
    op.text = fmt::format("[[8, 1024, {}]]", gridX % 4096);
    program_.forward.push_back(std::move(op));
  }
  void view(std::string_view name) {
    program_.forward.push_back(
        {.ranges = {name, "aten::as_strided"}, .hostUs = 1.2 + random_.uniform()});
  }
  void linear(std::uint32_t width, double kernelUs) {
    program_.forward.push_back(
        {.ranges = {"aten::t", "aten::transpose", "aten::as_strided"}, .hostUs = 1.5});
    ProgramOp op{.ranges = {"aten::linear", "aten::addmm"},
                 .kernel = kGemm,
                 .hostUs = 17,
                 .kernelUs = kernelUs};
    op.blockX = 128;
    op.sharedBytes = 98304;
    add(std::move(op), width / 128, 32, 230);
  }
  void gradient(std::string_view evaluate, std::string_view node, std::string_view op,
                std::string_view kernel, double hostUs, double kernelUs, std::uint32_t gridX) {
    ProgramOp made{.ranges = {evaluate, node},
                   .kernel = kernel,
                   .hostUs = hostUs,
                   .kernelUs = kernelUs * scale_};
    if (!op.empty()) made.ranges.push_back(op);
    made.gridX = gridX;
    made.registers = 64;
    made.release = true;
    made.role = kGradient;
    made.bytes = kernel.empty() ? 0 : std::uint64_t{512} * (64 + random_.below(16384));
    program_.backward.push_back(std::move(made));
  }
  void linearBackward(double kernelUs) {
    for (const bool weight : {false, true}) {
      gradient("autograd::engine::evaluate_function: AddmmBackward0", "AddmmBackward0", "aten::mm",
               weight ? kGemmNt : kGemmNn, 21, kernelUs / 2, weight ? 96 : 256);
      program_.backward.back().sharedBytes = weight ? 98304 : 65536;
      program_.backward.back().release = weight;
    }
    gradient("autograd::engine::evaluate_function: AddmmBackward0", "AddmmBackward0", "aten::sum",
             kReduce, 13, 7, 48);
    program_.backward.back().release = false;
    program_.backward.push_back(
        {.ranges = {"autograd::engine::evaluate_function: TBackward0", "TBackward0", "aten::t"},
         .hostUs = 2});
  }
  void accumulate() {
    for (int i = 0; i < 6; ++i) {
      gradient("autograd::engine::evaluate_function: torch::autograd::AccumulateGrad",
               "torch::autograd::AccumulateGrad", "aten::add_", kElementwise, 8, 5, 2304);
      program_.backward.back().release = false;
      program_.backward.back().bytes = 0;
    }
  }
  void allReduce() {
    ProgramOp op{.ranges = {"nccl:all_reduce", "c10d::allreduce_"},
                 .kernel = kNccl,
                 .hostUs = 30,
                 .kernelUs = 720 * scale_};
    op.gridX = 24;
    op.blockX = 512;
    op.registers = 96;
    op.communication = true;
    op.queryEvent = true;
    program_.backward.push_back(std::move(op));
  }

  TrainingProgram& program_;
  Random& random_;
  double scale_;
  std::uint32_t layer_;
};

}  // namespace

TrainingProgram makeProgram(std::uint32_t layers, std::uint64_t seed) {
  TrainingProgram program;
  Random random(seed);
  for (std::uint32_t layer = 0; layer < layers; ++layer)
    LayerMaker(program, random, layer).forward();
  for (std::uint32_t layer = layers; layer-- > 0;) LayerMaker(program, random, layer).backward();
  for (std::uint32_t i = 0; i < layers * 2; ++i) {
    ProgramOp op{.ranges = {"aten::_fused_adamw_"},
                 .kernel = kAdam,
                 .hostUs = 24,
                 .kernelUs = 35 + 10 * random.uniform()};
    op.gridX = static_cast<std::uint32_t>(200 + random.below(100));
    op.blockX = 512;
    op.registers = 48;
    program.optimizer.push_back(std::move(op));
  }
  return program;
}

}  // namespace lacuna::prof
