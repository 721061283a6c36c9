// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/prof/generate.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "model/random.h"
#include "model/training_program.h"

namespace lacuna::prof {
namespace {

// Spreads as found in recorded training runs: launch calls 0.24, operators 0.2 … 0.4, kernels of
// one shape 0.03 … 0.1.
constexpr double kHostSigma = 0.25;
constexpr double kLaunchSigma = 0.22;
constexpr double kKernelSigma = 0.05;

constexpr std::uint32_t kQueues = 3;  // compute, communication, copies
constexpr TimeNs kBegin = 1'000'000'000;

/// An operator of the program with its texts interned.
struct BoundOp {
  const ProgramOp* op = nullptr;
  std::vector<StringId> ranges;
  StringId text;
  StringId kernel;
};

struct Names {
  StringId launch, memcpyAsync, memsetAsync, streamSync, eventQuery, eventRecord, occupancy, loader,
      loaderWorker, collate, htod, memset;
  StringId backward, optimizer, zeroGrad, ddp, aten, training, batch;
};

/// The caching allocator: blocks of one size are used again, last freed first.
class Addresses {
 public:
  std::uint64_t take(std::uint64_t bytes) {
    auto& free = freeBySize_[bytes / 512 % kClasses];
    if (free.empty()) {
      next_ += (bytes + 511) / 512 * 512;
      return next_ - (bytes + 511) / 512 * 512;
    }
    const std::uint64_t address = free.back();
    free.pop_back();
    return address;
  }
  void give(std::uint64_t address, std::uint64_t bytes) {
    freeBySize_[bytes / 512 % kClasses].push_back(address);
  }

 private:
  // 16448 sizes exist (see makeProgram), so a class never holds blocks of two sizes.
  static constexpr std::size_t kClasses = 32768;
  std::uint64_t next_ = 0x7f5a'4000'0000;
  std::vector<std::vector<std::uint64_t>> freeBySize_ =
      std::vector<std::vector<std::uint64_t>>(kClasses);
};

struct Block {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  StringId op;
  std::uint8_t role = 0;
};

/// Sorts the rows of a table from `first` on by its first column, the start.
template <class Columns>
void sortByStart(Columns& columns, const std::vector<TimeNs>& starts, std::size_t first) {
  if (std::is_sorted(starts.begin() + static_cast<std::ptrdiff_t>(first), starts.end())) return;
  std::vector<std::uint32_t> order(starts.size() - first);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return starts[first + a] < starts[first + b];
  });
  columns.forEach([&]<class T>(std::vector<T>& values) {
    std::vector<T> sorted;
    sorted.reserve(order.size());
    for (const std::uint32_t from : order) sorted.push_back(values[first + from]);
    std::copy(sorted.begin(), sorted.end(), values.begin() + static_cast<std::ptrdiff_t>(first));
  });
}

/// One process with its device.
struct Rank {
  std::uint32_t index = 0;
  TimeNs now = kBegin;
  std::array<TimeNs, kQueues> queueFree{};
  std::uint64_t correlation = 1000;
  std::uint64_t sequence = 0;
  std::uint64_t rangeId = 0;
  Addresses addresses;
  std::vector<Block> kept;
  std::vector<TimeNs> workerFree;
  std::uint64_t allocated = 0;
};

}  // namespace

struct TraceGenerator::Impl {
  Impl(const GenerateOptions& wanted, Intern internText)
      : options(wanted),
        intern(std::move(internText)),
        random(wanted.seed),
        program(makeProgram(wanted.layers, wanted.seed)) {
    options.threads = std::max(options.threads, 3u);
    options.processes = std::max(options.processes, 1u);
    bind(program.forward, forward);
    bind(program.backward, backward);
    bind(program.optimizer, optimizer);
    nameThings();
    ranks.resize(options.processes);
    for (std::uint32_t i = 0; i < options.processes; ++i) ranks[i].index = i;
  }

