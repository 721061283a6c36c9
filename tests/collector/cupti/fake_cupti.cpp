// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0

// Keeps libcupti's contract as far as a tracer can see it: asks for a buffer when it has none, fills it record by
// record, hands it back when it is full or flushed, counts what finds no buffer, and refuses a second subscriber. The
// test drives it through the fake… functions.
#include <cupti.h>

#include <atomic>
#include <cstring>
#include <mutex>

namespace {

std::mutex mutex;
CUpti_BuffersCallbackRequestFunc request = nullptr;
CUpti_BuffersCallbackCompleteFunc complete = nullptr;
std::uint8_t* buffer = nullptr;
std::size_t bufferSize = 0;
std::size_t used = 0;
std::size_t dropped = 0;
std::atomic<int> subscribeResult = CUPTI_SUCCESS;
std::atomic<int> enabledKinds = 0;
std::atomic<int> enabledCalls = 0;
std::atomic<std::uint32_t> kernelStride = sizeof(CUpti_ActivityKernel10);

void handBack() {
  if (buffer == nullptr) return;
  std::uint8_t* done = buffer;
  const std::size_t valid = used;
  buffer = nullptr;
  used = 0;
  complete(nullptr, 0, done, bufferSize, valid);
}

std::size_t strideOf(std::uint32_t kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return kernelStride;
    case CUPTI_ACTIVITY_KIND_RUNTIME:
      return sizeof(CUpti_ActivityAPI);
    default:
      return 0;
  }
}

}  // namespace

extern "C" {

void fakeReset(int newSubscribeResult, std::uint32_t newKernelStride) {
  std::lock_guard lock(mutex);
  request = nullptr;
  buffer = nullptr;
  used = dropped = 0;
  enabledKinds = enabledCalls = 0;
  subscribeResult = newSubscribeResult;
  kernelStride = newKernelStride;
}

void fakeEmit(const void* record, std::size_t bytes) {
  std::lock_guard lock(mutex);
  if (buffer != nullptr && bufferSize - used < bytes) handBack();
  if (buffer == nullptr) {
    std::size_t maxRecords = 0;
    request(&buffer, &bufferSize, &maxRecords);
  }
  if (buffer == nullptr || bufferSize < bytes) {
    ++dropped;
    return;
  }
  std::memcpy(buffer + used, record, bytes);
  used += bytes;
}

int fakeEnabledKinds() {
  return enabledKinds;
}
int fakeEnabledCalls() {
  return enabledCalls;
}

CUptiResult cuptiGetVersion(std::uint32_t* version) {
  *version = 130001;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiGetResultString(CUptiResult, const char** text) {
  *text = "made up";
  return CUPTI_SUCCESS;
}
CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, std::uint32_t id, const char** name) {
  if (domain == CUPTI_CB_DOMAIN_RUNTIME_API && id == 211)
    *name = "cudaLaunchKernel_v7000";
  else if (domain == CUPTI_CB_DOMAIN_RUNTIME_API && id == 3)
    *name = "cudaGetDeviceCount_v3020";
  else
    return CUPTI_ERROR_INVALID_PARAMETER;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiSubscribe(CUpti_SubscriberHandle*, CUpti_CallbackFunc, void*) {
  return static_cast<CUptiResult>(subscribeResult.load());
}
CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle) {
  return CUPTI_SUCCESS;
}
CUptiResult cuptiSetThreadIdType(CUpti_ActivityThreadIdType type) {
  return type == CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}
CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc onRequest,
                                           CUpti_BuffersCallbackCompleteFunc onComplete) {
  std::lock_guard lock(mutex);
  request = onRequest;
  complete = onComplete;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  // As on a machine whose driver knows no memory pools.
  if (kind == CUPTI_ACTIVITY_KIND_MEMORY_POOL) return CUPTI_ERROR_NOT_SUPPORTED;
  ++enabledKinds;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityDisable(CUpti_ActivityKind) {
  --enabledKinds;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityEnableRuntimeApi(CUpti_CallbackId, std::uint8_t) {
  ++enabledCalls;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityEnableDriverApi(CUpti_CallbackId, std::uint8_t) {
  ++enabledCalls;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityGetNextRecord(std::uint8_t* data, std::size_t bytes, CUpti_Activity** record) {
  std::uint8_t* at = data;
  if (*record != nullptr) {
    std::uint32_t kind = 0;
    std::memcpy(&kind, *record, sizeof kind);
    at = reinterpret_cast<std::uint8_t*>(*record) + strideOf(kind);
  }
  std::uint32_t kind = 0;
  if (data + bytes < at + sizeof kind) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  std::memcpy(&kind, at, sizeof kind);
  if (strideOf(kind) == 0) return CUPTI_ERROR_INVALID_KIND;
  *record = reinterpret_cast<CUpti_Activity*>(at);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, std::uint32_t, std::size_t* count) {
  std::lock_guard lock(mutex);
  *count = dropped;
  dropped = 0;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityFlushAll(std::uint32_t) {
  std::lock_guard lock(mutex);
  handBack();
  return CUPTI_SUCCESS;
}
}
