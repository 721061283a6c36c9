// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "support/synthetic_run.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "lacuna/analyzer/store.h"

namespace lacuna::test {
namespace {

using namespace prof;

constexpr std::int64_t kLatencyNs = 5'000;
constexpr std::int64_t kQueueGapNs = 1'000;

class Rank {
 public:
  Rank(analyzer::StoreBuilder& out, const RunPlan& plan, std::uint32_t rank)
      : out_(out), plan_(plan), rank_(rank) {
    process_ = ProcessId(plan.dataParallel ? 1 : rank + 1);
    thread_ = ThreadId(100 * (rank + 1));
    compute_ = QueueId(2 * rank + 1);
    network_ = QueueId(2 * rank + 2);
    device_ = DeviceId(rank + 1);
    declare();
  }

  void run() {
    loaderReady_.assign(static_cast<std::size_t>(std::max(1, plan_.workers)), host_);
    setUp();
    for (int step = 0; step < plan_.steps; ++step) runStep(step);
    for (const std::uint64_t address : held_)
      memory(MemoryAction::Free, address, 0, MemoryRole::Activation, "aten::loss");
    addOtherPrograms();
  }

 private:
  void declare() {
    if (!plan_.dataParallel || rank_ == 0)
      out_.append(Process{
          .id = process_,
          .osPid = 1000 + rank_,
          .name = out_.intern("program"),
          .rank = plan_.ranks > 1 && !plan_.dataParallel ? static_cast<std::int32_t>(rank_) : -1});
    out_.append(Thread{.id = thread_, .process = process_, .name = out_.intern("main")});
    const int epochs = plan_.stepsPerEpoch == 0 ? 1 : (plan_.steps - 1) / plan_.stepsPerEpoch + 1;
    for (int worker = 0; worker < epochs * plan_.workers; ++worker) {
      const ProcessId child(process_.value * 1000 + static_cast<std::uint32_t>(worker));
      const bool isProcess = plan_.stepsPerEpoch != 0;
      if (isProcess) out_.append(Process{.id = child, .parent = process_, .osPid = child.value});
      out_.append(Thread{.id = workerThread(worker), .process = isProcess ? child : process_});
    }
    out_.append(Device{.id = device_,
                       .kind = plan_.cpuDevice ? DeviceKind::Cpu : DeviceKind::Cuda,
                       .index = rank_,
                       .name = out_.intern("device"),
                       .memoryBytes = plan_.deviceBytes});
    if (plan_.loaderComputes || plan_.loaderSleeps)
      out_.append(CounterTrack{
          .id = TrackId(rank_ + 1), .process = process_, .name = out_.intern("loader.cpu_time")});
    for (const QueueId queue : {compute_, network_})
      out_.append(
          Queue{.id = queue, .device = device_, .process = process_, .nativeId = queue.value});
  }
  [[nodiscard]] ThreadId workerThread(int worker) const {
    return ThreadId(thread_.value + 1 + static_cast<std::uint32_t>(worker));
  }

  void range(ThreadId thread, TimeNs start, TimeNs end, const char* category,
             const std::string& name, const char* text = "") {
    if (isPlain_ && std::string_view(category) == "cpu_op") return;
    out_.append(rangeRow(thread, start, end, category, name, text));
  }
  void loaderRange(ThreadId thread, TimeNs start, TimeNs end, const char* stage, int batch) {
    Range row = rangeRow(thread, start, end, "loader", stage);
    if (plan_.batchesNumbered) {
      row.payloadType = PayloadType::U64;
      row.payload = static_cast<std::uint64_t>(batch);
    }
    out_.append(row);
  }
  [[nodiscard]] Range rangeRow(ThreadId thread, TimeNs start, TimeNs end, const char* category,
                               const std::string& name, const char* text = "") {
    return {.startNs = start,
            .durNs = end - start,
            .thread = thread,
            .category = out_.intern(category),
            .name = out_.intern(name),
            .text = out_.intern(text)};
  }
  void call(TimeNs start, TimeNs end, const char* name, std::uint64_t correlation = 0) {
    out_.append(ApiCall{.startNs = start,
                        .durNs = end - start,
                        .thread = thread_,
                        .name = out_.intern(name),
                        .correlation = correlation});
  }

