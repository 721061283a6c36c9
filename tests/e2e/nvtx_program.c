/* SPDX-FileCopyrightText: The Lacuna authors
 * SPDX-License-Identifier: Apache-2.0 */

/* A program that knows NVTX and nothing else, as a stranger's would be: every call of the core, once. */
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static nvtxDomainHandle_t domain;
static nvtxRangeId_t crossing;

static void* worker(void* unused) {
  (void)unused;
  nvtxDomainRangeEnd(domain, crossing);
  nvtxRangePushA("in the worker");
  nvtxRangePop();
  return NULL;
}

int main(int argc, char** argv) {
  nvtxEventAttributes_t event = {0};
  event.version = NVTX_VERSION;
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;

  domain = nvtxDomainCreateA("my library");
  nvtxDomainNameCategoryA(domain, 7, "loading");
  nvtxStringHandle_t step = nvtxDomainRegisterStringA(domain, "step");

  nvtxRangePushA("outer");
  nvtxRangePushW(L"weit: \u00e4\u00f6\u00fc");
  nvtxMarkA("a mark");
  nvtxRangePop();
  nvtxRangePop();

  event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  event.message.registered = step;
  event.category = 7;
  event.colorType = NVTX_COLOR_ARGB;
  event.color = 0xff00ff00;
  for (int i = 0; i < 3; ++i) {
    event.payloadType = NVTX_PAYLOAD_TYPE_INT64;
    event.payload.llValue = -i;
    nvtxDomainRangePushEx(domain, &event);
    nvtxDomainRangePop(domain);
  }
  event.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE;
  event.payload.dValue = 0.5;
  nvtxDomainMarkEx(domain, &event);
  event.payloadType = NVTX_PAYLOAD_TYPE_FLOAT;
  event.payload.fValue = 0.25f;
  nvtxDomainMarkEx(domain, &event);
  event.payloadType = NVTX_PAYLOAD_UNKNOWN;
  nvtxDomainRangePushEx(domain, &event);
  nvtxDomainRangePop(domain);

  event.messageType = NVTX_MESSAGE_TYPE_ASCII;
  event.message.ascii = "crossing threads";
  crossing = nvtxDomainRangeStartEx(domain, &event);
  pthread_t thread;
  pthread_create(&thread, NULL, worker, NULL);
  pthread_join(thread, NULL);

  const int code = argc > 1 ? atoi(argv[1]) : 0;
  return code;
}
