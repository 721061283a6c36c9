// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/nvml.h"

#include <dlfcn.h>

#include <type_traits>

namespace lacuna::collector::gpu {
namespace {

constexpr unsigned kTemperatureOfGpu = 0;

/// nvmlMemory_t and nvmlUtilization_t.
struct Memory {
  unsigned long long total = 0, free = 0, used = 0;
};
struct Utilization {
  unsigned gpu = 0, memory = 0;
};

}  // namespace

/// NVML's calls answer 0 when all is well.
struct Nvml::Functions {
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*count)(unsigned*) = nullptr;
  int (*byIndex)(unsigned, void**) = nullptr;
  int (*uuid)(void*, char*, unsigned) = nullptr;
  int (*name)(void*, char*, unsigned) = nullptr;
  int (*power)(void*, unsigned*) = nullptr;
  int (*memory)(void*, Memory*) = nullptr;
  int (*temperature)(void*, unsigned, unsigned*) = nullptr;
  int (*utilization)(void*, Utilization*) = nullptr;

  bool resolve(void* library) {
    const auto find = [&](auto& function, const char* symbol) {
      function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, symbol));
      return function != nullptr;
    };
    find(power, "nvmlDeviceGetPowerUsage");
    find(memory, "nvmlDeviceGetMemoryInfo");
    find(temperature, "nvmlDeviceGetTemperature");
    find(utilization, "nvmlDeviceGetUtilizationRates");
    find(name, "nvmlDeviceGetName");
    return find(init, "nvmlInit_v2") && find(shutdown, "nvmlShutdown") &&
           find(count, "nvmlDeviceGetCount_v2") && find(byIndex, "nvmlDeviceGetHandleByIndex_v2") &&
           find(uuid, "nvmlDeviceGetUUID");
  }
};

// The library stays loaded: the driver's libraries do not all bear being unloaded.
Nvml::Nvml(const char* path) : call_(std::make_unique<Functions>()) {
  void* library =
      dlopen(path != nullptr ? path : "libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) {
    why_ = "libnvidia-ml.so.1 cannot be loaded: it comes with the NVIDIA driver";
  } else if (!call_->resolve(library)) {
    why_ = "this libnvidia-ml.so.1 lacks functions that are needed";
  } else if (const int code = call_->init(); code != 0) {
    why_ = "libnvidia-ml.so.1 refuses to start with code " + std::to_string(code);
  } else {
    findGpus();
    return;
  }
  call_.reset();
}

Nvml::~Nvml() {
  if (call_) call_->shutdown();
}

void Nvml::findGpus() {
  unsigned count = 0;
  if (call_->count(&count) != 0) count = 0;
  for (unsigned i = 0; i < count; ++i) {
    Gpu gpu;
    gpu.index = i;
    char text[96] = "";
    if (call_->byIndex(i, &gpu.handle) != 0 || call_->uuid(gpu.handle, text, sizeof text) != 0)
      continue;
    gpu.uuid = text;
    if (call_->name != nullptr && call_->name(gpu.handle, text, sizeof text) == 0) gpu.name = text;
    gpus_.push_back(gpu);
  }
  if (gpus_.empty()) why_ = "libnvidia-ml.so.1 shows no GPU to this user";
}

Nvml::Reading Nvml::read(const Gpu& gpu) const {
  Reading reading;
  unsigned number = 0;
  Memory memory;
  Utilization utilization;
  if (call_->power != nullptr && call_->power(gpu.handle, &number) == 0)
    reading.powerWatts = number / 1000.0;
  if (call_->memory != nullptr && call_->memory(gpu.handle, &memory) == 0) {
    reading.memoryUsedBytes = static_cast<double>(memory.used);
  }
  if (call_->temperature != nullptr &&
      call_->temperature(gpu.handle, kTemperatureOfGpu, &number) == 0) {
    reading.temperatureCelsius = number;
  }
  if (call_->utilization != nullptr && call_->utilization(gpu.handle, &utilization) == 0) {
    reading.busyPercent = utilization.gpu;
  }
  return reading;
}

}  // namespace lacuna::collector::gpu
