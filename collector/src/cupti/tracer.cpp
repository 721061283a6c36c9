// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "cupti/tracer.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "core/no_signals.h"
#include "cupti/buffer_pool.h"
#include "cupti/calls.h"
#include "cupti/capture.h"
#include "cupti/clock_reader.h"
#include "cupti/contexts.h"
#include "cupti/device_samplers.h"
#include "cupti/made_nodes.h"
#include "cupti/subscription.h"

namespace lacuna::collector::cupti {
namespace {

using Clock = std::chrono::steady_clock;

/// CUPTI calls back without an argument of ours, so the pool of the one tracer is global. Null
/// while no tracer runs.
std::atomic<BufferPool*> globalPool = nullptr;
std::atomic<pid_t> ownerPid = 0;

/// CUPTI may own some of a pool's memory for as long as the process lives.
BufferPool* keepForGood(std::unique_ptr<BufferPool> pool) {
  static auto* kept = new std::vector<std::unique_ptr<BufferPool>>;
  return kept->emplace_back(std::move(pool)).get();
}

/// Null in a forked child: whoever held the pool's lock is missing there.
BufferPool* ownPool() {
  return ownerPid == ::getpid() ? globalPool.load() : nullptr;
}

void CUPTIAPI bufferRequested(std::uint8_t** buffer, std::size_t* size, std::size_t* maxRecords) {
  BufferPool* pool = ownPool();
  std::byte* memory = pool != nullptr ? pool->request() : nullptr;
  *buffer = reinterpret_cast<std::uint8_t*>(memory);
  *size = memory != nullptr ? pool->bufferBytes() : 0;
  *maxRecords = 0;
}

void CUPTIAPI bufferCompleted(CUcontext /*context*/, std::uint32_t /*stream*/, std::uint8_t* buffer,
                              std::size_t /*size*/, std::size_t validBytes) {
  if (BufferPool* pool = ownPool(); pool != nullptr && buffer != nullptr) {
    pool->complete(reinterpret_cast<std::byte*>(buffer), validBytes);
  }
}

Contexts& contexts() {
  static auto* kept = new Contexts;  // for CUPTI may call back as long as the process lives
  return *kept;
}

MadeNodes& madeNodes() {
  static auto* kept = new MadeNodes;  // as above
  return *kept;
}

void CUPTIAPI onCallback(void* /*user*/, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                         const void* data) {
  if (data == nullptr || ownPool() == nullptr) return;
  if (domain == CUPTI_CB_DOMAIN_DRIVER_API || domain == CUPTI_CB_DOMAIN_RUNTIME_API)
    return followCapture(contexts(), domain, id, *static_cast<const CUpti_CallbackData*>(data));
  if (domain != CUPTI_CB_DOMAIN_RESOURCE) return;
  const auto& resource = *static_cast<const CUpti_ResourceData*>(data);
  const CUcontext context = resource.context;
  const bool isCopy = id == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED;
  try {
    if ((isCopy || id == CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED) &&
        resource.resourceDescriptor != nullptr)
      madeNodes().made(isCopy, *static_cast<const CUpti_GraphData*>(resource.resourceDescriptor));
    if (id == CUPTI_CBID_RESOURCE_CONTEXT_CREATED) contexts().created(context);
    if (id == CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING) contexts().destroyed(context);
  } catch (const std::exception&) {
    return;  // for want of memory: its last work may lack an end, or its graphs' nodes their
             // operators
  }
}

/// A clock that was set is seen before the stamps that it gave.
constexpr std::chrono::milliseconds kFreshClocks{0};
constexpr const char* kNoTime =
    "CUPTI did not report its time for a while; CUDA events around it are placed by earlier "
    "readings";
/// Calls of CUPTI that fail with an internal error are tried so often.
constexpr int kTries = 3;

/// The version or the machine does not have it: trying again is no use, and nothing is lost.
bool isLacking(CUptiResult result) {
  return result == CUPTI_ERROR_INVALID_PARAMETER || result == CUPTI_ERROR_NOT_SUPPORTED;
}

template <class Call>
CUptiResult again(Call&& call) {
  CUptiResult result = call();
  for (int i = 1; i < kTries && result != CUPTI_SUCCESS && !isLacking(result); ++i) result = call();
  return result;
}

/// Callback ids are dense; versions differ in how many there are.
constexpr std::uint32_t kMaxCallbackId = 2000;

}  // namespace

struct Tracer::Impl {
  Library library;
  TracerOptions options;
  RowSink* sink = nullptr;
  Strides strides{};
  BufferPool* pool = nullptr;
  std::unique_ptr<CaptureWriter> capture;
  ClockReader clocks{library};
  std::vector<CUpti_ActivityKind> enabled;
  std::vector<std::pair<bool, CUpti_CallbackId>> calls;  ///< that are traced; true: the driver's
  CUpti_SubscriberHandle subscriber = nullptr;
  bool systemThreads = false;
  bool seesCaptures = false;  ///< else waiting for the device might break one
  std::unique_ptr<Decoder> decoder;
  DeviceSamplers hardware{library, clocks};
  std::thread thread;
  std::atomic<bool> stopping = false;
  mutable std::mutex reportMutex;
  TracerReport report;

