/* SPDX-FileCopyrightText: The Lacuna authors
 * SPDX-License-Identifier: Apache-2.0 */

/* Stands in for the CUDA driver and for CUPTI, as far as lacuna doctor asks them. The environment
 * holds the answers of cuInit and cuptiSubscribe. */
#include <stdint.h>
#include <stdlib.h>

#define EXPORT __attribute__((visibility("default")))

static int numberOf(const char* variable) {
  const char* value = getenv(variable);
  return value != NULL ? atoi(value) : 0;
}

EXPORT int cuInit(unsigned flags);
int cuInit(unsigned flags) {
  (void)flags;
  return numberOf("STAND_IN_CUINIT");
}

EXPORT int cuDriverGetVersion(int* version);
int cuDriverGetVersion(int* version) {
  *version = 13010;
  return 0;
}

EXPORT int cuDeviceGetCount(int* count);
int cuDeviceGetCount(int* count) {
  *count = 2;
  return 0;
}

EXPORT int cuptiGetVersion(uint32_t* version);
int cuptiGetVersion(uint32_t* version) {
  *version = 130001;
  return 0;
}

EXPORT int cuptiSubscribe(void** subscriber, void (*callback)(void), void* data);
int cuptiSubscribe(void** subscriber, void (*callback)(void), void* data) {
  (void)callback, (void)data;
  *subscriber = NULL;
  return numberOf("STAND_IN_SUBSCRIBE");
}

EXPORT int cuptiUnsubscribe(void* subscriber);
int cuptiUnsubscribe(void* subscriber) {
  (void)subscriber;
  return 0;
}
