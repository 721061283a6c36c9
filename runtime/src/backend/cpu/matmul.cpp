// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <unordered_map>

#include "backend/cpu/loops.h"
#include "backend/cpu/onednn.h"
#include "backend/cpu/widened.h"
#include "backend/cpu/widened_product.h"

/// Products through oneDNN, with primitives and their argument maps cached; f64, which oneDNN
/// lacks, by a plain loop, and the others where the program chose so.
namespace lacuna::rt {

namespace {

struct MatmulPlan {
  dnnl::matmul primitive;
  dnnl::memory a, b, out, scratch;  ///< scratch: what the primitive works in
  std::unordered_map<int, dnnl::memory> arguments;
  std::size_t scratchBytes = 0;
};

bool isStretched(const View& view, int dim) {
  return view.strides[dim] == 0 && view.shape[dim] != 1;
}

/// Strides of sizes of 1 mean nothing, and the library takes descriptions that differ only there
/// for the same. They are made the same, or what it chooses would depend on which of them it has
/// seen first.
dnnl::memory::desc descriptorOf(View view) {
  const int row = view.shape.rank() - 2;
  const int column = row + 1;
  if (view.shape[column] == 1) view.strides[column] = 1;
  if (view.shape[row] == 1) view.strides[row] = view.strides[column] == 1 ? view.shape[column] : 1;
  std::int64_t inner = view.shape[row] * view.shape[column];
  for (int d = row - 1; d >= 0; inner *= view.shape[d--]) {
    if (view.shape[d] == 1) view.strides[d] = inner;
  }
  return {dnnl::memory::dims(view.shape.begin(), view.shape.end()), cpu::libraryType(view.dtype),
          dnnl::memory::dims(view.strides.begin(), view.strides.end())};
}

/// The descriptor of a factor. A size of 1 marks one matrix that stands for many: the library
/// stretches that itself.
dnnl::memory::desc descriptorOf(View view, const View& other) {
  for (int d = 0; d + 2 < view.shape.rank(); ++d) {
    if (isStretched(view, d) && !isStretched(other, d)) view.shape[d] = 1;
  }
  return descriptorOf(view);
}

cpu::PlanKey keyOf(const View& out, const View& a, const View& b, bool accumulate) {
  cpu::PlanKey key;
  key.put(out.dtype).put(accumulate).put(a.shape).put(a.strides).put(b.shape).put(b.strides);
  return key;
}

dnnl::matmul::primitive_desc choose(const View& out, const View& a, const View& b,
                                    bool accumulate) {
  dnnl::primitive_attr attributes = cpu::inGivenMemory();
  if (accumulate) {
    dnnl::post_ops sum;
    sum.append_sum(1.0F);
    attributes.set_post_ops(sum);
  }
  const dnnl::matmul::desc description(descriptorOf(a, b), descriptorOf(b, a), descriptorOf(out));
  return {description, attributes, cpu::library().engine};
}

MatmulPlan makePlan(const View& out, const View& a, const View& b, bool accumulate) {
  const dnnl::matmul::primitive_desc primitive = choose(out, a, b, accumulate);
  const dnnl::engine& engine = cpu::library().engine;
  MatmulPlan plan{dnnl::matmul(primitive),
                  {descriptorOf(a, b), engine, nullptr},
                  {descriptorOf(b, a), engine, nullptr},
                  {descriptorOf(out), engine, nullptr},
                  {},
                  {}};
  plan.arguments = {{DNNL_ARG_SRC, plan.a}, {DNNL_ARG_WEIGHTS, plan.b}, {DNNL_ARG_DST, plan.out}};
  const dnnl::memory::desc scratch = cpu::scratchOf(plan.primitive);
  plan.scratchBytes = scratch.get_size();
  if (plan.scratchBytes > 0) {
    plan.scratch = dnnl::memory(scratch, engine, nullptr);
    plan.arguments.emplace(DNNL_ARG_SCRATCHPAD, plan.scratch);
  }
  return plan;
}

void throughLibrary(const View& out, const View& a, const View& b, bool accumulate,
                    const View& workspace) {
  // Executions of one queue run one after the other; synchronous mode runs them on several threads,
  // each with its own.
  thread_local cpu::BoundedCache<MatmulPlan> plans(cpu::kMostPlans);
  const cpu::PlanKey key = keyOf(out, a, b, accumulate).put(threadCount());
  MatmulPlan& plan = plans.find(key.bytes(), [&] { return makePlan(out, a, b, accumulate); });
  plan.a.set_data_handle(a.data);
  plan.b.set_data_handle(b.data);
  plan.out.set_data_handle(out.data);
  if (plan.scratchBytes > 0)
    plan.scratch.set_data_handle(cpu::library().memoryFor(workspace, plan.scratchBytes));
  dnnl::stream& stream = cpu::library().stream;
  plan.primitive.execute(stream, plan.arguments);
  stream.wait();
}

// Each element's products are added in the order of k, whatever the number of threads.
template <class T>
void byLoop(const View& out, const View& a, const View& b, bool accumulate) {
  const int rank = out.shape.rank();
  const std::int64_t rows = out.shape[rank - 2];
  const std::int64_t columns = out.shape[rank - 1];
  const std::int64_t depth = a.shape[rank - 1];
  const std::int64_t grain =
      std::max<std::int64_t>(1, cpu::kGrain / std::max<std::int64_t>(1, columns * depth));
  parallelFor(out.shape.numel() / std::max<std::int64_t>(1, columns), grain,
              [&](std::int64_t begin, std::int64_t end) {
                for (std::int64_t r = begin; r < end; ++r) {
                  std::int64_t rest = r / rows;
                  std::int64_t offsetA = r % rows * a.strides[rank - 2];
                  std::int64_t offsetB = 0;
                  for (int d = rank - 3; d >= 0; --d) {
                    offsetA += rest % out.shape[d] * a.strides[d];
                    offsetB += rest % out.shape[d] * b.strides[d];
                    rest /= out.shape[d];
                  }
                  const T* left = static_cast<const T*>(a.data) + offsetA;
                  T* to = static_cast<T*>(out.data) + r * columns;
                  if (!accumulate) std::fill(to, to + columns, T(0));
                  for (std::int64_t k = 0; k < depth; ++k) {
                    const T factor = left[k * a.strides[rank - 1]];
                    const T* right =
                        static_cast<const T*>(b.data) + offsetB + k * b.strides[rank - 2];
                    const std::int64_t step = b.strides[rank - 1];
                    for (std::int64_t c = 0; c < columns; ++c) to[c] += factor * right[c * step];
                  }
                }
              });
}

// oneDNN wants one of a matrix's last two strides to be 1 and the other at least as long as the
// row, and stretches one of the factors, not both.
bool libraryTakes(const View& view, const View& other) {
  const int rank = view.shape.rank();
  for (int d = 0; d + 2 < rank; ++d) {
    if (isStretched(view, d) && isStretched(other, d)) return false;
  }
  const std::int64_t row = view.strides[rank - 2];
  const std::int64_t column = view.strides[rank - 1];
  return (column == 1 && row >= view.shape[rank - 1]) ||
         (row == 1 && column >= view.shape[rank - 2]);
}

/// The way a product is made. In 16-bit types whatever the library does not take, or not on this
/// processor, is made in f32, block by block.
enum class Way : std::uint8_t { Library, Loop, Wide };

Way wayOf(const View& out, const View& a, const View& b) {
  const bool takes = libraryTakes(a, b) && libraryTakes(b, a);
  if (isShort(out.dtype)) return takes && !cpu::isWidened(out.dtype) ? Way::Library : Way::Wide;
  return takes && out.dtype == DType::F32 && !cpu::inPlainLoops() ? Way::Library : Way::Loop;
}

}  // namespace

std::size_t kernel::matmulWorkspace(const View& out, const View& a, const View& b,
                                    bool accumulate) {
  if (out.shape.numel() == 0 || a.shape[a.shape.rank() - 1] == 0) return 0;
  const Way way = wayOf(out, a, b);
  if (way == Way::Loop) return 0;
  if (way == Way::Wide) return cpu::widenedProductWorkspace(out, a, b, accumulate);
  thread_local cpu::WorkspaceSizes sizes;
  return sizes.find(keyOf(out, a, b, accumulate),
                    [&] { return choose(out, a, b, accumulate).scratchpad_desc().get_size(); });
}

void kernel::matmul(const View& out, const View& a, const View& b, bool accumulate,
                    const View& workspace) {
  threadCount();
  const int rank = out.shape.rank();
  if (out.shape.numel() == 0) return;
  if (a.shape[rank - 1] == 0) {
    if (!accumulate) fill(out, 0);
    return;
  }
  if (out.dtype == DType::F64) return byLoop<double>(out, a, b, accumulate);
  switch (wayOf(out, a, b)) {
    case Way::Library:
      return throughLibrary(out, a, b, accumulate, workspace);
    case Way::Loop:
      return byLoop<float>(out, a, b, accumulate);
    case Way::Wide:
      return cpu::widenedProduct(out, a, b, accumulate, workspace);
  }
}

}  // namespace lacuna::rt