  bool setUp();
  bool startThread();
  void tearDown();
  template <class Work>
  void guarded(Work&& work) noexcept;
  bool subscribe();
  void enableKinds();
  void enableApi(bool driver);
  void followContexts(bool follow);
  void followCaptures(bool follow);
  CUptiResult setCallback(bool on, CUpti_CallbackDomain domain, CUpti_CallbackId id);
  void followNodes(bool follow);
  void putNodes();
  void disableCalls();
  void disable(CUpti_ActivityKind kind);
  bool fail(TracerState state, std::string text);
  void leave();
  bool giveUp(std::string text);
  void note(const std::string& text);
  std::string callbackName(bool driver, std::uint32_t id) const;
  void settle();
  void readClocks();
  void keepClocks(Clock::duration age);
  CUptiResult readDrops();
  void noteCapture();
  void drainUntil(Clock::time_point end);
  void decodeOne(const BufferPool::Full& full);
  void sampleHardware();
  void stopHardware();
  void flush();
  void sendReport();
  void run();
};

/// Does work that may run out of memory. Then the timeline ends, not the program.
template <class Work>
void Tracer::Impl::guarded(Work&& work) noexcept {
  try {
    work();
  } catch (const std::exception& error) {
    (void)fail(TracerState::Failed, std::string("the CUDA timeline broke off: ") + error.what());
  }
}

bool Tracer::Impl::fail(TracerState state, std::string text) {
  std::lock_guard lock(reportMutex);
  report.state = state;
  report.text = std::move(text);
  return false;
}

void Tracer::Impl::leave() {
  const CUptiResult left = again([&] { return library.Unsubscribe(subscriber); });
  if (left != CUPTI_SUCCESS)
    guarded([&] {
      note("CUPTI does not let go, so no other profiler can use it: " + library.describe(left));
    });
}

/// The one place that there is goes back: the program's own profiler may want it.
bool Tracer::Impl::giveUp(std::string text) {
  globalPool = nullptr;
  leave();
  return fail(TracerState::Failed, std::move(text));
}

/// Reports a part that is missing, once; the rest is recorded.
void Tracer::Impl::note(const std::string& text) {
  std::lock_guard lock(reportMutex);
  if (report.text.find(text) != std::string::npos) return;
  report.text += (report.text.empty() ? "" : "; ") + text;
}

bool Tracer::Impl::subscribe() {
  Subscription subscription = subscribeTo(library, &onCallback);
  subscriber = subscription.subscriber;
  if (subscription.state == TracerState::Running) return true;
  return fail(subscription.state, std::move(subscription.text));
}

/// The name of a call, again where CUPTI failed to give it; "" where there is no such call.
std::string Tracer::Impl::callbackName(bool driver, std::uint32_t id) const {
  const char* name = nullptr;
  const auto domain = driver ? CUPTI_CB_DOMAIN_DRIVER_API : CUPTI_CB_DOMAIN_RUNTIME_API;
  const auto result = again([&] { return library.GetCallbackName(domain, id, &name); });
  return result == CUPTI_SUCCESS && name != nullptr ? name : "";
}

void Tracer::Impl::enableApi(bool driver) {
  const auto enableOne =
      driver ? library.ActivityEnableDriverApi : library.ActivityEnableRuntimeApi;
  if (enableOne == nullptr) {
    // Without the choice of calls the driver's side would double every launch.
    if (!driver && library.ActivityEnable(CUPTI_ACTIVITY_KIND_RUNTIME) == CUPTI_SUCCESS) {
      enabled.push_back(CUPTI_ACTIVITY_KIND_RUNTIME);
    }
    return;
  }
  std::size_t refused = 0;
  for (std::uint32_t id = 1; id < kMaxCallbackId; ++id) {
    const std::string name = callbackName(driver, id);
    if (name.empty() || !matters(name)) continue;
    const CUptiResult result = again([&] { return enableOne(id, 1); });
    refused += result == CUPTI_SUCCESS || isLacking(result) ? 0 : 1;
    if (result != CUPTI_SUCCESS) continue;
    calls.emplace_back(driver, id);
    if (capture) capture->apiName(driver, id, name);
  }
  if (refused > 0) note("CUPTI refused to record " + std::to_string(refused) + " calls of CUDA");
}

/// Contexts are known only as long as their ends are reported.
void Tracer::Impl::followContexts(bool follow) {
  const auto set = [&](CUpti_CallbackId id) {
    return setCallback(follow, CUPTI_CB_DOMAIN_RESOURCE, id) == CUPTI_SUCCESS;
  };
  const bool ends = set(CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING);
  const bool begins = (ends || !follow) && set(CUPTI_CBID_RESOURCE_CONTEXT_CREATED);
  followCaptures(follow);
  if (follow && (!begins || !seesCaptures))
    note(
        "the last work may lack its end: CUPTI does not report contexts or captures, so the device "
        "is not waited for");
  followNodes(follow);
  if (!follow) contexts().forget();
}

/// Where each node is recorded, the moment at which the program made it shows the operator that it
/// is of.
void Tracer::Impl::followNodes(bool follow) {
  if (!options.graphNodes || !options.calls || library.GetGraphNodeId == nullptr) return;
  if (follow) madeNodes().follow(library.GetGraphNodeId);
  for (const auto id :
       {CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED})
    (void)setCallback(follow, CUPTI_CB_DOMAIN_RESOURCE, id);
  if (!follow) madeNodes().follow(nullptr);
}

void Tracer::Impl::putNodes() {
  for (const prof::GraphNode& node : madeNodes().take()) sink->put(node);
  if (const std::uint64_t lost = madeNodes().takeLost(); lost > 0)
    note(std::to_string(lost) +
         " nodes of graphs could not be followed; their work has no operator");
}

/// A call that this version does not have is refused, and harmless.
void Tracer::Impl::followCaptures(bool follow) {
  seesCaptures = true;
  for (const CaptureCalls& captures : captureCalls()) {
    for (const std::span<const CUpti_CallbackId> ids : {captures.begin, captures.end}) {
      for (const CUpti_CallbackId id : ids) {
        const CUptiResult result = setCallback(follow, captures.domain, id);
        if (result != CUPTI_SUCCESS && !isLacking(result)) seesCaptures = false;
      }
    }
  }
}

CUptiResult Tracer::Impl::setCallback(bool on, CUpti_CallbackDomain domain, CUpti_CallbackId id) {
  return again([&] { return library.EnableCallback(on ? 1 : 0, subscriber, domain, id); });
}

/// A call that stays on costs the program time, and is dropped records in the account of the next
/// session.
void Tracer::Impl::disableCalls() {
  for (const auto& [driver, id] : calls) {
    (void)(driver ? library.ActivityEnableDriverApi(id, 0)
                  : library.ActivityEnableRuntimeApi(id, 0));
  }
}

void Tracer::Impl::disable(CUpti_ActivityKind kind) {
  if (std::erase(enabled, kind) != 0) (void)library.ActivityDisable(kind);
}

void Tracer::Impl::enableKinds() {
  std::vector<CUpti_ActivityKind> kinds = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                           CUPTI_ACTIVITY_KIND_MEMCPY,
                                           CUPTI_ACTIVITY_KIND_MEMCPY2,
                                           CUPTI_ACTIVITY_KIND_MEMSET,
                                           CUPTI_ACTIVITY_KIND_DEVICE,
                                           CUPTI_ACTIVITY_KIND_CONTEXT,
                                           CUPTI_ACTIVITY_KIND_STREAM};
  // Graph records replace those of the nodes.
  if (!options.graphNodes) kinds.push_back(CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
  if (options.calls)
    kinds.insert(kinds.end(), {CUPTI_ACTIVITY_KIND_OVERHEAD, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION});
  if (options.memory)
    kinds.insert(kinds.end(), {CUPTI_ACTIVITY_KIND_MEMORY2, CUPTI_ACTIVITY_KIND_MEMORY_POOL});
  if (options.environment) kinds.push_back(CUPTI_ACTIVITY_KIND_ENVIRONMENT);
  std::string refused;
  for (const CUpti_ActivityKind kind : kinds) {
    const CUptiResult result = again([&] { return library.ActivityEnable(kind); });
    if (result == CUPTI_SUCCESS) {
      enabled.push_back(kind);
    } else {
      refused += " " + std::to_string(kind) + ": " + library.describe(result) + ";";
    }
  }
  if (options.calls) {
    enableApi(false);
    enableApi(true);
    const bool all = std::ranges::find(enabled, CUPTI_ACTIVITY_KIND_RUNTIME) != enabled.end();
    if (calls.empty() && !all) note("no calls of CUDA are recorded: CUPTI enables none of them");
  }
  if (!refused.empty())
    note("some CUDA events are not recorded; CUPTI refused activity kinds" + refused);
}

bool Tracer::Impl::setUp() {
  if (!library.loaded()) {
    return fail(TracerState::NoLibrary, "no CUDA timeline: libcupti was not found (" +
                                            library.why() +
                                            "). Remedy: install the CUDA toolkit's CUPTI, or put "
                                            "its folder (…/extras/CUPTI/lib64) on LD_LIBRARY_PATH");
  }
  if (!subscribe()) return false;
  strides = library.probeStrides();
  if (strides[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL] == 0)
    return giveUp(
        "no CUDA timeline: CUPTI does not show how long its records are "
        "(cuptiActivityGetNextRecord)");
  if (!options.capturePath.empty()) {
    capture = std::make_unique<CaptureWriter>(options.capturePath, library.version(), strides);
    noteCapture();
  }
  // NVTX and perf know threads by the number that the system gives them; CUPTI's default is
  // pthread's.
  const CUptiResult threads =
      again([&] { return library.SetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM); });
  systemThreads = threads == CUPTI_SUCCESS;
  if (!systemThreads)
    note("CUDA calls have no thread: CUPTI cannot number threads as the system does: " +
         library.describe(threads));
  pool = keepForGood(
      std::make_unique<BufferPool>(options.bufferBytes, options.buffers, options.maxBuffers));
  globalPool = pool;
  ownerPid = ::getpid();
  const CUptiResult result =
      again([&] { return library.ActivityRegisterCallbacks(&bufferRequested, &bufferCompleted); });
  if (result != CUPTI_SUCCESS)
    return giveUp("no CUDA timeline: CUPTI takes no buffers: " + library.describe(result));
  clocks.read(capture.get());
  if (clocks.map().empty()) {
    return giveUp(
        "no CUDA timeline: CUPTI does not report its time (cuptiGetTimestamp), so its records "
        "cannot be placed beside the host's");
  }
  enableKinds();
  followContexts(true);
  std::lock_guard lock(reportMutex);
  report.state = TracerState::Running;
  return true;
}

