// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0

// Keeps libcupti's contract as far as a tracer can see it. Each thread has a buffer of its own, as
// the header has it (cupti_activity.h, CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER: "The default
// value is 1"). It asks for one where a thread has none, fills it record by record, and hands it
// back when it is full or flushed, but not while a record in it lacks its end
// (cuptiActivityFlushAll: "It doesn't return buffers which have one or more incomplete records").
// Records that find no buffer are counted, and a second subscriber is refused. Where the real one
// hangs it refuses and counts, or ends the process: asking for the lost records in the completion
// callback, and calls in a forked child. It is the driver too, as far as one waits for its
// contexts. The test drives it through the fake… functions.
#include <cupti.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "fake_freedoms.h"
#include "records.h"

namespace {

std::mutex mutex;
CUpti_BuffersCallbackRequestFunc request = nullptr;
CUpti_BuffersCallbackCompleteFunc complete = nullptr;
struct Buffer {
  std::uint8_t* data = nullptr;
  std::size_t size = 0, used = 0;
  int incomplete = 0;  ///< records
};
std::map<std::thread::id, std::shared_ptr<Buffer>> open;  ///< of each thread
std::vector<std::shared_ptr<Buffer>> full;
struct Place {
  std::shared_ptr<Buffer> buffer;
  std::size_t at;
};
std::map<std::uint32_t, Place> begun;  ///< kernels by correlation
std::size_t lost = 0;
bool held = false;
/// Lets a buffer that is full wait, and changes the order of those that are handed back. The header
/// promises neither a time nor an order.
std::optional<std::mt19937> lateness;
std::atomic<int> subscribeResult = CUPTI_SUCCESS;
std::atomic<int> registerResult = CUPTI_SUCCESS;
std::atomic<int> subscribers = 0;
std::atomic<int> misuses = 0;
std::atomic<pid_t> owner = 0;          ///< the process that has subscribed
thread_local bool completing = false;  ///< in the completion callback
std::atomic<const char*> holder = nullptr;
std::atomic<int> enabledKinds = 0;
std::atomic<bool> recordsGraphs = false, driverRows = false;
std::atomic<int> enabledCalls = 0;
std::atomic<int> flushes = 0;
CUpti_CallbackFunc onResource = nullptr;
bool createdEnabled = false, destroyedEnabled = false, nodesEnabled = false;
std::set<std::pair<CUpti_CallbackDomain, CUpti_CallbackId>> enabledApi;
std::atomic<int> captures = 0;
std::atomic<int> running = 0;  ///< kernels that were launched and have not ended
std::atomic<bool> endless = false;
std::atomic<CUcontext> current = nullptr;
std::mutex orderMutex;
/// A letter for each call of these, in order: Subscribe, Thread ids, Buffers, Kinds on, resource
/// Callbacks on, calls Off, Wait for a context, kinds Down, Forced flush; several of a kind in a
/// row are one.
std::string order;
std::atomic<std::uint32_t> kernelStride = sizeof(CUpti_ActivityKernel10);
std::atomic<std::uint32_t> laterKind = 0,
                           laterBytes = 0;  ///< of a version that we were not compiled for

enum class Wanted { Full, Complete, All };

void handBack(Wanted wanted) {
  if (held) return;
  if (wanted != Wanted::Full) {
    for (auto& [thread, buffer] : open) {
      if (buffer != nullptr) full.push_back(std::move(buffer));
    }
    open.clear();
  }
  if (lateness) std::ranges::shuffle(full, *lateness);
  std::vector<std::shared_ptr<Buffer>> kept;
  for (const auto& buffer : full) {
    const bool isLate = lateness && (*lateness)() % 2 == 0;
    if (wanted != Wanted::All && (buffer->incomplete > 0 || isLate)) {
      kept.push_back(buffer);
      continue;
    }
    std::erase_if(begun, [&](const auto& kernel) { return kernel.second.buffer == buffer; });
    completing = true;
    complete(nullptr, 0, buffer->data, buffer->size, buffer->used);
    completing = false;
  }
  full = std::move(kept);
}

/// Null where there is none with so much room.
std::shared_ptr<Buffer> bufferWith(std::size_t bytes) {
  std::shared_ptr<Buffer>& buffer = open[std::this_thread::get_id()];
  if (buffer != nullptr && buffer->size - buffer->used < bytes) {
    full.push_back(std::exchange(buffer, nullptr));
    handBack(Wanted::Full);
  }
  if (buffer == nullptr) {
    auto fresh = std::make_shared<Buffer>();
    std::size_t maxRecords = 0;
    request(&fresh->data, &fresh->size, &maxRecords);
    if (fresh->data != nullptr) buffer = std::move(fresh);
  }
  return buffer != nullptr && buffer->size >= bytes ? buffer : nullptr;
}

/// The record's place, if it has one.
std::optional<Place> write(const void* record, std::size_t bytes) {
  const std::shared_ptr<Buffer> buffer = bufferWith(bytes);
  if (buffer == nullptr) {
    ++lost;
    return std::nullopt;
  }
  const std::size_t at = buffer->used;
  std::memcpy(buffer->data + at, record, bytes);
  buffer->used += bytes;
  return Place{buffer, at};
}

/// A forked child of a program that CUDA serves may go on to call it. Whether it works there is the
/// driver's affair; that it does not wait for a thread that the child lacks is ours.
struct HeldWhileForking {
  HeldWhileForking() { ::pthread_atfork(&hold, &release, &release); }
  static void hold() {
    mutex.lock();
    holdFreedoms();
  }
  static void release() {
    releaseFreedoms();
    mutex.unlock();
  }
} const heldWhileForking;

void note(char letter) {
  std::lock_guard lock(orderMutex);
  if (order.empty() || order.back() != letter) order += letter;
}

/// A forked child hangs in the real one.
void ownProcess() {
  if (owner != 0 && owner != ::getpid()) std::abort();
}

CUptiResult subscribe(CUpti_CallbackFunc callback) {
  ownProcess();
  note('S');
  if (const int refused = subscribeResult; refused != CUPTI_SUCCESS)
    return static_cast<CUptiResult>(refused);
  if (subscribers > 0) {
    ++misuses;
    return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  }
  ++subscribers;
  owner = ::getpid();
  onResource = callback;
  return CUPTI_SUCCESS;
}

std::size_t strideOf(std::uint32_t kind) {
  if (kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) return kernelStride;
  if (kind != 0 && kind == laterKind) return laterBytes;
  std::size_t bytes = 0;
  lacuna::collector::cupti::everyKind(0, [&](const auto& record) {
    if (static_cast<std::uint32_t>(record.kind) == kind) bytes = sizeof record;
  });
  return bytes;
}

}  // namespace

