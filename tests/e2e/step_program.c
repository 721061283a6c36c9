/* SPDX-FileCopyrightText: The Lacuna authors
 * SPDX-License-Identifier: Apache-2.0 */

/* Steps of a given length with ten ranges in each; one step may be slow: step_program NAME STEPS MS
 * [SLOW MS]. Before each step that the environment variable HOLD lists (as 10,20) the file
 * `at-STEP` is made, and `go-STEP` waited for, a minute at most. PUSH names the way the steps are
 * pushed: wide, registered, or (without it) as plain text. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <nvtx3/nvToolsExt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int isListed(int step) {
  const char* list = getenv("HOLD");
  while (list != NULL && *list != 0) {
    char* end = NULL;
    if (strtol(list, &end, 10) == step) return 1;
    list = *end == ',' ? end + 1 : NULL;
  }
  return 0;
}

static void hold(int step) {
  char name[32];
  snprintf(name, sizeof name, "at-%d", step);
  close(open(name, O_CREAT | O_WRONLY, 0600));
  snprintf(name, sizeof name, "go-%d", step);
  for (int i = 0; i < 6000 && access(name, F_OK) != 0; ++i) usleep(10000);
}

static void push(const char* text) {
  const char* how = getenv("PUSH");
  if (how != NULL && strcmp(how, "wide") == 0) {
    wchar_t wide[64];
    mbstowcs(wide, text, sizeof wide / sizeof *wide);
    nvtxRangePushW(wide);
  } else if (how != NULL && strcmp(how, "registered") == 0) {
    nvtxEventAttributes_t event = {0};
    event.version = NVTX_VERSION;
    event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    event.message.registered = nvtxDomainRegisterStringA(NULL, text);
    nvtxRangePushEx(&event);
  } else {
    nvtxRangePushA(text);
  }
}

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const char* name = argv[1];
  const int steps = atoi(argv[2]);
  const int slow = argc > 5 ? atoi(argv[4]) : -1;
  for (int step = 0; step < steps; ++step) {
    char text[64];
    snprintf(text, sizeof text, strchr(name, '#') != NULL ? "%s%d" : "%s", name, step);
    if (isListed(step)) hold(step);
    push(text);
    for (int i = 0; i < 10; ++i) {
      char inner[32];
      snprintf(inner, sizeof inner, "work %d", step);
      nvtxRangePushA(inner);
      usleep(100 * (useconds_t)atoi(argv[step == slow ? 5 : 3]));
      nvtxRangePop();
    }
    nvtxRangePop();
  }
  return 0;
}
