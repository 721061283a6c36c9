// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "cupti/calls.h"

#include <algorithm>

namespace lacuna::collector::cupti {
namespace {

constexpr CUpti_CallbackId kDriverBegins[] = {
    CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture,
    CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2,
    CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2_ptsz,
    CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCaptureToGraph,
    CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCaptureToGraph_ptsz};
constexpr CUpti_CallbackId kDriverEnds[] = {CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture,
                                            CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture_ptsz};
constexpr CUpti_CallbackId kRuntimeBegins[] = {
    CUPTI_RUNTIME_TRACE_CBID_cudaStreamBeginCapture_v10000,
    CUPTI_RUNTIME_TRACE_CBID_cudaStreamBeginCapture_ptsz_v10000,
    CUPTI_RUNTIME_TRACE_CBID_cudaStreamBeginCaptureToGraph_v12030,
    CUPTI_RUNTIME_TRACE_CBID_cudaStreamBeginCaptureToGraph_ptsz_v12030};
constexpr CUpti_CallbackId kRuntimeEnds[] = {
    CUPTI_RUNTIME_TRACE_CBID_cudaStreamEndCapture_v10000,
    CUPTI_RUNTIME_TRACE_CBID_cudaStreamEndCapture_ptsz_v10000};
constexpr CaptureCalls kCaptureCalls[] = {
    {CUPTI_CB_DOMAIN_DRIVER_API, kDriverBegins, kDriverEnds},
    {CUPTI_CB_DOMAIN_RUNTIME_API, kRuntimeBegins, kRuntimeEnds}};

}  // namespace

std::span<const CaptureCalls> captureCalls() {
  return kCaptureCalls;
}

void followCapture(Contexts& contexts, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                   const CUpti_CallbackData& call) {
  if (call.callbackSite != CUPTI_API_EXIT || call.functionReturnValue == nullptr) return;
  // The runtime's numbers of these errors are the driver's.
  const CUresult result = *static_cast<const CUresult*>(call.functionReturnValue);
  const bool isOver = result == CUDA_SUCCESS || result == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED ||
                      result == CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  for (const CaptureCalls& calls : kCaptureCalls) {
    if (calls.domain != domain) continue;
    if (result == CUDA_SUCCESS && std::ranges::find(calls.begin, id) != calls.begin.end())
      contexts.captureBegan();
    if (isOver && std::ranges::find(calls.end, id) != calls.end.end()) contexts.captureEnded();
  }
}

bool matters(std::string_view name) {
  static constexpr std::string_view kParts[] = {
      "aunchKernel", "aunchCooperative", "GraphLaunch", "Memcpy",
      "Memset",      "GraphInstantiate", "ynchronize",  "StreamWait",
      "EventRecord", "Malloc",           "Free",        "MemAlloc",
      "MemFree",     "MemCreate",        "MemMap",      "HostAlloc",
      "MemPrefetch", "ModuleLoad",       "HostRegister"};
  for (const std::string_view part : kParts) {
    if (name.find(part) != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace lacuna::collector::cupti