  TimeNs enqueue(QueueId queue, std::int64_t durNs, TimeNs notBefore) {
    TimeNs& free = queue == compute_ ? computeFree_ : networkFree_;
    const TimeNs start = std::max({host_ + kLatencyNs, free + kQueueGapNs, notBefore});
    free = start + durNs;
    return start;
  }
  void waitForRoom() {
    const auto room = static_cast<std::size_t>(plan_.queueRoom);
    if (room > 0 && computeEnds_.size() >= room)
      host_ = std::max(host_, computeEnds_[computeEnds_.size() - room]);
  }
  void launch(QueueId queue, std::int64_t durNs, const char* kernel, TimeNs notBefore = 0,
              std::int64_t longerNs = 0) {
    const TimeNs begin = host_;
    waitForRoom();
    if (!plan_.callerWorks) host_ += plan_.launchNs + longerNs;
    const TimeNs start = plan_.callerWorks ? begin : enqueue(queue, durNs, notBefore);
    if (plan_.callsWork) host_ = start + durNs + 1'000;
    ++correlation_;
    const bool isRecorded = !isPlain_ || !plan_.cpuDevice;
    if (isRecorded) call(begin, host_, "cudaLaunchKernel", correlation_);
    if (plan_.callerWorks) host_ = computeFree_ = start + durNs;
    if (queue == compute_) computeEnds_.push_back(start + durNs);
    if (!isRecorded) return;
    out_.append(Kernel{.startNs = start,
                       .durNs = durNs,
                       .queue = queue,
                       .device = device_,
                       .correlation = correlation_,
                       .name = out_.intern(kernel)});
  }
  void synchronise(const char* around) {
    const TimeNs begin = host_;
    host_ = std::max(host_, computeFree_) + 6'000 + plan_.stuckSyncNs;
    call(begin + 1'000, host_ - 1'000, "cudaStreamSynchronize", ++correlation_);
    range(thread_, begin, host_, "cpu_op", around);
  }
  void memory(MemoryAction action, std::uint64_t address, std::uint64_t bytes, MemoryRole role,
              const char* op) {
    if (isPlain_ && action == MemoryAction::Allocate) return;
    out_.append(Allocation{.timeNs = host_,
                           .thread = thread_,
                           .device = device_,
                           .queue = compute_,
                           .action = action,
                           .role = role,
                           .address = address,
                           .bytes = bytes,
                           .op = out_.intern(op)});
  }

  /// An operator of the host alone.
  void hostOperator(const char* name, const char* text = "") {
    const TimeNs begin = host_;
    host_ += plan_.hostOperatorNs;
    range(thread_, begin, host_, "cpu_op", name, text);
  }
  void setUp();
  void addOtherPrograms();
  [[nodiscard]] std::int64_t displacedNs(std::int64_t durNs);
  void habits(int step);
  void waitForBatch(int step);
  Memcpy waitForCopy(const char* function, std::int64_t durNs);
  void readNumber();
  void copyBatch();
  void copyPageable(std::int64_t durNs);
  void forwardBackward(int step);
  void optimizer(int step);
  void freeLarge(std::uint64_t at);
  void useMemory(int step);
  void runStep(int step);

