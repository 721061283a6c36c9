// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/gpu_counters.h"

namespace lacuna::collector::gpu {

void GpuCounters::sample(prof::TimeNs nowNs, prof::Drainer::Access& access) {
  prof::Writer& writer = access.writer();
  for (const Nvml::Gpu& gpu : nvml_.gpus()) {
    const auto device = access.deviceOf(gpu.uuid);
    if (!device) continue;
    const auto put = [&](const char* name, const char* unit, const std::optional<double>& value) {
      if (!value) return;
      Track& track = tracks_[{gpu.index, name}];
      if (!track.id) {
        track.id = access.newTrack();
        writer.append(prof::CounterTrack{.id = track.id,
                                         .device = *device,
                                         .name = writer.intern(name),
                                         .unit = writer.intern(unit)});
        access.countRows(1);
      }
      if (*value == track.value) return;
      track.value = *value;
      writer.append(prof::CounterSample{.timeNs = nowNs, .track = track.id, .value = *value});
      access.countRows(1);
    };
    const Nvml::Reading reading = nvml_.read(gpu);
    put("board power", "W", reading.powerWatts);
    put("device memory in use", "bytes", reading.memoryUsedBytes);
    put("GPU temperature", "°C", reading.temperatureCelsius);
    put("GPU busy", "percent", reading.busyPercent);
  }
}

void GpuCounters::restart() {
  for (auto& [key, track] : tracks_) track.value = -1;
}

}  // namespace lacuna::collector::gpu
