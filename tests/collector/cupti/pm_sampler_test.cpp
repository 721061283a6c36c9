// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "cupti/pm_sampler.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace lacuna::collector::cupti {
namespace {

using testing::HasSubstr;

class PmSamplerTest : public testing::Test {
 protected:
  void SetUp() override {
    handle_ = ::dlopen(FAKE_CUPTI, RTLD_NOW);
    ASSERT_NE(handle_, nullptr) << ::dlerror();
    refuse(CUPTI_SUCCESS);
  }
  void refuse(CUptiResult result) {
    reinterpret_cast<void (*)(int)>(::dlsym(handle_, "fakeHardware"))(result);
  }
  struct Sample {
    std::uint64_t endNs;
    double value;
  };
  std::map<std::string, std::vector<Sample>> poll(PmSampler& sampler, std::uint64_t now) {
    std::map<std::string, std::vector<Sample>> samples;
    sampler.poll(now, [&](const HardwareMetric& metric, std::uint64_t endNs, double value) {
      samples[metric.title].push_back({endNs, value});
    });
    return samples;
  }
  void* handle_ = nullptr;
};

TEST_F(PmSamplerTest, EverySampleButTheFirstArrivesOnOurClock) {
  const Library library = Library::load(FAKE_CUPTI);
  PmSampler sampler(library);
  ASSERT_TRUE(sampler.start(0, 10'000'000)) << sampler.why();
  const auto samples = poll(sampler, 1'000'000'000);
  ASSERT_EQ(samples.size(), 7u) << "this chip has no NVLink";
  const auto& active = samples.at("SM active");
  ASSERT_EQ(active.size(), 5u) << "twice three, but for the first";
  EXPECT_EQ(active[0].value, 2);
  EXPECT_EQ(samples.at("tensor pipe active")[0].value, 102);
  EXPECT_EQ(active.back().endNs, 1'000'000'000u)
      << "the last can have ended just now at the latest";
  EXPECT_EQ(active.back().endNs - active[4 - 1].endNs, 10'000'000u);
  EXPECT_EQ(sampler.overflows(), 1u);
  EXPECT_TRUE(poll(sampler, 2'000'000'000).empty()) << "nothing new";
}

TEST_F(PmSamplerTest, SamplesOnTheClockOfActivitiesKeepTheirStamps) {
  const Library library = Library::load(FAKE_CUPTI);
  PmSampler sampler(library);
  ASSERT_TRUE(sampler.start(0, 10'000'000)) << sampler.why();
  // The chip's samples end at 5 µs and every 10 ms from there; they are read 3 ms late.
  const auto active = poll(sampler, 53'005'000).at("SM active");
  ASSERT_EQ(active.size(), 5u);
  EXPECT_EQ(active.front().endNs, 10'005'000u);
  EXPECT_EQ(active.back().endNs, 50'005'000u);
}

TEST_F(PmSamplerTest, MissingRightsAreExplainedWithTheirRemedy) {
  refuse(CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
  const Library library = Library::load(FAKE_CUPTI);
  PmSampler sampler(library);
  EXPECT_FALSE(sampler.start(0, 10'000'000));
  EXPECT_THAT(sampler.why(), HasSubstr("NVreg_RestrictProfilingToAdminUsers=0"));
  EXPECT_TRUE(poll(sampler, 1).empty());
}

TEST_F(PmSamplerTest, AnOldLibraryIsExplained) {
  const Library none = Library::load("/nonexistent/libcupti.so");
  PmSampler sampler(none);
  EXPECT_FALSE(sampler.start(0, 10'000'000));
  EXPECT_THAT(sampler.why(), HasSubstr("newer libcupti"));
}

/// The real library makes configurations on any machine, so that the names of the metrics can be
/// checked.
TEST(PmSamplerMetrics, AllFitIntoOnePassOfAnH100) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the library loads another with RTLD_DEEPBIND, which sanitizers refuse";
#endif
  const Library library = Library::load();
  if (!library.loaded()) GTEST_SKIP() << library.why();
  std::size_t passes = 0;
  const auto config = PmSampler::configure(library, "GH100", hardwareMetrics(), passes);
  if (config.empty() && passes == 0 && library.symbol("cuptiPmSamplingEnable") == nullptr) {
    GTEST_SKIP() << "this libcupti has no PM sampling";
  }
  EXPECT_FALSE(config.empty());
  EXPECT_EQ(passes, 1u);
  for (const HardwareMetric& metric : hardwareMetrics()) {
    EXPECT_FALSE(PmSampler::configure(library, "GH100", {&metric, 1}, passes).empty())
        << metric.metric;
  }
}

}  // namespace
}  // namespace lacuna::collector::cupti
