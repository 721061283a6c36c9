// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0

// The part of the stand-in for libcupti that samples hardware counters: a chip without NVLink;
// three of its samples can be read at a time.
#include <cupti.h>
#include <cupti_pmsampling.h>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_target.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <span>

#include "fake_freedoms.h"

namespace {

std::atomic<int> enableResult = CUPTI_SUCCESS;
std::atomic<int> hardwareSamples = 0;
constexpr std::uint8_t kConfigByte = 0xC5;
std::span<const std::uint8_t>
    hardwareConfig;  ///< by the pointer that the caller gave, as the real library keeps it

}  // namespace

extern "C" {

void fakeHardware(int newEnableResult) {
  enableResult = newEnableResult;
  hardwareSamples = 0;
  hardwareConfig = {};
}

int fakeHardwareReads() {
  return hardwareSamples;
}

CUptiResult cuptiProfilerInitialize(CUpti_Profiler_Initialize_Params*) {
  FAKE_MAY_FAIL(CUptiResult, "ProfilerInitialize");
  return CUPTI_SUCCESS;
}
CUptiResult cuptiDeviceGetChipName(CUpti_Device_GetChipName_Params* params) {
  FAKE_MAY_FAIL(CUptiResult, "DeviceGetChipName");
  params->pChipName = "XY100";
  return CUPTI_SUCCESS;
}
CUptiResult cuptiProfilerHostInitialize(CUpti_Profiler_Host_Initialize_Params* params) {
  FAKE_MAY_FAIL(CUptiResult, "ProfilerHostInitialize");
  params->pHostObject = reinterpret_cast<CUpti_Profiler_Host_Object*>(&hardwareSamples);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiProfilerHostDeinitialize(CUpti_Profiler_Host_Deinitialize_Params*) {
  FAKE_MAY_FAIL(CUptiResult, "ProfilerHostDeinitialize");
  return CUPTI_SUCCESS;
}
CUptiResult cuptiProfilerHostConfigAddMetrics(CUpti_Profiler_Host_ConfigAddMetrics_Params* params) {
  FAKE_MAY_FAIL(CUptiResult, "ProfilerHostConfigAddMetrics");
  return std::strncmp(params->ppMetricNames[0], "nvl", 3) == 0 ? CUPTI_ERROR_INVALID_METRIC_NAME
                                                               : CUPTI_SUCCESS;
}
CUptiResult cuptiProfilerHostGetConfigImageSize(
    CUpti_Profiler_Host_GetConfigImageSize_Params* params) {
  FAKE_MAY_FAIL(CUptiResult, "ProfilerHostGetConfigImageSize");
  params->configImageSize = 16;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiProfilerHostGetConfigImage(CUpti_Profiler_Host_GetConfigImage_Params* params) {
  FAKE_MAY_FAIL(CUptiResult, "ProfilerHostGetConfigImage");
  std::memset(params->pConfigImage, kConfigByte, params->configImageSize);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiProfilerHostGetNumOfPasses(CUpti_Profiler_Host_GetNumOfPasses_Params* params) {
  FAKE_MAY_FAIL(CUptiResult, "ProfilerHostGetNumOfPasses");
  params->numOfPasses = 1;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiProfilerHostEvaluateToGpuValues(
    CUpti_Profiler_Host_EvaluateToGpuValues_Params* params) {
  FAKE_MAY_FAIL(CUptiResult, "ProfilerHostEvaluateToGpuValues");
  for (std::size_t i = 0; i < params->numMetrics; ++i) {
    params->pMetricValues[i] = static_cast<double>(100 * i + params->rangeIndex + 1);
  }
  return CUPTI_SUCCESS;
}
CUptiResult cuptiPmSamplingGetCounterAvailability(
    CUpti_PmSampling_GetCounterAvailability_Params* params) {
  FAKE_MAY_FAIL(CUptiResult, "PmSamplingGetCounterAvailability");
  params->counterAvailabilityImageSize = 8;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiPmSamplingEnable(CUpti_PmSampling_Enable_Params* params) {
  FAKE_MAY_FAIL(CUptiResult, "PmSamplingEnable");
  params->pPmSamplingObject = reinterpret_cast<CUpti_PmSampling_Object*>(&hardwareSamples);
  return static_cast<CUptiResult>(enableResult.load());
}
CUptiResult cuptiPmSamplingDisable(CUpti_PmSampling_Disable_Params*) {
  FAKE_MAY_FAIL(CUptiResult, "PmSamplingDisable");
  return CUPTI_SUCCESS;
}
CUptiResult cuptiPmSamplingSetConfig(CUpti_PmSampling_SetConfig_Params* params) {
  FAKE_MAY_FAIL(CUptiResult, "PmSamplingSetConfig");
  // As on a chip that cannot sample by time.
  const bool byTime = params->triggerMode == CUPTI_PM_SAMPLING_TRIGGER_MODE_GPU_TIME_INTERVAL;
  if (!byTime) hardwareConfig = {params->pConfig, params->configSize};
  return byTime ? CUPTI_ERROR_NOT_SUPPORTED : CUPTI_SUCCESS;
}
CUptiResult cuptiPmSamplingStart(CUpti_PmSampling_Start_Params*) {
  FAKE_MAY_FAIL(CUptiResult, "PmSamplingStart");
  return CUPTI_SUCCESS;
}
CUptiResult cuptiPmSamplingStop(CUpti_PmSampling_Stop_Params*) {
  FAKE_MAY_FAIL(CUptiResult, "PmSamplingStop");
  return CUPTI_SUCCESS;
}
CUptiResult cuptiPmSamplingGetCounterDataSize(CUpti_PmSampling_GetCounterDataSize_Params* params) {
  FAKE_MAY_FAIL(CUptiResult, "PmSamplingGetCounterDataSize");
  params->counterDataSize = 64;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiPmSamplingCounterDataImageInitialize(
    CUpti_PmSampling_CounterDataImage_Initialize_Params*) {
  FAKE_MAY_FAIL(CUptiResult, "PmSamplingCounterDataImageInitialize");
  return CUPTI_SUCCESS;
}
CUptiResult cuptiPmSamplingDecodeData(CUpti_PmSampling_DecodeData_Params* params) {
  FAKE_MAY_FAIL(CUptiResult, "PmSamplingDecodeData");
  // The real library reads the configuration here, by the pointer that it was given.
  const bool allSet = std::ranges::all_of(
      hardwareConfig, [](const std::uint8_t byte) { return byte == kConfigByte; });
  if (!allSet) return CUPTI_ERROR_INVALID_PARAMETER;
  const int round = hardwareSamples++;
  params->overflow = round == 1 ? 1 : 0;
  params->decodeStopReason = round == 0 ? CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL
                                        : CUPTI_PM_SAMPLING_DECODE_STOP_REASON_END_OF_RECORDS;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiPmSamplingGetCounterDataInfo(CUpti_PmSampling_GetCounterDataInfo_Params* params) {
  FAKE_MAY_FAIL(CUptiResult, "PmSamplingGetCounterDataInfo");
  params->numCompletedSamples = hardwareSamples <= 2 ? 3 : 0;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiPmSamplingCounterDataGetSampleInfo(
    CUpti_PmSampling_CounterData_GetSampleInfo_Params* params) {
  FAKE_MAY_FAIL(CUptiResult, "PmSamplingCounterDataGetSampleInfo");
  // Its clock began somewhen; samples are 10 ms apart.
  params->endTimestamp =
      5'000 +
      10'000'000 * (3 * (static_cast<std::uint64_t>(hardwareSamples) - 1) + params->sampleIndex);
  return CUPTI_SUCCESS;
}
}