  void bind(const std::vector<ProgramOp>& ops, std::vector<BoundOp>& bound);
  void nameThings();
  [[nodiscard]] ThreadId thread(const Rank& rank, std::uint32_t which) const {
    return ThreadId(1 + rank.index * options.threads + which);
  }
  [[nodiscard]] static QueueId queue(const Rank& rank, std::uint32_t which) {
    return QueueId(1 + rank.index * kQueues + which);
  }
  [[nodiscard]] static DeviceId device(const Rank& rank) { return DeviceId(1 + rank.index); }

  void describeRank(Rank& rank, GeneratedRows& rows);
  void rankStep(Rank& rank, GeneratedRows& rows);
  void loaderStep(Rank& rank, GeneratedRows& rows);
  void phase(Rank& rank, const std::vector<BoundOp>& ops, std::uint32_t which, StringId name,
             GeneratedRows& rows);
  void runOp(Rank& rank, const BoundOp& bound, std::uint32_t which, std::uint16_t depth,
             GeneratedRows& rows);
  void launch(Rank& rank, const BoundOp& bound, std::uint32_t which, GeneratedRows& rows);
  void apiCall(Rank& rank, std::uint32_t which, StringId name, double us, std::uint64_t correlation,
               GeneratedRows& rows);
  void allocate(Rank& rank, const BoundOp& bound, std::uint32_t which, GeneratedRows& rows);
  void release(Rank& rank, const Block& block, std::uint32_t which, GeneratedRows& rows);
  void copyIn(Rank& rank, GeneratedRows& rows);
  void synchronise(Rank& rank, GeneratedRows& rows);
  std::size_t open(Rank& rank, std::uint32_t which, StringId name, std::uint16_t depth,
                   StringId domain, GeneratedRows& rows);
  void close(Rank& rank, std::size_t range, GeneratedRows& rows) {
    rows.ranges.durNs[range] = rank.now - rows.ranges.startNs[range];
  }

  GenerateOptions options;
  Intern intern;
  Random random;
  TrainingProgram program;
  std::vector<BoundOp> forward;
  std::vector<BoundOp> backward;
  std::vector<BoundOp> optimizer;
  Names names;
  std::vector<Rank> ranks;
  std::uint64_t stepNumber = 0;
};

void TraceGenerator::Impl::bind(const std::vector<ProgramOp>& ops, std::vector<BoundOp>& bound) {
  for (const ProgramOp& op : ops) {
    BoundOp one{&op, {}, intern(op.text), intern(op.kernel)};
    for (const std::string_view range : op.ranges) one.ranges.push_back(intern(range));
    bound.push_back(std::move(one));
  }
}

void TraceGenerator::Impl::nameThings() {
  names.launch = intern("cudaLaunchKernel");
  names.memcpyAsync = intern("cudaMemcpyAsync");
  names.memsetAsync = intern("cudaMemsetAsync");
  names.streamSync = intern("cudaStreamSynchronize");
  names.eventQuery = intern("cudaEventQuery");
  names.eventRecord = intern("cudaEventRecordWithFlags");
  names.occupancy = intern("cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags");
  names.loader = intern("enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__");
  names.loaderWorker = intern("DataLoader.worker.fetch");
  names.collate = intern("DataLoader.worker.collate");
  names.htod = intern("Memcpy HtoD (Pinned -> Device)");
  names.memset = intern("Memset (Device)");
  names.backward = intern("backward");
  names.optimizer = intern("Optimizer.step#AdamW.step");
  names.zeroGrad = intern("Optimizer.zero_grad#AdamW.zero_grad");
  names.ddp = intern("DistributedDataParallel.forward");
  names.aten = intern("aten");
  names.training = intern("training");
  names.batch = intern("input batch");
}

