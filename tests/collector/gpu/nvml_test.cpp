// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "gpu/nvml.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "gpu/gpu_counters.h"
#include "lacuna/prof/reader.h"
#include "lacuna/prof/trace.h"

namespace lacuna::collector::gpu {
namespace {

namespace fs = std::filesystem;

TEST(Nvml, WithoutTheLibraryThereAreNoGpusAndAReason) {
  const Nvml nvml("/no/such/libnvidia-ml.so.1");
  EXPECT_TRUE(nvml.gpus().empty());
  EXPECT_NE(nvml.why().find("driver"), std::string::npos);
}

TEST(Nvml, ALibraryThatIsSomethingElseIsNotUsed) {
  const Nvml nvml("libc.so.6");
  EXPECT_TRUE(nvml.gpus().empty());
  EXPECT_NE(nvml.why().find("lacks functions"), std::string::npos);
}

TEST(Nvml, ReadsTheCountersOfEachGpu) {
  const Nvml nvml(FAKE_NVML);
  ASSERT_EQ(nvml.gpus().size(), 2u);
  EXPECT_EQ(nvml.gpus()[1].uuid, "GPU-00000001");
  EXPECT_EQ(nvml.gpus()[0].name, "Made up");
  const auto first = nvml.read(nvml.gpus()[0]);
  EXPECT_GE(first.powerWatts.value(), 350);
  EXPECT_EQ(first.memoryUsedBytes.value(), 5e9);
  EXPECT_EQ(first.temperatureCelsius.value(), 61);
  EXPECT_FALSE(first.busyPercent) << "this library cannot say it";
  EXPECT_FALSE(nvml.read(nvml.gpus()[1]).powerWatts) << "refused";
}

TEST(GpuCounters, AreWrittenForTheGpusThatTheProgramUses) {
  const fs::path home =
      fs::temp_directory_path() / ("lacuna-nvml-test-" + std::to_string(getpid()));
  fs::create_directories(home);
  ASSERT_TRUE(prof::createRecording(home / "recording", {}).ok());
  auto drainer = prof::Drainer::create(home / "recording", home / "out.lcn");
  ASSERT_TRUE(drainer.ok());
  ASSERT_EQ(lacunaAttach((home / "recording").c_str()), 0);
  GpuCounters counters(FAKE_NVML);
  const auto readAt = [&](prof::TimeNs now) {
    (*drainer).with([&](prof::Drainer::Access& access) { counters.sample(now, access); });
  };
  readAt(1000);
  prof::Device device;
  device.id = prof::DeviceId(1);
  device.kind = prof::DeviceKind::Cuda;
  device.uuid = prof::StringId(prof::name("GPU-00000000"));
  prof::record(device);
  ASSERT_TRUE((*drainer).flush().ok());
  readAt(2000);
  readAt(3000);
  counters.restart();
  readAt(4000);
  lacunaDetach();
  ASSERT_TRUE((*drainer).finish().ok());
  const auto reader = prof::Reader::open(home / "out.lcn");
  ASSERT_TRUE(reader.ok());
  const auto tracks = *reader->table<prof::CounterTrack>();
  std::map<std::uint32_t, std::string> names;
  for (std::size_t i = 0; i < tracks.id.size(); ++i) {
    names[tracks.id[i].value] = reader->text(tracks.name[i]);
    EXPECT_TRUE(tracks.device[i]);
  }
  EXPECT_EQ(tracks.id.size(), 3u) << "of one GPU only: power, memory, temperature";
  const auto samples = *reader->table<prof::CounterSample>();
  int powers = 0;
  for (std::size_t i = 0; i < samples.timeNs.size(); ++i) {
    EXPECT_GE(samples.timeNs[i], 2000) << "before that the program had not used it";
    powers += names[samples.track[i].value] == "board power" ? 1 : 0;
  }
  EXPECT_EQ(powers, 3) << "a value is written when it changes";
  EXPECT_EQ(samples.timeNs.size(), 7u) << "and each one when recording has begun again";
  fs::remove_all(home);
}

}  // namespace
}  // namespace lacuna::collector::gpu