extern "C" {

void fakeReset(int newSubscribeResult, std::uint32_t newKernelStride) {
  std::lock_guard lock(mutex);
  request = nullptr;
  open.clear();
  full.clear();
  begun.clear();
  lost = 0;
  held = false;
  lateness.reset();
  flushes = 0;
  enabledKinds = enabledCalls = 0;
  recordsGraphs = driverRows = false;
  subscribeResult = newSubscribeResult;
  registerResult = CUPTI_SUCCESS;
  subscribers = 0;
  misuses = 0;
  owner = 0;
  holder = nullptr;
  createdEnabled = destroyedEnabled = endless = false;
  enabledApi.clear();
  captures = 0;
  running = 0;
  current = nullptr;
  order.clear();
  kernelStride = newKernelStride;
  laterKind = laterBytes = 0;
  resetFreedoms();
}

/// Records of such a kind are so long.
void fakeLaterKind(std::uint32_t kind, std::uint32_t bytes) {
  laterKind = kind;
  laterBytes = bytes;
}

void fakeEmit(const void* record, std::size_t bytes) {
  std::lock_guard lock(mutex);
  (void)write(record, bytes);
}

/// A kernel that runs from now on, in a buffer that is withheld until it ends. It may be ended by
/// any thread.
void fakeBegin(std::uint32_t correlation) {
  const auto kernel = lacuna::collector::cupti::kernelRecord("long", stampNow(), 0, correlation);
  std::lock_guard lock(mutex);
  const std::optional<Place> place = write(&kernel, kernelStride);
  if (!place) return;
  ++place->buffer->incomplete;
  begun[correlation] = *place;
}
void fakeEnd(std::uint32_t correlation) {
  std::lock_guard lock(mutex);
  const auto kernel = begun.find(correlation);
  if (kernel == begun.end()) return;
  const auto& [buffer, at] = kernel->second;
  const std::uint64_t end = stampNow();
  std::memcpy(buffer->data + at + offsetof(CUpti_ActivityKernel10, end), &end, sizeof end);
  --buffer->incomplete;
  begun.erase(kernel);
  handBack(Wanted::Full);
}

/// From here on buffers come late and in any order.
void fakeLateness(std::uint32_t seed) {
  std::lock_guard lock(mutex);
  lateness.emplace(seed);
}

int fakeRecordsGraphs() {
  return recordsGraphs ? 1 : 0;
}

/// From here on a launch through the runtime leaves a record of the driver's call within it, too:
/// of the same correlation, which is "identical to the correlation ID in the memcpy, memset, or
/// kernel activity record that is associated with this function" (cupti_activity.h,
/// CUpti_ActivityAPI, which both are).
void fakeDriverRows(int both) {
  driverRows = both != 0;
}

/// A kernel that starts now, and what launched it.
void fakeKernel(const char* name, std::uint32_t correlation) {
  using lacuna::collector::cupti::callRecord;
  const std::uint64_t launched = stampNow();
  if (driverRows) {
    const auto inner = callRecord(CUPTI_ACTIVITY_KIND_DRIVER, launched, correlation);
    fakeEmit(&inner, sizeof inner);
  }
  const auto call = callRecord(CUPTI_ACTIVITY_KIND_RUNTIME, launched, correlation);
  fakeEmit(&call, sizeof call);
  const std::uint64_t start = stampNow();
  const auto kernel =
      lacuna::collector::cupti::kernelRecord(name, start, start + 1000, correlation);
  fakeEmit(&kernel, kernelStride);
}

/// One that runs still where it has no duration.
static void emitRunning(std::uint64_t durationNs) {
  const std::uint64_t start = stampNow();
  const auto kernel = lacuna::collector::cupti::kernelRecord(
      "running", start, durationNs != 0 ? start + durationNs : 0, 77);
  fakeEmit(&kernel, kernelStride);
}

/// A record of every kind, which starts now.
void fakeEveryKind() {
  lacuna::collector::cupti::everyKind(stampNow(),
                                      [](const auto& record) { fakeEmit(&record, sizeof record); });
}

void fakeDrop(std::size_t count) {
  std::lock_guard lock(mutex);
  lost += count;
}

/// Until it is let go, the buffer at hand is not handed back, as one that the device still writes.
void fakeHold(int hold) {
  std::lock_guard lock(mutex);
  held = hold != 0;
  if (!held) handBack(Wanted::Complete);
}

void fakeRefuse(int newSubscribeResult) {
  subscribeResult = newSubscribeResult;
}

/// Another has subscribed, under this name.
void fakeHolder(const char* name) {
  subscribeResult = CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  holder = name;
}

/// Number of calls that the real one does not stand.
int fakeMisuses() {
  return misuses;
}

/// A kernel that runs until somebody waits for it, or for good.
void fakeRunningKernel() {
  ++running;
}
void fakeEndless() {
  endless = true;
}

/// A context of that number comes into being or ends, and is the calling thread's meanwhile.
void fakeContext(int number, int created) {
  CUpti_ResourceData data{};
  data.context = reinterpret_cast<CUcontext>(static_cast<std::uintptr_t>(number));
  const auto id = created != 0 ? CUPTI_CBID_RESOURCE_CONTEXT_CREATED
                               : CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING;
  if (created != 0 ? createdEnabled : destroyedEnabled)
    onResource(nullptr, CUPTI_CB_DOMAIN_RESOURCE, id, &data);
}
/// The program makes a node of a graph, as a copy of another one or as none (0). The driver numbers
/// it.
void fakeNodeMade(int number, int original) {
  if (!nodesEnabled) return;
  const auto node = [](int of) {
    return reinterpret_cast<CUgraphNode>(static_cast<std::uintptr_t>(of));
  };
  CUpti_GraphData graph{};
  graph.node = node(number);
  graph.originalNode = node(original);
  CUpti_ResourceData data{};
  data.resourceDescriptor = &graph;
  onResource(
      nullptr, CUPTI_CB_DOMAIN_RESOURCE,
      original == 0 ? CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED : CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED,
      &data);
}
void fakeCapturesNow(int number) {
  captures = number;
}
/// The program begins or ends the capture of a stream, by a call that returns `result`. Who calls
/// the runtime calls the driver, too, and both may be seen or only one.
void fakeCapture(int begins, int result, int byRuntime, int byDriver) {
  if (result == CUDA_SUCCESS || begins == 0) captures += begins != 0 ? 1 : -1;
  const auto report = [&](CUpti_CallbackDomain domain, CUpti_CallbackId id) {
    if (!enabledApi.contains({domain, id})) return;
    CUpti_CallbackData call{};
    call.functionReturnValue = &result;
    for (const auto site : {CUPTI_API_ENTER, CUPTI_API_EXIT}) {
      call.callbackSite = site;
      onResource(nullptr, domain, id, &call);
    }
  };
  if (byDriver != 0) {
    report(CUPTI_CB_DOMAIN_DRIVER_API, begins != 0 ? CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2
                                                   : CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture);
  }
  if (byRuntime != 0) {
    report(CUPTI_CB_DOMAIN_RUNTIME_API, begins != 0
                                            ? CUPTI_RUNTIME_TRACE_CBID_cudaStreamBeginCapture_v10000
                                            : CUPTI_RUNTIME_TRACE_CBID_cudaStreamEndCapture_v10000);
  }
}
void fakeCurrent(int number) {
  current = reinterpret_cast<CUcontext>(static_cast<std::uintptr_t>(number));
}
const char* fakeOrder() {
  return order.c_str();
}

void fakeRefuseBuffers(int newRegisterResult) {
  registerResult = newRegisterResult;
}
int fakeSubscribers() {
  return subscribers;
}

int fakeFlushes() {
  return flushes;
}
int fakeEnabledKinds() {
  return enabledKinds;
}
int fakeEnabledCalls() {
  return enabledCalls;
}

CUresult cuCtxGetCurrent(CUcontext* pctx) {
  FAKE_MAY_FAIL(CUresult, "cuCtxGetCurrent");
  *pctx = current;
  return CUDA_SUCCESS;
}
CUresult cuCtxPushCurrent_v2(CUcontext ctx) {
  FAKE_MAY_FAIL(CUresult, "cuCtxPushCurrent_v2");
  current = ctx;
  return CUDA_SUCCESS;
}
CUresult cuCtxPopCurrent_v2(CUcontext* pctx) {
  FAKE_MAY_FAIL(CUresult, "cuCtxPopCurrent_v2");
  *pctx = current;
  current = nullptr;
  return CUDA_SUCCESS;
}
CUresult cuCtxSynchronize() {
  FAKE_MAY_FAIL(CUresult, "cuCtxSynchronize");
  note('W');
  // "It is invalid to synchronize … a device or context that has a stream in capture mode" (CUDA
  // C++ Programming Guide, prohibited and unhandled operations of stream capture): the capture is
  // invalidated.
  if (captures > 0) {
    ++misuses;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  while (endless) ::usleep(1000);
  for (; running > 0; --running) emitRunning(1000);
  return CUDA_SUCCESS;
}

CUptiResult cuptiGetVersion(std::uint32_t* version) {
  FAKE_MAY_FAIL(CUptiResult, "GetVersion");
  *version = 130001;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiGetResultString(CUptiResult, const char** str) {
  FAKE_MAY_FAIL(CUptiResult, "GetResultString");
  *str = "made up";
  return CUPTI_SUCCESS;
}
CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, std::uint32_t id, const char** name) {
  FAKE_MAY_FAIL(CUptiResult, "GetCallbackName");
  if (domain == CUPTI_CB_DOMAIN_RUNTIME_API && id == 211)
    *name = "cudaLaunchKernel_v7000";
  else if (domain == CUPTI_CB_DOMAIN_RUNTIME_API && id == 3)
    *name = "cudaGetDeviceCount_v3020";
  else
    return CUPTI_ERROR_INVALID_PARAMETER;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiSubscribe(CUpti_SubscriberHandle*, CUpti_CallbackFunc callback, void*) {
  FAKE_MAY_FAIL(CUptiResult, "Subscribe");
  return subscribe(callback);
}
#ifdef CUpti_SubscriberParams_STRUCT_SIZE
CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle*, CUpti_CallbackFunc callback, void*,
                              CUpti_SubscriberParams* params) {
  FAKE_MAY_FAIL(CUptiResult, "Subscribe");
  if (params->structSize != CUpti_SubscriberParams_STRUCT_SIZE)
    return CUPTI_ERROR_INVALID_PARAMETER;
  const CUptiResult result = subscribe(callback);
  const char* name = holder;
  if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED && name != nullptr &&
      params->oldSubscriberSize > 0) {
    std::strncpy(params->oldSubscriberName, name, params->oldSubscriberSize);
  }
  return result;
}
#endif
CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle) {
  FAKE_MAY_FAIL(CUptiResult, "Unsubscribe");
  ownProcess();
  --subscribers;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiEnableCallback(std::uint32_t enable, CUpti_SubscriberHandle,
                                CUpti_CallbackDomain domain, CUpti_CallbackId id) {
  FAKE_MAY_FAIL(CUptiResult, "EnableCallback");
  ownProcess();
  if (domain == CUPTI_CB_DOMAIN_DRIVER_API || domain == CUPTI_CB_DOMAIN_RUNTIME_API) {
    if (enable != 0) enabledApi.emplace(domain, id);
    if (enable == 0) enabledApi.erase({domain, id});
    return CUPTI_SUCCESS;
  }
  if (domain != CUPTI_CB_DOMAIN_RESOURCE) return CUPTI_ERROR_INVALID_PARAMETER;
  if (enable != 0) note('C');
  if (id == CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED || id == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED) {
    nodesEnabled = enable != 0;
    return CUPTI_SUCCESS;
  }
  (id == CUPTI_CBID_RESOURCE_CONTEXT_CREATED ? createdEnabled : destroyedEnabled) = enable != 0;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiGetGraphNodeId(CUgraphNode node, std::uint64_t* nodeId) {
  FAKE_MAY_FAIL(CUptiResult, "GetGraphNodeId");
  ownProcess();
  *nodeId = 1000 + reinterpret_cast<std::uintptr_t>(node);
  return node == nullptr ? CUPTI_ERROR_INVALID_PARAMETER : CUPTI_SUCCESS;
}
CUptiResult cuptiSetThreadIdType(CUpti_ActivityThreadIdType type) {
  FAKE_MAY_FAIL(CUptiResult, "SetThreadIdType");
  note('T');
  return type == CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM ? CUPTI_SUCCESS
                                                      : CUPTI_ERROR_INVALID_PARAMETER;
}
CUptiResult cuptiGetTimestamp(std::uint64_t* timestamp) {
  FAKE_MAY_FAIL(CUptiResult, "GetTimestamp");
  *timestamp = stampNow();
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc funcBufferRequested,
                                           CUpti_BuffersCallbackCompleteFunc funcBufferCompleted) {
  FAKE_MAY_FAIL(CUptiResult, "ActivityRegisterCallbacks");
  std::lock_guard lock(mutex);
  note('B');
  request = funcBufferRequested;
  complete = funcBufferCompleted;
  return static_cast<CUptiResult>(registerResult.load());
}
CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  FAKE_MAY_FAIL(CUptiResult, "ActivityEnable");
  ownProcess();
  // As on a machine whose driver knows no memory pools.
  if (kind == CUPTI_ACTIVITY_KIND_MEMORY_POOL) return CUPTI_ERROR_NOT_SUPPORTED;
  note('K');
  ++enabledKinds;
  if (kind == CUPTI_ACTIVITY_KIND_GRAPH_TRACE) recordsGraphs = true;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) {
  FAKE_MAY_FAIL(CUptiResult, "ActivityDisable");
  ownProcess();
  // With these gone nobody sees what the profiler itself waits for.
  if (kind != CUPTI_ACTIVITY_KIND_SYNCHRONIZATION) note('D');
  --enabledKinds;
  if (kind == CUPTI_ACTIVITY_KIND_GRAPH_TRACE) recordsGraphs = false;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityEnableRuntimeApi(CUpti_CallbackId, std::uint8_t enable) {
  FAKE_MAY_FAIL(CUptiResult, "ActivityEnableRuntimeApi");
  if (enable == 0) note('O');
  enabledCalls += enable != 0 ? 1 : -1;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityEnableDriverApi(CUpti_CallbackId, std::uint8_t enable) {
  FAKE_MAY_FAIL(CUptiResult, "ActivityEnableDriverApi");
  enabledCalls += enable != 0 ? 1 : -1;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityGetNextRecord(std::uint8_t* buffer, std::size_t validBufferSizeBytes,
                                       CUpti_Activity** record) {
  FAKE_MAY_FAIL(CUptiResult, "ActivityGetNextRecord");
  std::uint8_t* at = buffer;
  if (*record != nullptr) {
    std::uint32_t kind = 0;
    std::memcpy(&kind, *record, sizeof kind);
    at = reinterpret_cast<std::uint8_t*>(*record) + strideOf(kind);
  }
  std::uint32_t kind = 0;
  if (buffer + validBufferSizeBytes < at + sizeof kind) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  std::memcpy(&kind, at, sizeof kind);
  if (strideOf(kind) == 0) return CUPTI_ERROR_INVALID_KIND;
  *record = reinterpret_cast<CUpti_Activity*>(at);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, std::uint32_t, std::size_t* dropped) {
  FAKE_MAY_FAIL(CUptiResult, "ActivityGetNumDroppedRecords");
  ownProcess();
  if (completing) {
    ++misuses;
    return CUPTI_ERROR_INVALID_OPERATION;
  }
  std::lock_guard lock(mutex);
  *dropped = lost;
  lost = 0;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityFlushAll(std::uint32_t flags) {
  FAKE_MAY_FAIL(CUptiResult, "ActivityFlushAll");
  ownProcess();
  if (flags == CUPTI_ACTIVITY_FLAG_FLUSH_FORCED) {
    note('F');
    for (; running > 0; --running) emitRunning(0);
  }
  if (completing) {
    ++misuses;
    return CUPTI_ERROR_INVALID_OPERATION;
  }
  ++flushes;
  std::lock_guard lock(mutex);
  handBack(flags == CUPTI_ACTIVITY_FLAG_FLUSH_FORCED ? Wanted::All : Wanted::Complete);
  return CUPTI_SUCCESS;
}
}