void TraceGenerator::Impl::describeRank(Rank& rank, GeneratedRows& rows) {
  const ProcessId process(1 + rank.index);
  rows.processes.push({.id = process,
                       .osPid = 4000 + rank.index,
                       .startNs = kBegin,
                       .name = intern("python"),
                       .commandLine = intern("python train.py --model transformer"),
                       .exitCode = 0,
                       .rank = static_cast<std::int32_t>(rank.index)});
  for (std::uint32_t i = 0; i < options.threads; ++i) {
    const std::string name = i == 0   ? "main"
                             : i == 1 ? "pt_autograd_0"
                                      : fmt::format("loader worker {}", i - 2);
    rows.threads.push({.id = thread(rank, i),
                       .process = process,
                       .osTid = 4000 + 100 * rank.index + i,
                       .startNs = kBegin,
                       .name = intern(name)});
  }
  rows.devices.push({.id = device(rank),
                     .kind = DeviceKind::Cuda,
                     .index = rank.index,
                     .name = intern("NVIDIA A100-SXM4-80GB"),
                     .memoryBytes = std::uint64_t{80} << 30,
                     .memoryBandwidth = 2'039'000'000'000,
                     .multiprocessors = 108,
                     .clockKhz = 1'410'000,
                     .computeMajor = 8,
                     .computeMinor = 0});
  static constexpr std::array<std::string_view, kQueues> kNames = {"compute", "communication",
                                                                   "copies"};
  for (std::uint32_t i = 0; i < kQueues; ++i) {
    rows.queues.push({.id = queue(rank, i),
                      .device = device(rank),
                      .process = process,
                      .nativeId = 7 + 13 * std::uint64_t{i},
                      .name = intern(kNames[i])});
  }
  rows.environment.push({.process = process,
                         .key = intern("generator.seed"),
                         .value = intern(std::to_string(options.seed))});
  rows.tracks.push({.id = TrackId(1 + rank.index),
                    .process = process,
                    .device = device(rank),
                    .name = intern("memory allocated"),
                    .unit = intern("bytes")});
}

std::size_t TraceGenerator::Impl::open(Rank& rank, std::uint32_t which, StringId name,
                                       std::uint16_t depth, StringId domain, GeneratedRows& rows) {
  rows.ranges.push({.startNs = rank.now,
                    .thread = thread(rank, which),
                    .domain = domain,
                    .name = name,
                    .depth = depth,
                    .correlation = ++rank.rangeId});
  return rows.ranges.startNs.size() - 1;
}

void TraceGenerator::Impl::apiCall(Rank& rank, std::uint32_t which, StringId name, double us,
                                   std::uint64_t correlation, GeneratedRows& rows) {
  const TimeNs length = random.logNormalNs(us, kLaunchSigma);
  rows.apiCalls.push({.startNs = rank.now,
                      .durNs = length,
                      .thread = thread(rank, which),
                      .name = name,
                      .correlation = correlation});
  rank.now += length;
}

void TraceGenerator::Impl::launch(Rank& rank, const BoundOp& bound, std::uint32_t which,
                                  GeneratedRows& rows) {
  const ProgramOp& op = *bound.op;
  if (op.queryEvent) apiCall(rank, which, names.eventQuery, 0.7, ++rank.correlation, rows);
  rank.now += random.logNormalNs(0.4, kHostSigma);
  const std::uint64_t correlation = ++rank.correlation;
  apiCall(rank, which, names.launch, 4.5, correlation, rows);
  const std::uint32_t lane = op.communication ? 1 : 0;
  const TimeNs ready = rank.now + random.logNormalNs(2.5, 0.2);
  const TimeNs start = std::max(ready, rank.queueFree[lane] + random.logNormalNs(1.1, 0.15));
  const TimeNs length = random.logNormalNs(op.kernelUs, kKernelSigma);
  rank.queueFree[lane] = start + length;
  rows.kernels.push({.startNs = start,
                     .durNs = length,
                     .queue = queue(rank, lane),
                     .device = device(rank),
                     .correlation = correlation,
                     .name = bound.kernel,
                     .gridX = op.gridX,
                     .gridY = op.gridY,
                     .gridZ = 1,
                     .blockX = op.blockX,
                     .blockY = 1,
                     .blockZ = 1,
                     .registersPerThread = op.registers,
                     .dynamicSharedBytes = op.sharedBytes});
}

