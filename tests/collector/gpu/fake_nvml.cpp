// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0

// Stands in for libnvidia-ml.so.1 of a machine with two GPUs; one does not report its power.
#include <cstdio>

namespace {
int readings = 0;
int gpus[2] = {0, 1};
}  // namespace

extern "C" {

int nvmlInit_v2() {
  return 0;
}
int nvmlShutdown() {
  return 0;
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 2;
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** handle) {
  *handle = &gpus[index];
  return 0;
}
int nvmlDeviceGetUUID(void* handle, char* text, unsigned size) {
  std::snprintf(text, size, "GPU-0000000%d", *static_cast<int*>(handle));
  return 0;
}
int nvmlDeviceGetName(void*, char* text, unsigned size) {
  std::snprintf(text, size, "Made up");
  return 0;
}
int nvmlDeviceGetPowerUsage(void* handle, unsigned* milliwatts) {
  *milliwatts = 350'000 + static_cast<unsigned>(readings++) * 1000;
  return *static_cast<int*>(handle) == 0 ? 0 : 3;
}
int nvmlDeviceGetMemoryInfo(void*, unsigned long long* totalFreeUsed) {
  totalFreeUsed[2] = 5'000'000'000;
  return 0;
}
int nvmlDeviceGetTemperature(void*, unsigned, unsigned* celsius) {
  *celsius = 61;
  return 0;
}
}
