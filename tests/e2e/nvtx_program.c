/* SPDX-FileCopyrightText: The Lacuna authors
 * SPDX-License-Identifier: Apache-2.0 */

/* A program that knows NVTX and nothing else, as a stranger's would be: every call of the core and
 * of the names of CUDA's objects, with every type of payload. */
#define _GNU_SOURCE
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCuda.h>
#include <nvtx3/nvToolsExtCudaRt.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static nvtxDomainHandle_t domain;
static nvtxRangeId_t crossing;
static pthread_barrier_t meeting;

static uint32_t thisThread(void) {
  return (uint32_t)syscall(SYS_gettid);
}

static void* worker(void* id) {
  *(uint32_t*)id = thisThread();
  pthread_barrier_wait(&meeting);
  pthread_barrier_wait(&meeting); /* named meanwhile */
  nvtxDomainRangeEnd(domain, crossing);
  nvtxRangePushA("in the worker");
  nvtxRangePop();
  return NULL;
}

static nvtxEventAttributes_t plain(void) {
  nvtxEventAttributes_t event = {0};
  event.version = NVTX_VERSION;
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  return event;
}

static nvtxEventAttributes_t saying(const char* text) {
  nvtxEventAttributes_t event = plain();
  event.messageType = NVTX_MESSAGE_TYPE_ASCII;
  event.message.ascii = text;
  return event;
}

static nvtxEventAttributes_t sayingWide(const wchar_t* text) {
  nvtxEventAttributes_t event = plain();
  event.messageType = NVTX_MESSAGE_TYPE_UNICODE;
  event.message.unicode = text;
  return event;
}

/* Without a domain. */
static void ranges(void) {
  nvtxRangePushA("outer");
  nvtxRangePushW(L"weit: \u00e4\u00f6\u00fc");
  nvtxMarkA("a mark");
  nvtxRangePop();
  nvtxRangePop();

  nvtxNameCategoryA(3, "reading");
  nvtxNameCategoryW(4, L"l\u00e4sen");
  nvtxEventAttributes_t event = saying("push ex");
  event.category = 3;
  nvtxRangePushEx(&event);
  event = sayingWide(L"mark ex \u2192");
  event.category = 4;
  nvtxMarkEx(&event);
  nvtxMarkW(L"a wide mark \u00e4");
  nvtxRangePop();

  event = saying("start ex");
  const nvtxRangeId_t first = nvtxRangeStartEx(&event);
  const nvtxRangeId_t second = nvtxRangeStartA("start");
  const nvtxRangeId_t third = nvtxRangeStartW(L"start \u00fc");
  nvtxRangeEnd(first);
  nvtxRangeEnd(third);
  nvtxRangeEnd(second);
}

static void inDomain(void) {
  nvtxDomainNameCategoryA(domain, 7, "loading");
  nvtxEventAttributes_t event = plain();
  event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  event.message.registered = nvtxDomainRegisterStringA(domain, "step");
  event.category = 7;
  event.colorType = NVTX_COLOR_ARGB;
  event.color = 0xff00ff00;
  for (int i = 0; i < 3; ++i) {
    event.payloadType = NVTX_PAYLOAD_TYPE_INT64;
    event.payload.llValue = -i;
    nvtxDomainRangePushEx(domain, &event);
    nvtxDomainRangePop(domain);
  }
  event.payloadType = NVTX_PAYLOAD_UNKNOWN;
  nvtxDomainRangePushEx(domain, &event);
  nvtxDomainRangePop(domain);
}