void TraceGenerator::Impl::allocate(Rank& rank, const BoundOp& bound, std::uint32_t which,
                                    GeneratedRows& rows) {
  const ProgramOp& op = *bound.op;
  const Block block{rank.addresses.take(op.bytes), op.bytes, bound.ranges.front(), op.role};
  rank.now += random.logNormalNs(0.6, kHostSigma);
  rows.allocations.push({.timeNs = rank.now,
                         .thread = thread(rank, which),
                         .device = device(rank),
                         .queue = queue(rank, 0),
                         .sequence = rank.sequence,
                         .action = MemoryAction::Allocate,
                         .role = static_cast<MemoryRole>(op.role),
                         .address = block.address,
                         .bytes = op.bytes,
                         .op = block.op});
  rank.allocated += op.bytes;
  if (op.keep) {
    rank.kept.push_back(block);
  } else {
    release(rank, block, which, rows);
  }
}

void TraceGenerator::Impl::release(Rank& rank, const Block& block, std::uint32_t which,
                                   GeneratedRows& rows) {
  rank.now += random.logNormalNs(0.5, kHostSigma);
  rows.allocations.push({.timeNs = rank.now,
                         .thread = thread(rank, which),
                         .device = device(rank),
                         .queue = queue(rank, 0),
                         .sequence = rank.sequence,
                         .action = MemoryAction::Free,
                         .role = static_cast<MemoryRole>(block.role),
                         .address = block.address,
                         .bytes = block.bytes,
                         .op = block.op});
  rank.addresses.give(block.address, block.bytes);
  rank.allocated -= block.bytes;
}

void TraceGenerator::Impl::runOp(Rank& rank, const BoundOp& bound, std::uint32_t which,
                                 std::uint16_t depth, GeneratedRows& rows) {
  const ProgramOp& op = *bound.op;
  std::vector<std::size_t> opened;
  for (std::size_t i = 0; i < bound.ranges.size(); ++i) {
    opened.push_back(open(rank, which, bound.ranges[i], static_cast<std::uint16_t>(depth + i),
                          names.aten, rows));
    if (i == 0) rows.ranges.text.back() = bound.text;
    rank.now += random.logNormalNs(op.hostUs * 0.15, kHostSigma);
  }
  if (op.bytes != 0) allocate(rank, bound, which, rows);
  rank.now += random.logNormalNs(op.hostUs * 0.5, kHostSigma);
  if (!op.kernel.empty()) {
    ++rank.sequence;
    launch(rank, bound, which, rows);
  }
  for (std::size_t i = opened.size(); i-- > 0;) {
    rank.now += random.logNormalNs(op.hostUs * 0.1, kHostSigma);
    close(rank, opened[i], rows);
  }
  if (op.release && !rank.kept.empty()) {
    release(rank, rank.kept.back(), which, rows);
    rank.kept.pop_back();
  }
  rank.now += random.logNormalNs(0.8, kHostSigma);
}

void TraceGenerator::Impl::phase(Rank& rank, const std::vector<BoundOp>& ops, std::uint32_t which,
                                 StringId name, GeneratedRows& rows) {
  const std::size_t range = open(rank, which, name, which == 0 ? 1 : 0, names.training, rows);
  for (const BoundOp& op : ops) runOp(rank, op, which, which == 0 ? 2 : 1, rows);
  close(rank, range, rows);
}