void Tracer::Impl::tearDown() {
  stopping = true;
  // A forced flush hands over what still runs, without an end. The wait for it is ours and none of
  // the program's calls.
  disableCalls();
  disable(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
  settle();
  followContexts(false);
  while (!enabled.empty()) disable(enabled.back());
  const CUptiResult flushed =
      again([&] { return library.ActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED); });
  guarded([&] {
    if (flushed != CUPTI_SUCCESS)
      note("the last CUDA records are missing: CUPTI kept them back: " + library.describe(flushed));
    readClocks();
    drainUntil(Clock::time_point::max());
    putNodes();
    hardware.poll(*decoder);
    stopHardware();
    const CUptiResult counted = again([&] { return readDrops(); });
    if (counted != CUPTI_SUCCESS)
      note("CUPTI does not report how many records it dropped: " + library.describe(counted));
  });
  globalPool = nullptr;
  leave();
}

/// Signals are the program's, also in the thread that waits.
void Tracer::Impl::settle() {
  if (!seesCaptures) return;
  guarded([&] {
    const NoSignals noSignals;
    if (!contexts().settle(options.driver, options.settle) && contexts().isCapturing())
      note(
          "the last work may lack its end: a stream was being captured into a graph, which waiting "
          "would have broken");
  });
}

