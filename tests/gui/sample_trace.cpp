// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "gui/sample_trace.h"

#include "lacuna/analyzer/store.h"

namespace lacuna::gui::testing {

using namespace lacuna::prof;  // NOLINT: rows of every table

namespace {

constexpr TimeNs kStepNs = 10'000'000;

struct Maker {
  analyzer::StoreBuilder trace;

  void range(std::uint32_t thread, TimeNs start, TimeNs length, std::string_view name) {
    trace.append(Range{
        .startNs = start, .durNs = length, .thread = ThreadId(thread), .name = trace.intern(name)});
  }
  void launch(TimeNs call, TimeNs start, TimeNs length, std::uint64_t correlation,
              std::string_view name) {
    trace.append(ApiCall{.startNs = call,
                         .durNs = 20'000,
                         .thread = ThreadId(1),
                         .name = trace.intern("cudaLaunchKernel"),
                         .correlation = correlation});
    trace.append(Kernel{.startNs = start,
                        .durNs = length,
                        .queue = QueueId(1),
                        .device = DeviceId(1),
                        .correlation = correlation,
                        .name = trace.intern(name),
                        .gridX = 128,
                        .blockX = 256});
  }
  void memory(TimeNs time, MemoryAction action, MemoryRole role, std::uint64_t address,
              std::uint64_t bytes, std::string_view op = {}) {
    trace.append(Allocation{.timeNs = time,
                            .thread = ThreadId(1),
                            .device = DeviceId(1),
                            .queue = QueueId(1),
                            .action = action,
                            .role = role,
                            .address = address,
                            .bytes = bytes,
                            .op = trace.intern(op)});
  }

  void step(TimeNs t, int index) {
    static constexpr std::string_view kOps[] = {"conv2d", "batch_norm", "relu", "linear"};
    range(1, t, kStepNs, "step " + std::to_string(index));
    range(1, t, 3'000'000, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__");
    range(1, t + 3'000'000, 3'000'000, "forward");
    range(1, t + 6'000'000, 3'500'000, "backward");
    range(2, t - kStepNs / 2, 7'900'000, "loader.fetch");
    const auto base = static_cast<std::uint64_t>(index) * 8;
    for (int i = 0; i < 8; ++i) {
      const TimeNs at = t + 3'100'000 + i * 760'000;
      const std::string_view op = kOps[i % 4];
      range(1, at, 400'000, op);
      launch(at + 150'000, at + 210'000, 500'000, base + static_cast<std::uint64_t>(i) + 1,
             std::string("void at::native::") + std::string(op) + "_kernel<float, 4>(int, float*)");
      memory(at, MemoryAction::Allocate, MemoryRole::Activation,
             1000 + base + static_cast<std::uint64_t>(i), 4 << 20, op);
    }
    for (int i = 0; i < 8; ++i) {
      memory(t + 9'300'000 + i, MemoryAction::Free, MemoryRole::Activation,
             1000 + base + static_cast<std::uint64_t>(i), 4 << 20);
    }
  }
};

}  // namespace

std::shared_ptr<const analyzer::Store> sampleTrace(int steps, int devices) {
  Maker m;
  m.trace.append(Process{
      .id = ProcessId(1), .osPid = 4242, .name = m.trace.intern("python train.py"), .rank = -1});
  m.trace.append(Thread{
      .id = ThreadId(1), .process = ProcessId(1), .osTid = 4242, .name = m.trace.intern("main")});
  m.trace.append(Thread{.id = ThreadId(2),
                        .process = ProcessId(1),
                        .osTid = 4243,
                        .name = m.trace.intern("loader 0")});
  m.trace.append(Device{.id = DeviceId(1),
                        .kind = DeviceKind::Cuda,
                        .index = 0,
                        .name = m.trace.intern("Test Device")});
  m.trace.append(
      Queue{.id = QueueId(1), .device = DeviceId(1), .process = ProcessId(1), .nativeId = 7});
  constexpr TimeNs kBegin = 1'000'000'000;
  m.memory(kBegin, MemoryAction::Allocate, MemoryRole::Parameter, 1, 96 << 20);
  if (devices > 1) {
    m.trace.append(Device{
        .id = DeviceId(2), .kind = DeviceKind::Cuda, .index = 1, .name = m.trace.intern("Other")});
    m.trace.append(Allocation{.timeNs = kBegin + 1,
                              .thread = ThreadId(1),
                              .device = DeviceId(2),
                              .action = MemoryAction::Allocate,
                              .role = MemoryRole::Parameter,
                              .address = 1,
                              .bytes = 200 << 20});
  }
  for (int i = 0; i < steps; ++i) m.step(kBegin + i * kStepNs, i);
  return m.trace.build();
}

}  // namespace lacuna::gui::testing
