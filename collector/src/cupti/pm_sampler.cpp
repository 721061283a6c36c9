// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "cupti/pm_sampler.h"

#include <cupti_profiler_target.h>
#include <cupti_target.h>

#include <algorithm>
#include <cstdlib>

namespace lacuna::collector::cupti {
namespace {

/// From the end of a sample to its reading, and the distance of two clocks that are the same.
constexpr std::int64_t kReadWithinNs = 100'000'000;
constexpr HardwareMetric kMetrics[] = {
    {"sm__cycles_active.avg.pct_of_peak_sustained_elapsed", "SM active", "percent"},
    {"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed", "tensor pipe active",
     "percent"},
    {"gr__cycles_active.avg.pct_of_peak_sustained_elapsed", "GPU active", "percent"},
    {"dram__bytes_read.sum.per_second", "memory read", "bytes/s"},
    {"dram__bytes_write.sum.per_second", "memory written", "bytes/s"},
    {"pcie__read_bytes.sum.per_second", "PCIe read", "bytes/s"},
    {"pcie__write_bytes.sum.per_second", "PCIe written", "bytes/s"},
    {"nvlrx__bytes.sum.per_second", "NVLink received", "bytes/s"},
    {"nvltx__bytes.sum.per_second", "NVLink sent", "bytes/s"},
};
constexpr std::size_t kHardwareBufferBytes = 64u << 20;
constexpr std::uint32_t kSamplesInImage = 512;
/// For GPUs that cannot sample by time: as many of their system clocks as take about as long.
constexpr double kSystemClockGhz = 1.4;

/// CUPTI's structures begin with their size, by which it knows their version.
template <class Params>
Params sized(std::size_t size) {
  Params params{};
  params.structSize = size;
  return params;
}
#define LACUNA_PARAMS(type) sized<type>(type##_STRUCT_SIZE)

}  // namespace

#define LACUNA_PM_FUNCTIONS(X)            \
  X(ProfilerInitialize)                   \
  X(DeviceGetChipName)                    \
  X(ProfilerHostInitialize)               \
  X(ProfilerHostDeinitialize)             \
  X(ProfilerHostConfigAddMetrics)         \
  X(ProfilerHostGetConfigImageSize)       \
  X(ProfilerHostGetConfigImage)           \
  X(ProfilerHostGetNumOfPasses)           \
  X(ProfilerHostEvaluateToGpuValues)      \
  X(PmSamplingEnable)                     \
  X(PmSamplingDisable)                    \
  X(PmSamplingSetConfig)                  \
  X(PmSamplingStart)                      \
  X(PmSamplingStop)                       \
  X(PmSamplingDecodeData)                 \
  X(PmSamplingGetCounterAvailability)     \
  X(PmSamplingGetCounterDataSize)         \
  X(PmSamplingCounterDataImageInitialize) \
  X(PmSamplingGetCounterDataInfo)         \
  X(PmSamplingCounterDataGetSampleInfo)

struct PmSampler::Calls {
#define LACUNA_PM_MEMBER(name) decltype(&::cupti##name) name = nullptr;
  LACUNA_PM_FUNCTIONS(LACUNA_PM_MEMBER)
#undef LACUNA_PM_MEMBER