/// Reads the clocks, which CUPTI may not give for a while.
void Tracer::Impl::readClocks() {
  if (!clocks.read(capture.get())) note(kNoTime);
}

/// Reads the clocks where the last reading is so old.
void Tracer::Impl::keepClocks(Clock::duration age) {
  if (!clocks.readAgain(age, capture.get())) note(kNoTime);
}

CUptiResult Tracer::Impl::readDrops() {
  std::size_t dropped = 0;
  // Only from here: inside the completion callback this call deadlocks.
  const CUptiResult result = library.ActivityGetNumDroppedRecords(nullptr, 0, &dropped);
  std::lock_guard lock(reportMutex);
  if (result == CUPTI_SUCCESS) report.droppedByCupti += dropped;
  report.lostBuffers = pool->refused();
  return result;
}

void Tracer::Impl::noteCapture() {
  if (!capture || !capture->failed()) return;
  std::lock_guard lock(reportMutex);
  if (!report.captureText.empty()) return;
  report.captureText =
      "the raw capture is not whole: " + capture->why() +
      ". The trace has all that was recorded. Remedy: make room, or choose another folder";
}

void Tracer::Impl::decodeOne(const BufferPool::Full& full) {
  if (capture) capture->buffer(full.data, full.bytes);
  noteCapture();
  sink->beforeRows();
  keepClocks(kFreshClocks);
  const std::size_t used = decoder->decodeBuffer(full.data, full.bytes, strides);
  std::lock_guard lock(reportMutex);
  report.truncated += used == full.bytes ? 0 : 1;
  report.decoded = decoder->stats();
  report.clockTimesSet = clocks.map().timesSet();
  report.clockMostSetNs = clocks.map().mostSetNs();
}

