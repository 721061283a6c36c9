// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/findings.h"
#include "lacuna/analyzer/report.h"
#include "lacuna/analyzer/whatif.h"
#include "support/synthetic_run.h"
#include "support/temp_dir.h"
#include "support/temp_file.h"

namespace lacuna::analyzer {
namespace {

using test::RunPlan;
using testing::HasSubstr;

constexpr const char* kHead =
    R"({"schema": "lacuna.calibration/1", "measured": {"date": "2026-01-02", "host": "node7", "device": "NVIDIA A100",
        "with": "PyTorch 2.9"}, "factors": [)";

std::string row(std::string_view knob, std::string_view kernels, double likely, double low,
                double high, std::string_view more = "") {
  return fmt::format(R"({{"knob": "{}", "kernels": "{}", "likely": {}, "low": {}, "high": {}{}}})",
                     knob, kernels, likely, low, high, more);
}

prof::Result<Calibration> read(const std::string& text) {
  const test::TempFile file(".json", text);
  return Calibration::read(file.path());
}
Calibration withRows(const std::string& rows) {
  auto calibration = read(kHead + rows + "]}");
  EXPECT_TRUE(calibration) << calibration.error().message;
  return *calibration;
}
std::string errorOf(const std::string& text) {
  const auto calibration = read(text);
  return calibration ? "none" : calibration.error().message;
}

Prediction playWith(const std::shared_ptr<const Calibration>& calibration, std::string_view change,
                    const RunPlan& plan = {}) {
  AnalysisOptions options;
  options.calibration = calibration;
  const auto analysis = analyse(test::makeRun(plan), options);
  EXPECT_TRUE(analysis);
  return Simulator::create(*analysis)->play(change);
}

TEST(Calibration, NamesShowKindsOfKernels) {
  EXPECT_EQ(kernelKindOf("ampere_sgemm_128x64_nn"), KernelKind::Product);
  EXPECT_EQ(kernelKindOf("sm80_xmma_fprop_implicit_gemm_f32"), KernelKind::Convolution);
  EXPECT_EQ(kernelKindOf("implicit_convolve_sgemm"), KernelKind::Convolution);
  EXPECT_EQ(kernelKindOf("vectorized_elementwise_kernel<4>"), KernelKind::Pointwise);
  EXPECT_EQ(kernelKindOf("softmax_warp_forward"), KernelKind::Other);
}

TEST(Calibration, TheMostExactRowCounts) {
  const Calibration calibration =
      withRows(row("amp", "matrix", 0.5, 0.4, 0.6) + "," +
               row("amp", "convolution", 0.3, 0.2, 0.4, R"(, "to_ns": 1000)") + "," +
               row("amp", "convolution", 0.2, 0.1, 0.3, R"(, "from_ns": 8000)"));
  const auto likely = [&](KernelKind kind, std::int64_t ns) {
    return calibration.factor("amp", kind, ns).likely;
  };
  EXPECT_EQ(likely(KernelKind::Product, 500), 0.5);
  EXPECT_EQ(likely(KernelKind::Convolution, 500), 0.3);
  EXPECT_EQ(likely(KernelKind::Convolution, 9'000), 0.2);
  EXPECT_EQ(likely(KernelKind::Convolution, 2'000), 0.3) << "twice 1000, a quarter of 8000";
  EXPECT_EQ(likely(KernelKind::Convolution, 4'000), 0.2);
}

TEST(Calibration, AValueThatAFileLacksIsBuiltIn) {
  const Calibration calibration = withRows(row("amp", "product", 0.5, 0.4, 0.6));
  EXPECT_EQ(calibration.factor("amp", KernelKind::Product, 1).likely, 0.5);
  EXPECT_EQ(calibration.factor("amp", KernelKind::Convolution, 1).likely, 0.35);
  EXPECT_EQ(calibration.factor("fuse", KernelKind::Pointwise, 1).likely, 0.15);
  EXPECT_EQ(calibration.factor("autotune", KernelKind::Other, 1).likely, 1)
      << "the knob does nothing to these";
  EXPECT_THAT(calibration.sourceOf("amp"),
              HasSubstr("measured on NVIDIA A100 in node7, PyTorch 2.9, 2026-01-02; of other"));
  EXPECT_THAT(calibration.sourceOf("fuse"), testing::StartsWith("built in: measured"));
  EXPECT_EQ(Calibration::builtIn().sourceOf("loader.pin"), "built in: a convention");
}

TEST(Calibration, AFileThatIsNoneGetsAReason) {
  EXPECT_THAT(errorOf("hello"), HasSubstr("is no JSON"));
  EXPECT_THAT(errorOf("[1]"), HasSubstr("is no calibration; `lacuna calibrate` writes such files"));
  EXPECT_THAT(errorOf(R"({"schema": "lacuna.report/1"})"), HasSubstr("is no calibration"));
  EXPECT_THAT(errorOf(R"({"schema": "lacuna.calibration/2", "factors": []})"),
              HasSubstr("of a newer kind"));
  EXPECT_THAT(errorOf(R"({"schema": "lacuna.calibration/1"})"),
              HasSubstr("has neither factors nor outcomes"));
  EXPECT_THAT(errorOf(R"({"schema": "lacuna.calibration/1", "factors": 7})"),
              HasSubstr("its \"factors\" is no list"));
  EXPECT_THAT(errorOf(R"({"schema": "lacuna.calibration/1", "outcomes": [{"knob": "speed"}]})"),
              HasSubstr("outcome 1: its \"knob\" is none that can be played"));
  EXPECT_THAT(errorOf(R"({"schema": "lacuna.calibration/1", "outcomes":
                      [{"knob": "amp", "predicted": 0.1, "measured": 1}]})"),
              HasSubstr("outcome 1: its \"measured\" is no share of a step, below 1"));
  EXPECT_THAT(errorOf(std::string(kHead) + "]}"), HasSubstr("has neither factors nor outcomes"));
  const auto error = [](const std::string& rows) { return errorOf(kHead + rows + "]}"); };
  EXPECT_THAT(
      error("7"),
      HasSubstr("factor 1: its \"knob\" is none of these: amp, autotune, fuse, loader.pin"));
  EXPECT_THAT(
      error(row("fuse", "pointwise", 0.1, 0, 1) + "," + row("fuse", "matrix", 0.1, 0, 1)),
      HasSubstr("factor 2: its \"kernels\" is none of those that fuse is about: pointwise"));
  EXPECT_THAT(error(row("amp", "other", 0.1, 0.2, 0.3)), HasSubstr("does not lie between"));
  EXPECT_THAT(error(row("amp", "other", -1, -2, 0.3)), HasSubstr("no number from 0 to 100"));
  EXPECT_THAT(error(row("amp", "other", 0.2, 0.1, 0.3, R"(, "from_ns": 9, "to_ns": 9)")),
              HasSubstr("not below"));
  EXPECT_THAT(error(row("amp", "other", 0.2, 0.1, 0.3, R"(, "from_ns": "9")")),
              HasSubstr("no number of nanoseconds"));
  EXPECT_THAT(Calibration::read("/nonexistent.json").error().message, HasSubstr("cannot be read"));
}

constexpr KnownError kUsual{0.05, "usual"};

TEST(Calibration, OutcomesSetTheKnownErrorOfTheirKnob) {
  const auto calibration = read(R"({"schema": "lacuna.calibration/1", "outcomes": [
      {"knob": "loader.workers", "predicted": 0.5, "measured": 0.4},
      {"knob": "loader.workers", "predicted": 0.5, "measured": 0.6}]})");
  ASSERT_TRUE(calibration) << calibration.error().message;
  const KnownError error = calibration->knownError("loader.workers", kUsual);
  EXPECT_NEAR(error.share, std::sqrt((0.05 * 0.05 + 0.2 * 0.2 + 0.2 * 0.2) / 3), 1e-9)
      << "a step of 0.5 was predicted, and 0.6 and 0.4 were measured";
  EXPECT_THAT(std::string(error.from), HasSubstr("`lacuna tune` measured"));
  EXPECT_EQ(calibration->knownError("zero_grad", kUsual).share, 0.05);
  EXPECT_EQ(Calibration::builtIn().knownError("loader.workers", kUsual).share, 0.05);
}

TEST(Calibration, AnIntervalIsAsWideAsOutcomesWereOff) {
  const RunPlan slow{.steps = 30, .batchNs = 12'000'000, .workers = 1};
  const auto after = [&](double measured) {
    auto calibration = read(fmt::format(
        R"({{"schema": "lacuna.calibration/1", "outcomes": [{{"knob": "loader.workers", "predicted": 0.3, "measured": {}}}]}})",
        measured));
    EXPECT_TRUE(calibration);
    return playWith(std::make_shared<const Calibration>(*calibration), "loader.workers=2", slow)
        .doubt.knownError;
  };
  EXPECT_LT(after(0.3), after(0.25));
  EXPECT_LT(after(0.25), after(0));
}

/// The file with these outcomes added: its text.
std::string withOutcome(const std::string& before, double measured) {
  const test::TempFile file(".json", before);
  const Calibration::Outcome outcome{.knob = "amp", .predicted = 0.25, .measured = measured};
  const auto text = Calibration::withOutcomes(file.path(), std::span(&outcome, 1));
  EXPECT_TRUE(text) << text.error().message;
  return *text;
}

TEST(Calibration, OutcomesAreAddedToWhatTheFileHas) {
  const std::string once = withOutcome(kHead + row("amp", "matrix", 0.5, 0.4, 0.6) + "]}", 0.125);
  const std::string twice = withOutcome(once, -0.5);
  EXPECT_THAT(twice, HasSubstr(R"({"knob": "amp", "predicted": 0.2500, "measured": 0.1250})"));
  EXPECT_THAT(twice, HasSubstr(R"("measured": -0.5000)"));
  EXPECT_THAT(twice, HasSubstr("NVIDIA A100"));
  const auto calibration = read(twice);
  ASSERT_TRUE(calibration) << calibration.error().message;
  EXPECT_EQ(calibration->factor("amp", KernelKind::Product, 1).likely, 0.5);
}

TEST(Calibration, AFileOfOutcomesAloneIsMade) {
  const test::TempDir folder;
  const Calibration::Outcome outcome{.knob = "amp", .predicted = 0.2, .measured = 0.1};
  const auto text = Calibration::withOutcomes(folder.path() / "new.json", std::span(&outcome, 1));
  ASSERT_TRUE(text) << text.error().message;
  const auto calibration = read(*text);
  ASSERT_TRUE(calibration) << calibration.error().message;
  EXPECT_GT(calibration->knownError("amp", kUsual).share, 0.05);
}

TEST(Calibration, TheNewestOutcomesStay) {
  std::vector<Calibration::Outcome> many(Calibration::kMostOutcomes,
                                         {.knob = "fuse", .predicted = 0, .measured = 0});
  const test::TempDir folder;
  const auto first = Calibration::withOutcomes(folder.path() / "new.json", many);
  ASSERT_TRUE(first);
  const std::string text = withOutcome(*first, 0.1);
  const auto count = [&](std::string_view word) {
    std::size_t times = 0;
    for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++times;
    return times;
  };
  EXPECT_EQ(count("\"fuse\""), Calibration::kMostOutcomes - 1);
  EXPECT_EQ(count("\"amp\""), 1U);
}

TEST(Calibration, OutcomesAreNotWrittenOverAFileThatIsNoCalibration) {
  const test::TempFile file(".json", "a letter");
  EXPECT_THAT(Calibration::withOutcomes(file.path(), {}).error().message, HasSubstr("is no JSON"));
}

TEST(Calibration, APredictionAndItsIntervalAreTheFiles) {
  const RunPlan plan{.kernelName = "ampere_sgemm_128x64_nn", .syncEachStep = true};
  const auto half =
      std::make_shared<const Calibration>(withRows(row("amp", "matrix", 0.5, 0.5, 0.5)));
  const auto wide =
      std::make_shared<const Calibration>(withRows(row("amp", "matrix", 0.5, 0.1, 0.9)));
  const Prediction exact = playWith(half, "amp=on", plan);
  const Prediction vague = playWith(wide, "amp=on", plan);
  EXPECT_NEAR(static_cast<double>(exact.gainNs()), 2e6, 0.1e6) << "half of 40 kernels of 0.1 ms";
  EXPECT_EQ(vague.predictedNsPerStep, exact.predictedNsPerStep);
  EXPECT_LT(vague.lowNsPerStep, exact.lowNsPerStep - 1'000'000);
  EXPECT_GT(vague.highNsPerStep, exact.highNsPerStep + 1'000'000);
  EXPECT_THAT(exact.notes, testing::Contains(HasSubstr("NVIDIA A100 in node7")));
  EXPECT_THAT(playWith(nullptr, "amp=on", plan).notes,
              testing::Contains(HasSubstr("built in: measured")));
}

TEST(Calibration, WhatComputesInHalfPrecisionGainsNothingFromAmp) {
  for (const char* name :
       {"ampere_bf16_s16816gemm_bf16_128x64", "vectorized_elementwise_kernel<4, c10::Half>"}) {
    const Prediction prediction =
        playWith(nullptr, "amp=on", {.kernelName = name, .syncEachStep = true});
    EXPECT_LT(prediction.gainNs(), 100'000) << name << ": only the update is left to gain";
  }
}

TEST(Calibration, FindingsGainByItAndNameThePlace) {
  const RunPlan plan{.kernelName = "ampere_sgemm_128x64_nn", .syncEachStep = true};
  AnalysisOptions options;
  const auto gainOf = [&] {
    const auto analysis = analyse(test::makeRun(plan), options);
    for (const Finding& finding : analysis->of<Findings>()) {
      if (finding.knob != "amp=on") continue;
      const std::string from =
          options.calibration ? "measured on NVIDIA A100 in node7" : "built in: measured";
      EXPECT_THAT(renderText(*analysis, {{"findings"}, 200, false}), HasSubstr(from));
      EXPECT_THAT(renderJson(*analysis), HasSubstr(from));
      return finding.predictedGainNsPerStep;
    }
    return std::int64_t{0};
  };
  const std::int64_t builtIn = gainOf();
  options.calibration =
      std::make_shared<const Calibration>(withRows(row("amp", "matrix", 0.6, 0.5, 0.7)));
  const std::int64_t measured = gainOf();
  EXPECT_NEAR(static_cast<double>(measured), 1.6e6, 0.1e6) << "0.6 is left of 40 kernels of 0.1 ms";
  EXPECT_NEAR(static_cast<double>(builtIn), 2.6e6, 0.1e6) << "0.35 is left";
}

TEST(Calibration, TheEnvironmentNamesOne) {
  const test::TempFile file(".json", kHead + row("fuse", "pointwise", 0.1, 0, 1) + "]}");
  ::setenv("LACUNA_CALIBRATION", file.path().c_str(), 1);
  const auto read = calibrationOfEnvironment();
  ::setenv("LACUNA_CALIBRATION", "/nonexistent", 1);
  const auto wrong = calibrationOfEnvironment();
  ::unsetenv("LACUNA_CALIBRATION");
  ASSERT_TRUE(read && *read);
  EXPECT_EQ((*read)->factor("fuse", KernelKind::Pointwise, 1).likely, 0.1);
  EXPECT_THAT(wrong.error().message, testing::StartsWith("LACUNA_CALIBRATION: /nonexistent"));
  EXPECT_FALSE(*calibrationOfEnvironment());
}

}  // namespace
}  // namespace lacuna::analyzer
