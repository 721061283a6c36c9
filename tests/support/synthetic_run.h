// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "lacuna/analyzer/store.h"

namespace lacuna::test {

/// A training run as a device with one queue would show it: a host thread that waits for data,
/// calls operators and launches kernels, a queue that works them off in order. The defaults are a
/// healthy run: the queue never runs dry.
struct RunPlan {
  int steps = 12;
  int ranks = 1;
  int operators = 40;  ///< per step, one kernel each
  std::int64_t operatorNs = 15'000;
  std::int64_t kernelNs = 100'000;
  const char* kernelName = "block_reduce_kernel";
  std::int64_t batchNs = 500'000;  ///< to prepare one
  int workers = 2;                 ///< 0: the training thread prepares batches itself
  bool syncEachStep = false;
  int syncEveryOperators = 0;
  std::int64_t pageableCopyNs = 0;  ///< per step, blocks the host as well
  std::uint64_t pageableCopyBytes = 64u << 20;
  std::int64_t zeroGradNs = 0;  ///< a memset kernel for each of ten gradients
  std::int64_t mallocNs = 0;    ///< one cudaMalloc a step, after a synchronisation
  std::int64_t hostPauseNs =
      0;  ///< unexplained host work at the end of a step, after a synchronisation
  std::int64_t asleepNs = 0;  ///< the same, but the thread does not run
  std::int64_t leakBytes = 0;
  bool memorySpike = false;
  bool allocationChurn = false;
  std::int64_t collectiveNs = 0;  ///< on a queue of its own, the optimizer waits for it
  std::int64_t earlyNs = 0;       ///< how long before the compute queue is done it begins
  std::int64_t lateNs = 0;        ///< how much later the last rank enters it
  std::uint32_t hostCores = 0;    ///< 0: the trace does not have it
  int tinyRepeats = 0;            ///< a pair of tiny kernels, so often in a row each step
  int tinyEverySteps = 1;         ///< with `tinyRepeats`: only every so many steps
  bool biasBeforeNorm = false;  ///< a linear layer with a bias in front of a batch norm, each step
  int roundTrips = 0;           ///< conversions directly after conversions, per step
  std::int64_t blockingCopyNs = 0;
  std::int64_t blockingMemsetNs = 0;
  bool gloo = false;                    ///< collectives of the host, though the device is a GPU
  std::int64_t hostOperatorNs = 2'000;  ///< of an operator that launches nothing
  int optimizerKernels = 0;  ///< launched one by one in the optimizer, besides the usual one
  const char* optimizerKernel = "update_one";  ///< what they are called
  bool cpuDevice = false;         ///< the device is the host, with half-precision operators
  std::int64_t launchNs = 4'000;  ///< of a launch call
  std::int64_t stuckSyncNs =
      0;  ///< how much later than the device a synchronisation of a step returns
  std::int64_t startDelayNs =
      0;  ///< from the first launch of a step, after a synchronisation, to its start
  std::int64_t profilerNs = 0;  ///< a profiler's own overhead in each step, after a synchronisation
  bool loaderComputes = false;  ///< a counter shows that preparing batches is all computing
  bool loaderSleeps = false;    ///< the counter shows that it computes nothing
  double afterWaiting =
      1;  ///< kernels take so much longer in seven of eight steps that the device waited for
  std::int64_t accumulateNs =
      0;  ///< a kernel for each of ten gradients that adds it to the one that is there
  int setupKernels = 0;          ///< launched before the first step
  std::int64_t setupCopyNs = 0;  ///< from pageable memory, before the first step
  bool givesAllBack = false;     ///< what is alive after the last step is freed there
  bool numberedSteps = false;    ///< markers are called "batch 0", "batch 1", …
  std::uint64_t deviceBytes = 1u << 30;
  double displaced =
      0;  ///< of the time that a CPU queue's thread wants to run, what other programs take
  double wanted = 0.8;            ///< with `displaced`: of the time, what the thread wants to run
  bool countersOfThreads = true;  ///< with `displaced`: counters show it
  std::int64_t slowStepNs =
      0;  ///< how much longer every tenth step takes the host, after a synchronisation
  bool dataParallel =
      false;  ///< one process drives all devices, and copies the model to them each step
  const char* knob = nullptr;  ///< that the program reports it was run with
  const char* knobValue = "";
  bool stepsMarked = true;  ///< else nothing shows where one begins
  int zeroGradSteps = 0;    ///< with `zeroGradNs`: only the first so many steps; 0: all
  std::int64_t biasGradientNs =
      0;  ///< a reduction after a batch norm's gradient and a product; others are elsewhere
  const char* zerosIn =
      nullptr;  ///< with `zeroGradNs`: the operator that calls zero_, "" for none, not zero_grad
  std::int64_t setupCallNs = 0;                                ///< a call before the first step
  const char* setupCall = "cudaDeviceGetStreamPriorityRange";  ///< what it is called
  bool pauseIsNamed =
      true;  ///< with `hostPauseNs`: a range names it, else only the step's marker covers it
  bool waitIsMarked = true;               ///< the step's marker covers the wait for its batch
  const char* driverCall = "cudaMalloc";  ///< with `mallocNs`: what the call is called
  bool tripsAreOfOne =
      true;  ///< with `roundTrips`: the second converts what the first made, else another tensor
  std::uint64_t blockingCopyBytes = 1u << 20;
  double stretch = 1;        ///< all times of the finished run are so many times as long
  int asyncCopies = 0;       ///< small ones from device to device, each step
  bool readsByCopy = false;  ///< with `syncEveryOperators`: the host waits for a copy of four bytes
  const char* waitName = nullptr;  ///< what the wait for a batch is called where no stage of its
                                   ///< preparation is recorded
  std::int64_t readNs =
      0;  ///< a call of the operating system, after a synchronisation; sleeps `asleepNs` besides
  int stepsPerEpoch = 0;  ///< workers are processes that are started anew for each epoch; 0: they
                          ///< are threads and stay
  std::int64_t restartNs = 0;  ///< with `stepsPerEpoch`: until a new worker is there
  int plainFrom = 0,
      plainUntil =
          0;  ///< these steps are plain: without operators, allocations and work of a CPU device
  int syncEverySteps =
      1;  ///< what waits for the device at the end of a step does so only every so many steps
  std::int64_t loadsCodeNs = 0;   ///< how much longer the first launch call of a step takes
  std::uint64_t largeBytes = 0;   ///< of one more activation, each step
  bool keepsLarge = false;        ///< it stays until the end of the step
  bool runsOut = false;           ///< the log reports in the end that memory ran out
  bool batchesNumbered = false;   ///< with `workers`: the loader's ranges name their batch
  bool displacedAtFirst = false;  ///< with `displaced`: only before the first step
  bool callsWork = false;         ///< a launch call returns when the work is done
  int queueRoom =
      0;  ///< launches that wait on the compute queue before a call waits for room; 0: any
  bool callerWorks =
      false;  ///< work is launched in no time where it begins, and the thread goes on after it
  std::int64_t handOverNs = 2'000;  ///< with `workers`: what taking a batch that is ready takes
  std::int64_t restlessNs =
      0;  ///< how much longer one operator of a step takes the host, each step another
  std::int64_t betweenStepsNs =
      0;  ///< what the training thread does in front of a step; nothing shows it
};

/// Batches are ready, and something holds up another operator in each step.
inline RunPlan restlessRun() {
  return {.steps = 60,
          .operators = 6,
          .operatorNs = 5'000,
          .kernelNs = 20'000,
          .batchNs = 5'000,
          .workers = 2,
          .syncEachStep = true,
          .batchesNumbered = true,
          .handOverNs = 60'000,
          .restlessNs = 300'000};
}

/// Deterministic.
std::shared_ptr<const analyzer::Store> makeRun(const RunPlan& plan);

}  // namespace lacuna::test
