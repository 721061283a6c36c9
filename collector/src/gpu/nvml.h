// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

/// The data that NVIDIA's management library has on the GPUs. It comes with the driver and needs no
/// rights.
namespace lacuna::collector::gpu {

class Nvml {
 public:
  /// The state of one GPU at this moment; values that it does not report are absent.
  struct Reading {
    std::optional<double> powerWatts;
    std::optional<double> memoryUsedBytes;
    std::optional<double> temperatureCelsius;
    std::optional<double>
        busyPercent;  ///< of the time that some kernel ran, in the library's last window
  };
  struct Gpu {
    void* handle = nullptr;
    unsigned index = 0;
    std::string uuid;  ///< "GPU-…", as CUPTI gives it
    std::string name;
  };

  /// Loads and initialises the library; `path` names another file than the driver's. When it cannot
  /// be used, gpus() is empty and why() gives the reason.
  explicit Nvml(const char* path = nullptr);
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;
  ~Nvml();

  [[nodiscard]] const std::vector<Gpu>& gpus() const { return gpus_; }
  [[nodiscard]] const std::string& why() const { return why_; }
  [[nodiscard]] Reading read(const Gpu& gpu) const;

 private:
  struct Functions;
  void findGpus();

  std::unique_ptr<Functions> call_;
  std::vector<Gpu> gpus_;
  std::string why_;
};

}  // namespace lacuna::collector::gpu