void TraceGenerator::Impl::loaderStep(Rank& rank, GeneratedRows& rows) {
  const TimeNs before = rank.now;
  rank.workerFree.resize(options.threads);
  for (std::uint32_t worker = 2; worker < options.threads; ++worker) {
    // A worker that is behind finishes its batch first.
    if (rank.workerFree[worker] > before) continue;
    rank.now = before + random.logNormalNs(200, 0.5);
    const std::size_t fetch = open(rank, worker, names.loaderWorker, 0, names.training, rows);
    rank.now += random.logNormalNs(9'000, 0.3);
    const std::size_t collate = open(rank, worker, names.collate, 1, names.training, rows);
    rank.now += random.logNormalNs(1'500, 0.3);
    close(rank, collate, rows);
    close(rank, fetch, rows);
    rank.workerFree[worker] = rank.now;
  }
  rank.now = before;
}

void TraceGenerator::Impl::copyIn(Rank& rank, GeneratedRows& rows) {
  const std::uint64_t correlation = ++rank.correlation;
  apiCall(rank, 0, names.memcpyAsync, 7, correlation, rows);
  const TimeNs start = std::max(rank.now + random.logNormalNs(2, 0.3), rank.queueFree[2]);
  const TimeNs length = random.logNormalNs(310, 0.08);
  rank.queueFree[2] = start + length;
  rows.copies.push({.startNs = start,
                    .durNs = length,
                    .queue = queue(rank, 2),
                    .device = device(rank),
                    .correlation = correlation,
                    .bytes = 8'388'608,
                    .copyKind = CopyKind::HostToDevice,
                    .sourceKind = MemoryKind::Pinned,
                    .targetKind = MemoryKind::Device,
                    .flags = kAsync,
                    .name = names.htod});
  const std::uint64_t cleared = ++rank.correlation;
  apiCall(rank, 0, names.memsetAsync, 5, cleared, rows);
  rows.memsets.push({.startNs = rank.now + random.logNormalNs(3, 0.3),
                     .durNs = random.logNormalNs(1.6, 0.1),
                     .queue = queue(rank, 0),
                     .device = device(rank),
                     .correlation = cleared,
                     .bytes = 4096,
                     .memoryKind = MemoryKind::Device,
                     .flags = kAsync,
                     .name = names.memset});
}

void TraceGenerator::Impl::synchronise(Rank& rank, GeneratedRows& rows) {
  const TimeNs until = *std::max_element(rank.queueFree.begin(), rank.queueFree.end());
  const TimeNs length = std::max<TimeNs>(until - rank.now, 0) + random.logNormalNs(3, 0.2);
  const std::uint64_t correlation = ++rank.correlation;
  rows.apiCalls.push({.startNs = rank.now,
                      .durNs = length,
                      .thread = thread(rank, 0),
                      .name = names.streamSync,
                      .correlation = correlation});
  rows.syncs.push({.startNs = rank.now,
                   .durNs = length,
                   .thread = thread(rank, 0),
                   .queue = queue(rank, 0),
                   .device = device(rank),
                   .kind = SyncKind::Stream,
                   .correlation = correlation,
                   .name = names.streamSync});
  rank.now += length;
}

void TraceGenerator::Impl::rankStep(Rank& rank, GeneratedRows& rows) {
  loaderStep(rank, rows);
  const std::size_t step =
      open(rank, 0, intern(fmt::format("ProfilerStep#{}", stepNumber)), 0, names.training, rows);
  const std::size_t next = open(rank, 0, names.loader, 1, names.training, rows);
  rank.now += random.logNormalNs(stepNumber % 50 == 49 ? 4'000 : 120, 0.4);
  close(rank, next, rows);
  copyIn(rank, rows);
  const std::size_t zero = open(rank, 0, names.zeroGrad, 1, names.training, rows);
  rank.now += random.logNormalNs(60, 0.2);
  close(rank, zero, rows);
  phase(rank, forward, 0, names.ddp, rows);
  phase(rank, backward, 1, names.backward, rows);
  phase(rank, optimizer, 0, names.optimizer, rows);
  synchronise(rank, rows);
  rows.samples.push({.timeNs = rank.now,
                     .track = TrackId(1 + rank.index),
                     .value = static_cast<double>(rank.allocated)});
  close(rank, step, rows);
  rank.now += random.logNormalNs(15, 0.4);
}

std::uint64_t GeneratedRows::rows() const {
  return processes.id.size() + threads.id.size() + devices.id.size() + queues.id.size() +
         environment.key.size() + tracks.id.size() + ranges.startNs.size() +
         apiCalls.startNs.size() + kernels.startNs.size() + copies.startNs.size() +
         memsets.startNs.size() + syncs.startNs.size() + allocations.timeNs.size() +
         samples.timeNs.size();
}

void GeneratedRows::clear() {
  processes.clear();
  threads.clear();
  devices.clear();
  queues.clear();
  environment.clear();
  tracks.clear();
  ranges.clear();
  apiCalls.clear();
  kernels.clear();
  copies.clear();
  memsets.clear();
  syncs.clear();
  allocations.clear();
  samples.clear();
}

TraceGenerator::TraceGenerator(const GenerateOptions& options, Intern intern)
    : impl_(std::make_unique<Impl>(options, std::move(intern))) {}
TraceGenerator::TraceGenerator(TraceGenerator&&) noexcept = default;
TraceGenerator& TraceGenerator::operator=(TraceGenerator&&) noexcept = default;
TraceGenerator::~TraceGenerator() = default;

void TraceGenerator::describe(GeneratedRows& rows) {
  for (Rank& rank : impl_->ranks) impl_->describeRank(rank, rows);
}

void TraceGenerator::step(GeneratedRows& rows) {
  const std::size_t ranges = rows.ranges.startNs.size();
  const std::size_t apiCalls = rows.apiCalls.startNs.size();
  const std::size_t kernels = rows.kernels.startNs.size();
  const std::size_t allocations = rows.allocations.timeNs.size();
  for (Rank& rank : impl_->ranks) impl_->rankStep(rank, rows);
  ++impl_->stepNumber;
  // The keys are copied: sorting moves them too.
  sortByStart(rows.ranges, std::vector(rows.ranges.startNs), ranges);
  sortByStart(rows.apiCalls, std::vector(rows.apiCalls.startNs), apiCalls);
  sortByStart(rows.kernels, std::vector(rows.kernels.startNs), kernels);
  sortByStart(rows.allocations, std::vector(rows.allocations.timeNs), allocations);
}

namespace {

void write(Writer& writer, const GeneratedRows& rows) {
  writer.append<Process>(rows.processes);
  writer.append<Thread>(rows.threads);
  writer.append<Device>(rows.devices);
  writer.append<Queue>(rows.queues);
  writer.append<Environment>(rows.environment);
  writer.append<CounterTrack>(rows.tracks);
  writer.append<Range>(rows.ranges);
  writer.append<ApiCall>(rows.apiCalls);
  writer.append<Kernel>(rows.kernels);
  writer.append<Memcpy>(rows.copies);
  writer.append<Memset>(rows.memsets);
  writer.append<Sync>(rows.syncs);
  writer.append<Allocation>(rows.allocations);
  writer.append<CounterSample>(rows.samples);
}

}  // namespace

Result<GenerateSummary> generateTrace(Writer& writer, const GenerateOptions& options) {
  TraceGenerator generator(options, [&](std::string_view text) { return writer.intern(text); });
  GenerateSummary summary;
  GeneratedRows rows;
  generator.describe(rows);
  for (;;) {
    if (options.steps != 0 ? summary.steps >= options.steps : summary.events >= options.events)
      break;
    generator.step(rows);
    summary.events += rows.rows();
    ++summary.steps;
    write(writer, rows);
    rows.clear();
    if (!writer.status().ok()) return writer.status().error();
  }
  return summary;
}

}  // namespace lacuna::prof