/// Decodes what comes until then; while stopping, what is there.
void Tracer::Impl::drainUntil(Clock::time_point end) {
  for (;;) {
    const double seconds = stopping ? 0 : std::chrono::duration<double>(end - Clock::now()).count();
    if (seconds < 0) return;
    const auto full = pool->take(seconds);
    if (!full) return;
    decodeOne(*full);
    pool->recycle(full->data);
  }
}

/// A device is sampled once a record has described it: then the driver is up, and the process uses
/// it.
void Tracer::Impl::sampleHardware() {
  if (options.hardwareInterval.count() == 0) return;
  const std::string why = hardware.start(decoder->devices(), options.hardwareInterval);
  hardware.poll(*decoder);
  std::lock_guard lock(reportMutex);
  if (report.hardwareText.empty()) report.hardwareText = why;
}

void Tracer::Impl::stopHardware() {
  const std::uint64_t overflows = hardware.stop();
  std::lock_guard lock(reportMutex);
  report.hardwareOverflows += overflows;
}

/// Has CUPTI hand over what is in its buffers; it is decoded with what comes next.
void Tracer::Impl::flush() {
  (void)library.ActivityFlushAll(0);
  readClocks();
  (void)readDrops();
  sampleHardware();
  sendReport();
}

void Tracer::Impl::sendReport() {
  if (!options.onReport) return;
  std::unique_lock lock(reportMutex);
  const TracerReport now = report;
  lock.unlock();
  options.onReport(now);
}