  /// False where the library is older than PM sampling (CUDA 12.6).
  bool resolve(const Library& library) {
    bool all = true;
#define LACUNA_PM_RESOLVE(name)                                           \
  name = reinterpret_cast<decltype(name)>(library.symbol("cupti" #name)); \
  all &= name != nullptr;
    LACUNA_PM_FUNCTIONS(LACUNA_PM_RESOLVE)
#undef LACUNA_PM_RESOLVE
    return all;
  }

  CUpti_Profiler_Host_Object* hostFor(const char* chip, const std::uint8_t* availability) const {
    auto params = LACUNA_PARAMS(CUpti_Profiler_Host_Initialize_Params);
    params.profilerType = CUPTI_PROFILER_TYPE_PM_SAMPLING;
    params.pChipName = chip;
    params.pCounterAvailabilityImage = availability;
    return ProfilerHostInitialize(&params) == CUPTI_SUCCESS ? params.pHostObject : nullptr;
  }
  void release(CUpti_Profiler_Host_Object* host) const {
    auto params = LACUNA_PARAMS(CUpti_Profiler_Host_Deinitialize_Params);
    params.pHostObject = host;
    if (host != nullptr) (void)ProfilerHostDeinitialize(&params);
  }
  /// All in one call: what is added by calls of their own is counted in passes of their own.
  bool add(CUpti_Profiler_Host_Object* host, std::span<const char*> names) const {
    auto params = LACUNA_PARAMS(CUpti_Profiler_Host_ConfigAddMetrics_Params);
    params.pHostObject = host;
    params.ppMetricNames = names.data();
    params.numMetrics = names.size();
    return ProfilerHostConfigAddMetrics(&params) == CUPTI_SUCCESS;
  }
  /// Those of the metrics that this chip has: not every one has NVLink.
  std::vector<const char*> known(const char* chip, const std::uint8_t* availability,
                                 std::span<const HardwareMetric> metrics) const {
    std::vector<const char*> names;
    CUpti_Profiler_Host_Object* probe = hostFor(chip, availability);
    for (const HardwareMetric& metric : metrics) {
      const char* name = metric.metric;
      if (probe != nullptr && add(probe, {&name, 1})) names.push_back(name);
    }
    release(probe);
    return names;
  }
  std::vector<std::uint8_t> configOf(CUpti_Profiler_Host_Object* host, std::size_t& passes) const {
    auto size = LACUNA_PARAMS(CUpti_Profiler_Host_GetConfigImageSize_Params);
    size.pHostObject = host;
    if (ProfilerHostGetConfigImageSize(&size) != CUPTI_SUCCESS) return {};
    std::vector<std::uint8_t> config(size.configImageSize);
    auto params = LACUNA_PARAMS(CUpti_Profiler_Host_GetConfigImage_Params);
    params.pHostObject = host;
    params.configImageSize = config.size();
    params.pConfigImage = config.data();
    if (ProfilerHostGetConfigImage(&params) != CUPTI_SUCCESS) return {};
    auto count = LACUNA_PARAMS(CUpti_Profiler_Host_GetNumOfPasses_Params);
    count.configImageSize = config.size();
    count.pConfigImage = config.data();
    passes = ProfilerHostGetNumOfPasses(&count) == CUPTI_SUCCESS ? count.numOfPasses : 0;
    return config;
  }
  std::vector<std::uint8_t> availability(std::uint32_t device) const {
    auto params = LACUNA_PARAMS(CUpti_PmSampling_GetCounterAvailability_Params);
    params.deviceIndex = device;
    if (PmSamplingGetCounterAvailability(&params) != CUPTI_SUCCESS) return {};
    std::vector<std::uint8_t> image(params.counterAvailabilityImageSize);
    params.pCounterAvailabilityImage = image.data();
    if (PmSamplingGetCounterAvailability(&params) != CUPTI_SUCCESS) return {};
    return image;
  }
};

std::span<const HardwareMetric> hardwareMetrics() {
  return kMetrics;
}

std::vector<std::uint8_t> PmSampler::configure(const Library& library, const char* chip,
                                               std::span<const HardwareMetric> metrics,
                                               std::size_t& passes) {
  Calls calls;
  passes = 0;
  if (!calls.resolve(library)) return {};
  auto initialise = LACUNA_PARAMS(CUpti_Profiler_Initialize_Params);
  (void)calls.ProfilerInitialize(&initialise);
  CUpti_Profiler_Host_Object* host = calls.hostFor(chip, nullptr);
  if (host == nullptr) return {};
  std::vector<std::uint8_t> config;
  std::vector<const char*> names = calls.known(chip, nullptr, metrics);
  if (names.size() == metrics.size() && calls.add(host, names))
    config = calls.configOf(host, passes);
  calls.release(host);
  return config;
}

bool PmSampler::fail(const char* what, CUptiResult result) {
  const bool rights = result == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES ||
                      result == CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES;
  why_ = std::string("no GPU hardware counters: ") + what + ": " + library_.describe(result);
  if (rights) {
    why_ +=
        ". The driver keeps them for the administrator. Remedy: load the NVIDIA module with "
        "NVreg_RestrictProfilingToAdminUsers=0, or record as root";
  }
  stop();
  return false;
}

bool PmSampler::start(std::uint32_t device, std::uint64_t intervalNs) {
  calls_ = std::make_shared<Calls>();
  if (!calls_->resolve(library_)) {
    why_ =
        "no GPU hardware counters: this libcupti is older than CUDA 12.6, which brought them. "
        "Remedy: a newer libcupti";
    calls_.reset();
    return false;
  }
  auto initialise = LACUNA_PARAMS(CUpti_Profiler_Initialize_Params);
  if (const auto result = calls_->ProfilerInitialize(&initialise); result != CUPTI_SUCCESS) {
    return fail("the profiler does not start", result);
  }
  auto chip = LACUNA_PARAMS(CUpti_Device_GetChipName_Params);
  chip.deviceIndex = device;
  if (const auto result = calls_->DeviceGetChipName(&chip); result != CUPTI_SUCCESS) {
    return fail("the chip is not known", result);
  }
  availability_ = calls_->availability(device);
  const std::uint8_t* availability = availability_.empty() ? nullptr : availability_.data();
  host_ = calls_->hostFor(chip.pChipName, availability);
  if (host_ == nullptr) return fail("CUPTI does not know this chip", CUPTI_ERROR_NOT_SUPPORTED);
  names_ = calls_->known(chip.pChipName, availability, kMetrics);
  std::size_t passes = 0;
  if (!names_.empty() && calls_->add(host_, names_)) config_ = calls_->configOf(host_, passes);
  if (config_.empty() || passes != 1)
    return fail("the chip cannot count all of them at once", CUPTI_ERROR_NOT_SUPPORTED);

  auto enable = LACUNA_PARAMS(CUpti_PmSampling_Enable_Params);
  enable.deviceIndex = device;
  if (const auto result = calls_->PmSamplingEnable(&enable); result != CUPTI_SUCCESS) {
    return fail("the driver refuses", result);
  }
  sampling_ = enable.pPmSamplingObject;
  auto set = LACUNA_PARAMS(CUpti_PmSampling_SetConfig_Params);
  set.pPmSamplingObject = sampling_;
  set.configSize = config_.size();
  set.pConfig = config_.data();
  set.hardwareBufferSize = kHardwareBufferBytes;
  set.samplingInterval = intervalNs;
  set.triggerMode = CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL;
  CUptiResult result = calls_->PmSamplingSetConfig(&set);
  if (result != CUPTI_SUCCESS) {
    set.samplingInterval =
        static_cast<std::uint64_t>(static_cast<double>(intervalNs) * kSystemClockGhz);
    set.triggerMode = CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_SYSCLK_INTERVAL;
    result = calls_->PmSamplingSetConfig(&set);
  }
  if (result != CUPTI_SUCCESS) return fail("the driver does not take the configuration", result);
  if (!initialiseImage()) return false;
  auto begin = LACUNA_PARAMS(CUpti_PmSampling_Start_Params);
  begin.pPmSamplingObject = sampling_;
  result = calls_->PmSamplingStart(&begin);
  return result == CUPTI_SUCCESS || fail("sampling does not start", result);
}

bool PmSampler::initialiseImage() {
  if (image_.empty()) {
    auto size = LACUNA_PARAMS(CUpti_PmSampling_GetCounterDataSize_Params);
    size.pPmSamplingObject = sampling_;
    size.pMetricNames = names_.data();
    size.numMetrics = names_.size();
    size.maxSamples = kSamplesInImage;
    const auto result = calls_->PmSamplingGetCounterDataSize(&size);
    if (result != CUPTI_SUCCESS) return fail("there is no room for samples", result);
    image_.resize(size.counterDataSize);
  }
  auto params = LACUNA_PARAMS(CUpti_PmSampling_CounterDataImage_Initialize_Params);
  params.pPmSamplingObject = sampling_;
  params.counterDataSize = image_.size();
  params.pCounterData = image_.data();
  const auto result = calls_->PmSamplingCounterDataImageInitialize(&params);
  return result == CUPTI_SUCCESS || fail("the image of samples cannot be made", result);
}

void PmSampler::poll(std::uint64_t nowNs, const Emit& emit) {
  // Bounded: a GPU that fills images faster than they are read must not keep us here.
  for (int i = 0; i < 64 && sampling_ != nullptr; ++i) {
    if (!decodeOnce(nowNs, emit)) return;
  }
}

/// False when there is nothing more to read.
bool PmSampler::decodeOnce(std::uint64_t nowNs, const Emit& emit) {
  auto decode = LACUNA_PARAMS(CUpti_PmSampling_DecodeData_Params);
  decode.pPmSamplingObject = sampling_;
  decode.pCounterDataImage = image_.data();
  decode.counterDataImageSize = image_.size();
  if (calls_->PmSamplingDecodeData(&decode) != CUPTI_SUCCESS) return false;
  overflows_ += decode.overflow != 0 ? 1 : 0;
  auto info = LACUNA_PARAMS(CUpti_PmSampling_GetCounterDataInfo_Params);
  info.pCounterDataImage = image_.data();
  info.counterDataImageSize = image_.size();
  if (calls_->PmSamplingGetCounterDataInfo(&info) != CUPTI_SUCCESS) return false;
  std::vector<std::uint64_t> ends(info.numCompletedSamples);
  for (std::size_t i = 0; i < ends.size(); ++i) {
    auto sample = LACUNA_PARAMS(CUpti_PmSampling_CounterData_GetSampleInfo_Params);
    sample.pPmSamplingObject = sampling_;
    sample.pCounterDataImage = image_.data();
    sample.counterDataImageSize = image_.size();
    sample.sampleIndex = i;
    if (calls_->PmSamplingCounterDataGetSampleInfo(&sample) == CUPTI_SUCCESS)
      ends[i] = sample.endTimestamp;
  }
  // A sample can only be read after it has ended: the least distance seen is the nearest to that of
  // the clocks.
  if (!ends.empty()) {
    clockOffsetNs_ = std::min(clockOffsetNs_, static_cast<std::int64_t>(nowNs - ends.back()));
  }
  // The documents name no clock. Samples that seem just read are on the clock of activity records,
  // so they need no offset; else their clock is tied to that one by the offset.
  const bool isSameClock = std::llabs(clockOffsetNs_) <= kReadWithinNs;
  const std::int64_t offset = isSameClock ? 0 : clockOffsetNs_;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    if (!first_) emitSample(i, ends[i] + static_cast<std::uint64_t>(offset), emit);
    first_ = false;
  }
  return initialiseImage() &&
         decode.decodeStopReason == CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL;
}

void PmSampler::emitSample(std::size_t index, std::uint64_t endNs, const Emit& emit) {
  std::vector<double> values(names_.size());
  auto params = LACUNA_PARAMS(CUpti_Profiler_Host_EvaluateToGpuValues_Params);
  params.pHostObject = host_;
  params.pCounterDataImage = image_.data();
  params.counterDataImageSize = image_.size();
  params.rangeIndex = index;
  params.ppMetricNames = names_.data();
  params.numMetrics = names_.size();
  params.pMetricValues = values.data();
  if (calls_->ProfilerHostEvaluateToGpuValues(&params) != CUPTI_SUCCESS) return;
  std::size_t at = 0;
  for (const HardwareMetric& metric : kMetrics) {
    if (at < names_.size() && names_[at] == metric.metric) emit(metric, endNs, values[at++]);
  }
}

void PmSampler::stop() {
  if (!calls_) return;
  if (sampling_ != nullptr) {
    auto end = LACUNA_PARAMS(CUpti_PmSampling_Stop_Params);
    end.pPmSamplingObject = sampling_;
    (void)calls_->PmSamplingStop(&end);
    auto disable = LACUNA_PARAMS(CUpti_PmSampling_Disable_Params);
    disable.pPmSamplingObject = sampling_;
    (void)calls_->PmSamplingDisable(&disable);
  }
  calls_->release(host_);
  sampling_ = nullptr;
  host_ = nullptr;
}

}  // namespace lacuna::collector::cupti
