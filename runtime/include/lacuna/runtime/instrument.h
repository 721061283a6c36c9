// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

/// Annotations of a training loop. All of them cost one branch when nobody listens;
/// docs/nvtx-schema.md describes what a listener sees.
namespace lacuna::rt {

/// One iteration of training, from construction to destruction, on the training thread. Its memory
/// may be planned (planMemory).
class StepScope {
 public:
  explicit StepScope(std::uint64_t index, std::uint64_t samples = 0);
  ~StepScope();
  StepScope(const StepScope&) = delete;
  StepScope& operator=(const StepScope&) = delete;

 private:
  bool pushed_;
  std::array<bool, 2> planned_{};
  int exceptions_ = 0;
};

/// Those of a step, and what a training stops for. SkippedOptimizer: a step that GradScaler leaves
/// out.
enum class Phase : std::uint8_t {
  Load,
  Forward,
  Backward,
  Optimizer,
  Evaluation,
  Checkpoint,
  SkippedOptimizer
};

/// A phase. Tensor::backward(), the steps of Optimizer and GradScaler, saveModule() and
/// saveOptimizer() open theirs themselves.
class PhaseScope {
 public:
  explicit PhaseScope(Phase phase);
  ~PhaseScope();
  PhaseScope(const PhaseScope&) = delete;
  PhaseScope& operator=(const PhaseScope&) = delete;

 private:
  bool pushed_;
};

enum class LoaderStage : std::uint8_t { Fetch, Decode, Augment, Collate, Put, Wait };

/// A stage of data loading, on the thread that does it.
class LoaderScope {
 public:
  /// `worker` is -1 for the consumer itself.
  LoaderScope(LoaderStage stage, std::uint32_t loader, int worker, std::uint64_t batch,
              std::uint64_t bytes = 0);
  ~LoaderScope();
  LoaderScope(const LoaderScope&) = delete;
  LoaderScope& operator=(const LoaderScope&) = delete;

 private:
  bool pushed_;
  std::uint32_t loader_;
  const char* outerOrigin_;
  std::int64_t cpuFromNs_ = -1;  ///< of the outermost stage that prepares a batch; -1: not this one
};

/// Number for a new loader of this process, from 0.
[[nodiscard]] std::uint32_t registerLoader();
/// Reports the number of batches that are ready.
void loaderQueueDepth(std::uint32_t loader, std::int64_t ready);
/// A setting of the run under the name that flags and findings use: knob("loader.workers", "4").
void knob(std::string_view name, std::string_view value);
/// Sets if the runtime reports the knobs that it knows by itself and that the program has not
/// reported. These are the knobs of the first loader that runs, of optimizers, of how gradients are
/// cleared, and the debug mode. On from the start.
void reportOwnKnobs(bool on);
/// Names the calling thread for tools and debuggers.
void nameThread(const char* name);
/// Memory that a library holds for itself: its owner reports it.
void externalMemory(const void* address, std::size_t bytes, std::string_view owner, bool allocated);
/// True when a tool listens (an NVTX injection is attached or rt::profile is on).
[[nodiscard]] bool observed();

}  // namespace lacuna::rt