void Tracer::Impl::run() {
  ::pthread_setname_np(::pthread_self(), "lacuna-cupti");
  sendReport();
  auto flushAt = Clock::now() + options.flushEvery;
  while (!stopping) {
    drainUntil(std::min(flushAt, Clock::now() + std::min(options.pollEvery, options.clockEvery)));
    pool->prepare();
    sink->beforeRows();
    putNodes();
    keepClocks(options.clockEvery);
    // Buffers that come meanwhile, full or flushed, bring the next flush no nearer.
    if (stopping || Clock::now() < flushAt) continue;
    flush();
    flushAt = Clock::now() + options.flushEvery;
  }
}

bool Tracer::Impl::startThread() {
  try {
    const NoSignals noSignals;
    thread = std::thread([this] { guarded([this] { run(); }); });
    return true;
  } catch (const std::exception& error) {
    tearDown();
    return fail(TracerState::Failed,
                std::string("no CUDA timeline: no thread could be started to read it (") +
                    error.what() +
                    "). Remedy: allow the program one thread more (ulimit -u, the limit of "
                    "processes of a container)");
  }
}

Tracer::Tracer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

std::unique_ptr<Tracer> Tracer::start(Library library, RowSink& sink,
                                      const TracerOptions& options) {
  auto impl = std::make_unique<Impl>();
  impl->library = std::move(library);
  impl->options = options;
  impl->sink = &sink;
  if (!impl->setUp()) return std::unique_ptr<Tracer>(new Tracer(std::move(impl)));
  DecoderHooks hooks;
  hooks.clock = &impl->clocks.map();
  hooks.text = [](const void* pointer) {
    return pointer != nullptr ? std::string_view(static_cast<const char*>(pointer))
                              : std::string_view();
  };
  hooks.apiName = [raw = impl.get()](bool driver, std::uint32_t id) {
    return raw->callbackName(driver, id);
  };
  hooks.systemThreads = impl->systemThreads;
  impl->decoder = std::make_unique<Decoder>(sink, std::move(hooks));
  impl->startThread();
  return std::unique_ptr<Tracer>(new Tracer(std::move(impl)));
}

Tracer::~Tracer() {
  stop();
}

TracerReport Tracer::report() const {
  if (ownerPid != 0 && ownerPid != ::getpid()) return {};  // forked: the lock may be held by nobody
  std::lock_guard lock(impl_->reportMutex);
  return impl_->report;
}

void Tracer::stop() {
  if (!impl_->thread.joinable()) return;
  if (ownerPid != ::getpid()) {
    // A forked child has neither the thread nor the right to call CUPTI.
    impl_->thread.detach();
    return;
  }
  impl_->stopping = true;
  impl_->pool->wake();
  impl_->thread.join();
  impl_->tearDown();
  std::lock_guard lock(impl_->reportMutex);
  impl_->report.decoded = impl_->decoder->stats();
}

}  // namespace lacuna::collector::cupti