/* One mark each. Bytes of a payload that its type does not use are left as garbage. */
static void payloads(void) {
  nvtxEventAttributes_t event = saying("payload");
  memset(&event.payload, 0xee, sizeof event.payload);
  event.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
  event.payload.ullValue = UINT64_MAX - 1;
  nvtxDomainMarkEx(domain, &event);
  event.payloadType = NVTX_PAYLOAD_TYPE_INT64;
  event.payload.llValue = INT64_MIN + 1;
  nvtxDomainMarkEx(domain, &event);
  event.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE;
  event.payload.dValue = 0.5;
  nvtxDomainMarkEx(domain, &event);
  memset(&event.payload, 0xee, sizeof event.payload);
  event.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT32;
  event.payload.uiValue = UINT32_MAX - 1;
  nvtxDomainMarkEx(domain, &event);
  event.payloadType = NVTX_PAYLOAD_TYPE_INT32;
  event.payload.iValue = -7;
  nvtxDomainMarkEx(domain, &event);
  event.payloadType = NVTX_PAYLOAD_TYPE_FLOAT;
  event.payload.fValue = 0.25f;
  nvtxDomainMarkEx(domain, &event);
}

/* The domain and what belongs to it has a wide name, and goes. */
static void inAnotherDomain(void) {
  nvtxDomainHandle_t other = nvtxDomainCreateW(L"\u00e4ndere");
  nvtxDomainNameCategoryW(other, 9, L"r\u00e4chnen");
  nvtxEventAttributes_t event = plain();
  event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  event.message.registered = nvtxDomainRegisterStringW(other, L"schritt \u00f6");
  event.category = 9;
  nvtxDomainRangePushEx(other, &event);
  nvtxDomainRangePop(other);
  nvtxResourceAttributes_t resource = {0};
  resource.version = NVTX_VERSION;
  resource.size = NVTX_RESOURCE_ATTRIB_STRUCT_SIZE;
  resource.identifierType = NVTX_RESOURCE_TYPE_GENERIC_POINTER;
  resource.identifier.ullValue = 0xabc;
  resource.messageType = NVTX_MESSAGE_TYPE_UNICODE;
  resource.message.unicode = L"p\u00f6l";
  nvtxDomainResourceDestroy(nvtxDomainResourceCreate(other, &resource));
  nvtxDomainDestroy(other);
}

static void namesOfCuda(void) {
  nvtxNameCuDeviceA((CUdevice)0, "driver device");
  nvtxNameCuDeviceW((CUdevice)1, L"driver device \u00e4");
  nvtxNameCuContextA((CUcontext)0x10, "context");
  nvtxNameCuContextW((CUcontext)0x11, L"context \u00e4");
  nvtxNameCuStreamA((CUstream)0x20, "driver stream");
  nvtxNameCuStreamW((CUstream)0x21, L"driver stream \u00e4");
  nvtxNameCuEventA((CUevent)0x30, "driver event");
  nvtxNameCuEventW((CUevent)0x31, L"driver event \u00e4");
  nvtxNameCudaDeviceA(2, "device");
  nvtxNameCudaDeviceW(3, L"device \u00e4");
  nvtxNameCudaStreamA((cudaStream_t)0x22, "stream");
  nvtxNameCudaStreamW((cudaStream_t)0x23, L"stream \u00e4");
  nvtxNameCudaEventA((cudaEvent_t)0x32, "event");
  nvtxNameCudaEventW((cudaEvent_t)0x33, L"event \u00e4");
}

static void threads(void) {
  nvtxNameOsThreadW(thisThread(), L"main \u00e4");
  nvtxEventAttributes_t event = saying("crossing threads");
  crossing = nvtxDomainRangeStartEx(domain, &event);
  pthread_barrier_init(&meeting, NULL, 2);
  uint32_t id = 0;
  pthread_t thread;
  pthread_create(&thread, NULL, worker, &id);
  pthread_barrier_wait(&meeting);
  nvtxNameOsThreadA(id, "named by another");
  pthread_barrier_wait(&meeting);
  pthread_join(thread, NULL);
}

int main(int argc, char** argv) {
  nvtxInitialize(NULL);
  domain = nvtxDomainCreateA("my library");
  ranges();
  inDomain();
  payloads();
  inAnotherDomain();
  namesOfCuda();
  threads();
  return argc > 1 ? atoi(argv[1]) : 0;
}