  analyzer::StoreBuilder& out_;
  const RunPlan& plan_;
  std::uint32_t rank_;
  ProcessId process_;
  ThreadId thread_;
  QueueId compute_, network_;
  DeviceId device_;
  TimeNs host_ = 1'000'000;
  TimeNs setUpUntil_ = 0;
  TimeNs computeFree_ = 0;
  TimeNs networkFree_ = 0;
  bool isPlain_ = false;  ///< the step that runs
  std::uint64_t correlation_ = 0;
  std::uint64_t kernels_ = 0;
  std::vector<TimeNs> computeEnds_;
  std::vector<std::uint64_t> held_;
  std::vector<TimeNs> loaderReady_;
};

void Rank::setUp() {
  if (plan_.setupCallNs > 0) call(host_, host_ + plan_.setupCallNs, plan_.setupCall);
  host_ += plan_.setupCallNs;
  for (int i = 0; i < plan_.setupKernels; ++i) launch(compute_, plan_.kernelNs, "initialise");
  if (plan_.setupCopyNs > 0) copyPageable(plan_.setupCopyNs);
  if (plan_.setupKernels > 0 || plan_.setupCopyNs > 0) synchronise("setup");
  setUpUntil_ = host_;
}

/// Most kernels are hardly held up, some long: on average as much as was asked for.
std::int64_t Rank::displacedNs(std::int64_t durNs) {
  if (plan_.displaced <= 0 || plan_.displacedAtFirst) return durNs;
  const std::uint64_t hash = ++kernels_ * 0x9e3779b97f4a7c15u;
  const double u = static_cast<double>(hash >> 40) / static_cast<double>(1u << 24);
  const double most = 4 * (1 / (1 - plan_.displaced) - 1);
  return static_cast<std::int64_t>(static_cast<double>(durNs) * (1 + most * u * u * u));
}

void Rank::addOtherPrograms() {
  if (plan_.displaced <= 0 || !plan_.countersOfThreads) return;
  const ThreadId thread(thread_.value + 50);
  out_.append(Thread{.id = thread, .process = process_, .name = out_.intern("cpu:0 queue")});
  const auto addCounter = [&](std::uint32_t id, const char* name, double percent,
                              double afterSetUp) {
    out_.append(CounterTrack{.id = TrackId(id), .thread = thread, .name = out_.intern(name)});
    for (TimeNs at = 1'000'000; at < host_; at += 10'000'000)
      out_.append(CounterSample{
          .timeNs = at, .track = TrackId(id), .value = at < setUpUntil_ ? percent : afterSetUp});
  };
  const double wants = 100 * plan_.wanted;
  const double runs = wants * (1 - plan_.displaced), waits = wants * plan_.displaced;
  addCounter(1000 + 2 * rank_, "thread CPU", runs, plan_.displacedAtFirst ? wants : runs);
  addCounter(1001 + 2 * rank_, "waiting for a core", waits, plan_.displacedAtFirst ? 0 : waits);
}

void Rank::waitForBatch(int step) {
  const TimeNs begin = host_;
  if (plan_.waitName != nullptr) {
    host_ += plan_.batchNs;
    return range(thread_, begin, host_, "user_annotation", plan_.waitName);
  }
  if (plan_.workers == 0) {
    host_ += plan_.batchNs;
    range(thread_, begin, host_ - 1'000, "loader", "fetch");
  } else {
    // Worker k prepares every batch k, k + n, …, as early as it can, at most two ahead of the
    // consumer.
    const int worker = step % plan_.workers;
    const int epoch = plan_.stepsPerEpoch == 0 ? 0 : step / plan_.stepsPerEpoch;
    if (epoch > 0 && step % plan_.stepsPerEpoch == 0)
      std::fill(loaderReady_.begin(), loaderReady_.end(), host_ + plan_.restartNs);
    TimeNs& free = loaderReady_[static_cast<std::size_t>(worker)];
    const TimeNs start = std::max(free, begin - 2 * plan_.batchNs);
    free = start + plan_.batchNs;
    loaderRange(workerThread(epoch * plan_.workers + worker), start, free, "decode", step);
    host_ = std::max(begin + plan_.handOverNs, free);
  }
  loaderRange(thread_, begin, host_, "wait", step);
  if (!plan_.loaderComputes && !plan_.loaderSleeps) return;
  const double computed =
      plan_.loaderComputes ? static_cast<double>((step + 1) * plan_.batchNs) * plan_.stretch : 0;
  out_.append(CounterSample{.timeNs = host_, .track = TrackId(rank_ + 1), .value = computed});
}

/// The host waits until the device has copied; the caller fills in what was copied.
Memcpy Rank::waitForCopy(const char* function, std::int64_t durNs) {
  const TimeNs begin = host_;
  host_ = std::max(host_, computeFree_) + durNs;
  computeFree_ = host_;
  call(begin, host_, function, ++correlation_);
  return {.startNs = host_ - durNs,
          .durNs = durNs,
          .queue = compute_,
          .device = device_,
          .correlation = correlation_,
          .targetKind = MemoryKind::Device};
}

void Rank::readNumber() {
  if (!plan_.readsByCopy) return synchronise("aten::item");
  host_ += 100;
  Memcpy copy = waitForCopy("cudaMemcpy", 5'000);
  copy.bytes = 4;
  copy.copyKind = CopyKind::DeviceToHost;
  out_.append(copy);
}

void Rank::copyBatch() {
  if (plan_.pageableCopyNs > 0) copyPageable(plan_.pageableCopyNs);
}

void Rank::copyPageable(std::int64_t durNs) {
  Memcpy copy = waitForCopy("cudaMemcpyAsync", durNs);
  copy.bytes = plan_.pageableCopyBytes;
  copy.copyKind = CopyKind::HostToDevice;
  copy.sourceKind = MemoryKind::Pageable;
  copy.name = out_.intern("Memcpy HtoD (Pageable -> Device)");
  out_.append(copy);
}

void Rank::forwardBackward(int step) {
  const bool cold = host_ - computeFree_ > 1'000'000 && step % 8 != 0;
  const auto kernelNs = static_cast<std::int64_t>(static_cast<double>(plan_.kernelNs) *
                                                  (cold ? plan_.afterWaiting : 1));
  for (int i = 0; i < plan_.operators; ++i) {
    const TimeNs begin = host_;
    host_ += plan_.operatorNs - plan_.launchNs - 1'000;
    if (i == 7 * step % plan_.operators) host_ += plan_.restlessNs;
    const std::int64_t longerNs = i == 0 ? plan_.loadsCodeNs : 0;
    launch(compute_, displacedNs(kernelNs), plan_.kernelName,
           i == 0 ? host_ + plan_.launchNs + longerNs + plan_.startDelayNs : 0, longerNs);
    host_ += 1'000;
    range(thread_, begin, host_, "cpu_op", "aten::block");
    if (plan_.syncEveryOperators > 0 && i % plan_.syncEveryOperators == 0) readNumber();
  }
  for (int i = 0; i < 10 && plan_.accumulateNs > 0; ++i) {
    const TimeNs begin = host_;
    launch(compute_, plan_.accumulateNs, "vectorized_add_kernel");
    range(thread_, begin, host_, "cpu_op", "torch::autograd::AccumulateGrad");
  }
}

void Rank::optimizer(int step) {
  TimeNs notBefore = 0;
  if (plan_.collectiveNs > 0) {
    // Every rank leaves the collective together, when the last one to enter is done.
    const bool isLast = rank_ + 1 == static_cast<std::uint32_t>(plan_.ranks);
    const std::int64_t waitNs = isLast ? 0 : plan_.lateNs;
    host_ += isLast ? plan_.lateNs : 0;
    const TimeNs ready = computeFree_ - plan_.earlyNs + (isLast ? plan_.lateNs : 0) + 2'000;
    launch(network_, plan_.collectiveNs + waitNs, "ncclDevKernel_AllReduce", ready);
    notBefore = networkFree_ + 2'000;
  }
  const TimeNs begin = host_;
  launch(compute_, plan_.kernelNs, "multi_tensor_update", notBefore);
  for (int i = 0; i < plan_.optimizerKernels; ++i)
    launch(compute_, plan_.kernelNs, plan_.optimizerKernel);
  range(thread_, begin, host_, "user_annotation", "Optimizer.step");
  if (plan_.zeroGradNs == 0 || (plan_.zeroGradSteps > 0 && step >= plan_.zeroGradSteps)) return;
  const TimeNs zero = host_;
  for (int i = 0; i < 10; ++i) {
    const TimeNs start = host_;
    host_ += plan_.launchNs;
    call(start, host_, "cudaMemsetAsync", ++correlation_);
    out_.append(Memset{.startNs = enqueue(compute_, plan_.zeroGradNs / 10, 0),
                       .durNs = plan_.zeroGradNs / 10,
                       .queue = compute_,
                       .device = device_,
                       .correlation = correlation_,
                       .bytes = 1u << 20,
                       .name = out_.intern("Memset (Device)")});
  }
  if (plan_.zerosIn == nullptr)
    return range(thread_, zero, host_, "user_annotation", "Optimizer.zero_grad");
  if (*plan_.zerosIn != '\0') range(thread_, zero, host_, "cpu_op", plan_.zerosIn);
  range(thread_, zero, host_ - 100, "cpu_op", "aten::zero_");
}

/// The things that a program does the same way in every step.
void Rank::habits(int step) {
  for (int i = 0; i < plan_.tinyRepeats && step % plan_.tinyEverySteps == 0; ++i) {
    launch(compute_, 700, "softmax_row");
    launch(compute_, 600, "max_row");
  }
  if (plan_.biasBeforeNorm) {
    hostOperator("aten::linear", "[[8, 4], [2, 4], [2]]");
    hostOperator("aten::batch_norm");
  }
  if (plan_.biasGradientNs > 0) {
    for (const char* kernel : {"batch_norm_backward_kernel", "gemm_kernel"})
      launch(compute_, 10'000, kernel);
    launch(compute_, plan_.biasGradientNs, "reduce_kernel");
    launch(compute_, 10'000, "reduce_kernel");
  }
  for (int i = 0; i < plan_.roundTrips; ++i) {
    hostOperator("aten::to", "f32[8,4]");
    hostOperator("aten::to", plan_.tripsAreOfOne ? "f16[8,4]" : i % 2 == 0 ? "f32[8,4]" : "i64[8]");
    hostOperator("aten::block");
  }
  if (plan_.cpuDevice) hostOperator("linear", "bf16[8,4] bf16[2,4]");
  if (plan_.gloo) hostOperator("gloo:all_reduce");
  if (plan_.dataParallel) hostOperator("broadcast_coalesced");
  if (plan_.blockingCopyNs > 0) {
    Memcpy copy = waitForCopy("cudaMemcpy", plan_.blockingCopyNs);
    copy.bytes = plan_.blockingCopyBytes;
    copy.sourceKind = MemoryKind::Pinned;
    out_.append(copy);
  }
  for (int i = 0; i < plan_.asyncCopies; ++i) {
    call(host_, host_ + plan_.launchNs, "cudaMemcpyAsync", ++correlation_);
    host_ += plan_.launchNs;
    out_.append(Memcpy{.startNs = enqueue(compute_, 1'000, 0),
                       .durNs = 1'000,
                       .queue = compute_,
                       .device = device_,
                       .correlation = correlation_,
                       .bytes = 1024,
                       .copyKind = CopyKind::DeviceToDevice});
  }
  if (plan_.blockingMemsetNs > 0) {
    call(host_, host_ + plan_.blockingMemsetNs, "cudaMemset", ++correlation_);
    host_ += plan_.blockingMemsetNs;
  }
}

void Rank::freeLarge(std::uint64_t at) {
  memory(MemoryAction::Free, at + (25ull << 30), plan_.largeBytes, MemoryRole::Activation,
         "aten::matmul");
}

void Rank::useMemory(int step) {
  constexpr std::uint64_t kMiB = 1u << 20;
  if (step == 0) {
    for (std::uint64_t i = 1; i <= 10; ++i)
      memory(MemoryAction::Allocate, i << 30, 8 * kMiB, MemoryRole::Parameter, "init");
  }
  const auto at = static_cast<std::uint64_t>(step + 1) << 45;
  for (std::uint64_t i = 1; i <= 10; ++i)
    memory(MemoryAction::Allocate, at + (i << 30), 4 * kMiB, MemoryRole::Activation, "aten::block");
  if (plan_.memorySpike && step == plan_.steps / 2) {
    memory(MemoryAction::Allocate, at + (20ull << 30), 300 * kMiB, MemoryRole::Activation,
           "aten::cdist");
    memory(MemoryAction::Free, at + (20ull << 30), 300 * kMiB, MemoryRole::Activation,
           "aten::cdist");
  }
  if (plan_.allocationChurn) {
    memory(MemoryAction::Reserve, at, 20 * kMiB, MemoryRole::Cached, "");
    memory(MemoryAction::Release, at, 20 * kMiB, MemoryRole::Cached, "");
  }
  if (plan_.largeBytes > 0) {
    memory(MemoryAction::Allocate, at + (25ull << 30), plan_.largeBytes, MemoryRole::Activation,
           "aten::matmul");
    if (!plan_.keepsLarge) freeLarge(at);
  }
  host_ += 1'000;
  for (std::uint64_t i = 1; i <= 10; ++i)
    memory(MemoryAction::Free, at + (i << 30), 4 * kMiB, MemoryRole::Activation, "aten::block");
  if (plan_.largeBytes > 0 && plan_.keepsLarge) freeLarge(at);
  if (plan_.leakBytes > 0 && plan_.givesAllBack) held_.push_back(at + (30ull << 30));
  if (plan_.leakBytes > 0)
    memory(MemoryAction::Allocate, at + (30ull << 30), static_cast<std::uint64_t>(plan_.leakBytes),
           MemoryRole::Activation, "aten::loss");
}

void Rank::runStep(int step) {
  host_ += plan_.betweenStepsNs;
  isPlain_ = plan_.plainFrom <= step && step < plan_.plainUntil;
  TimeNs begin = host_;
  waitForBatch(step);
  if (!plan_.waitIsMarked) begin = host_;
  copyBatch();
  forwardBackward(step);
  habits(step);
  optimizer(step);
  useMemory(step);
  const std::int64_t alone = plan_.mallocNs + plan_.hostPauseNs + plan_.asleepNs +
                             plan_.stuckSyncNs + plan_.startDelayNs + plan_.profilerNs +
                             plan_.readNs;
  const bool isSlow = plan_.slowStepNs > 0 && step % 10 == 9;
  const bool waits = plan_.syncEachStep || isSlow || alone > 0;
  if (waits && step % plan_.syncEverySteps == 0) synchronise("aten::item");
  if (isSlow) {
    range(thread_, host_, host_ + plan_.slowStepNs, "user_annotation", "evaluate");
    host_ += plan_.slowStepNs;
  }
  if (plan_.mallocNs > 0) {
    call(host_, host_ + plan_.mallocNs, plan_.driverCall, ++correlation_);
    host_ += plan_.mallocNs;
  }
  if (plan_.hostPauseNs > 0) {
    if (plan_.pauseIsNamed)
      range(thread_, host_, host_ + plan_.hostPauseNs, "user_annotation", "log metrics");
    host_ += plan_.hostPauseNs;
  }
  const TimeNs reading = host_;
  host_ += plan_.readNs;
  if (plan_.asleepNs > 0) {
    out_.append(ThreadSpan{.startNs = host_,
                           .durNs = plan_.asleepNs,
                           .thread = thread_,
                           .state = ThreadState::Sleeping});
    host_ += plan_.asleepNs;
  }
  if (plan_.readNs > 0) {
    out_.append(ApiCall{.startNs = reading,
                        .durNs = host_ - reading,
                        .thread = thread_,
                        .kind = ApiKind::Other,
                        .name = out_.intern("read")});
  }
  if (plan_.profilerNs > 0) {
    out_.append(prof::Overhead{.startNs = host_,
                               .durNs = plan_.profilerNs,
                               .thread = thread_,
                               .name = out_.intern("buffer flush")});
    host_ += plan_.profilerNs;
  }
  // A host that runs ahead is held back by the driver; here by the end of the step before the last.
  if (plan_.queueRoom == 0)
    host_ = std::max(host_, computeFree_ - 2 * plan_.operators * plan_.kernelNs);
  if (!plan_.stepsMarked) return;
  const char* name = isPlain_ ? "plain step" : "step";
  range(thread_, begin, host_, "step",
        plan_.numberedSteps ? "batch " + std::to_string(step) : name);
}

/// As a machine that is slower in everything would have recorded it. What lay inside something else
/// still does.
class Stretch {
 public:
  Stretch(analyzer::StoreBuilder& out, double factor) : factor_(factor) {
    prof::forEachTable([&]<class Row>() { rows(out.columns<Row>()); });
  }

 private:
  [[nodiscard]] TimeNs stretched(TimeNs time) const {
    return std::llround(factor_ * static_cast<double>(time));
  }
  template <class Columns>
  void rows(Columns& columns) const {
    if constexpr (requires { columns.timeNs; }) {
      for (TimeNs& time : columns.timeNs) time = stretched(time);
    }
    if constexpr (requires { columns.durNs; }) {
      for (std::size_t i = 0; i < columns.durNs.size(); ++i) {
        const TimeNs start = columns.startNs[i];
        columns.startNs[i] = stretched(start);
        columns.durNs[i] = stretched(start + columns.durNs[i]) - columns.startNs[i];
      }
    }
  }

  double factor_;
};

}  // namespace

std::shared_ptr<const analyzer::Store> makeRun(const RunPlan& plan) {
  analyzer::StoreBuilder out;
  for (int rank = 0; rank < plan.ranks; ++rank)
    Rank(out, plan, static_cast<std::uint32_t>(rank)).run();
  if (plan.stretch != 1) Stretch(out, plan.stretch);
  if (plan.hostCores > 0)
    out.append(Environment{.key = out.intern("host.cores"),
                           .value = out.intern(std::to_string(plan.hostCores))});
  if (plan.runsOut)
    out.append(LogLine{
        .timeNs = 1, .level = LogLevel::Error, .text = out.intern("out of memory on cuda:0")});
  if (plan.knob != nullptr)
    out.append(Environment{.key = out.intern(std::string("knob.") + plan.knob),
                           .value = out.intern(plan.knobValue)});
  out.setPath("run.lcn");
  return out.build();
}

}  // namespace lacuna::test
