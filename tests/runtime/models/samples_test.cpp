// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>

#include "support/programs.h"
#include "support/sanitizer.h"

namespace {

using testing::HasSubstr;

struct Outcome {
  int status;
  std::string text;
};

Outcome run(const std::string& command) {
  const std::string full = lacuna::test::program(command) + " 2>&1";
  FILE* pipe = ::popen(full.c_str(), "r");
  Outcome out{-1, ""};
  std::array<char, 4096> buffer{};
  while (const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), pipe))
    out.text.append(buffer.data(), got);
  out.status = WEXITSTATUS(::pclose(pipe));
  return out;
}

double lastLoss(const std::string& text) {
  const std::size_t at = text.rfind(" loss ");
  return at == std::string::npos ? 1e9 : std::stod(text.substr(at + 6));
}

std::string losses(const std::string& text) {
  return text.substr(0, text.find("peak memory"));
}

constexpr const char* kResNet = "resnet --width 8 --batch 8 --steps 4 --log 1";
constexpr const char* kTransformer =
    "transformer_lm --features 32 --layers 2 --heads 2 --context 32 --batch 8 --rate 0.005 ";
constexpr const char* kStyleGan =
    "stylegan2_discriminator --size 16 --channels 128 --steps 3 --log 1 ";

TEST(ResNetSample, OverfitsABatch) {
  const Outcome out = run("resnet --width 8 --batch 8 --steps 25 --overfit on");
  EXPECT_EQ(out.status, 0) << out.text;
  EXPECT_LT(lastLoss(out.text), 0.05) << out.text;
}

/// Without the lines that only a static graph has.
std::string lossesAlone(const std::string& text) {
  std::string out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("step ")) out += line + "\n";
  }
  return out;
}

TEST(Samples, TrainTheSameInAStaticGraph) {
  if (lacuna::test::kThreadSanitized) GTEST_SKIP() << lacuna::test::kSameThreads;
  const std::string commands[] = {
      std::string(kResNet) + " --steps 6",
      kTransformer + std::string("--dropout 0.1 --steps 6 --log 1"),
      kStyleGan + std::string("--steps 8 --r1_every 4"),
      kStyleGan + std::string("--steps 6 --r1_every 1 --generator trained")};
  for (const std::string& command : commands) {
    const Outcome plain = run(command), replayed = run(command + " --static_graph on");
    ASSERT_EQ(replayed.status, 0) << replayed.text;
    EXPECT_EQ(lossesAlone(plain.text), lossesAlone(replayed.text)) << command;
    EXPECT_THAT(replayed.text, HasSubstr("static graph: 4 steps replayed")) << command;
  }
}

TEST(Samples, TrainTheSameWithCheckpoints) {
  if (lacuna::test::kThreadSanitized) GTEST_SKIP() << lacuna::test::kSameThreads;
  const std::string commands[] = {kResNet,
                                  std::string(kTransformer) + "--dropout 0.2 --steps 3 --log 1",
                                  std::string(kStyleGan) + "--r1_every 1"};
  for (const std::string& command : commands) {
    const Outcome out = run(command + " --checkpoint on");
    EXPECT_EQ(out.status, 0) << out.text;
    EXPECT_EQ(losses(out.text), losses(run(command).text));
  }
}

/// The drawn pictures have 256 values, which the short types hold.
TEST(ResNetSample, TrainsTheSameFromPicturesInShortTypes) {
  if (lacuna::test::kThreadSanitized) GTEST_SKIP() << lacuna::test::kSameThreads;
  const std::string plain = losses(run(kResNet).text);
  EXPECT_THAT(plain, HasSubstr("step 3 loss"));
  for (const char* way : {"--loader.dtype f16", "--loader.dtype bf16 --loader.processes on",
                          "--loader.dtype f16 --loader.pin on --loader.workers 0"})
    EXPECT_EQ(losses(run(std::string(kResNet) + " " + way).text), plain) << way;
}

TEST(ResNetSample, OverfitsABatchInShortTypes) {
  if (lacuna::test::kThreadSanitized) GTEST_SKIP() << lacuna::test::kSameThreads;
  for (const char* type : {"bf16", "f16"}) {
    const Outcome out =
        run(std::string("resnet --width 8 --batch 8 --steps 25 --overfit on --amp ") + type);
    EXPECT_EQ(out.status, 0) << out.text;
    EXPECT_LT(lastLoss(out.text), 0.05) << out.text;
  }
}

TEST(Samples, TrainNearlyTheSameInShortTypes) {
  if (lacuna::test::kThreadSanitized) GTEST_SKIP() << lacuna::test::kSameThreads;
  const std::string transformer = std::string(kTransformer) + "--steps 20 --log 19";
  const std::string discriminator = std::string(kStyleGan) + "--r1_every 1";
  for (const auto& [command, type] : {std::pair(transformer, "bf16"), std::pair(transformer, "f16"),
                                      std::pair(discriminator, "bf16")}) {
    const Outcome out = run(command + " --amp " + type);
    EXPECT_EQ(out.status, 0) << out.text;
    const std::string plain = run(command).text;
    EXPECT_NE(losses(out.text), losses(plain));
    EXPECT_NEAR(lastLoss(out.text), lastLoss(plain), 0.05 * lastLoss(plain)) << type;
    if (std::string(type) != "bf16") continue;
    EXPECT_EQ(losses(out.text), losses(run(command + " --amp on").text)) << "another word for it";
  }
}

/// The gradient of a gradient, in f16 too. Its first steps are skipped, until the factor of the
/// loss fits it; each has other pictures, so later losses are others than in f32.
TEST(StyleGan2Sample, BeginsNearlyTheSameInF16AndStaysFinite) {
  if (lacuna::test::kThreadSanitized) GTEST_SKIP() << lacuna::test::kSameThreads;
  const auto firstLoss = [](const std::string& text) {
    return lastLoss(text.substr(0, text.find('\n', text.find("step 0"))));
  };
  const std::string command =
      std::string(kStyleGan) + "--r1_every 1 --generator trained --steps 12";
  const Outcome out = run(command + " --amp f16");
  EXPECT_EQ(out.status, 0) << out.text;
  const double plain = firstLoss(run(command).text);
  EXPECT_NEAR(firstLoss(out.text), plain, 0.05 * plain);
  EXPECT_LT(lastLoss(out.text), 3 * plain) << out.text;
}

TEST(ResNetSample, EqualSeedsGiveEqualLosses) {
  const std::string first = losses(run(kResNet).text);
  EXPECT_THAT(first, HasSubstr("step 3 loss"));
  EXPECT_EQ(first, losses(run(kResNet).text));
  EXPECT_EQ(first, losses(run(std::string(kResNet) + " --loader.workers 3").text));
  EXPECT_EQ(first,
            losses(run(std::string(kResNet) + " --loader.processes on --loader.pin on").text));
  EXPECT_NE(first, losses(run(std::string(kResNet) + " --seed 2").text));
}

TEST(ResNetSample, ReadsCifarAndNamesADamagedRecord) {
  const auto file =
      std::filesystem::temp_directory_path() / ("lacuna-cifar-" + std::to_string(::getpid()));
  const std::string pixels(3072, 'x');
  const auto write = [&](char label) {
    std::ofstream out(file, std::ios::binary);
    for (int i = 0; i < 8; ++i) out << label << pixels;
  };
  write('\3');
  const std::string command = "resnet --width 4 --batch 8 --steps 1 --data " + file.string();
  EXPECT_EQ(run(command).status, 0) << run(command).text;
  write('\77');
  const Outcome damaged = run(command);
  EXPECT_EQ(damaged.status, 1);
  EXPECT_THAT(damaged.text, HasSubstr("has the label 63, not 0 to 9"));
  std::filesystem::remove(file);
}

TEST(TransformerSample, LearnsTheGrammar) {
  if (lacuna::test::kThreadSanitized) GTEST_SKIP() << lacuna::test::kSameThreads;
  const Outcome out = run(std::string(kTransformer) + "--steps 200 --sample 40");
  EXPECT_EQ(out.status, 0) << out.text;
  EXPECT_LT(lastLoss(out.text), 1.2) << out.text;
  EXPECT_THAT(out.text, HasSubstr("the "));
}

TEST(TransformerSample, EqualSeedsGiveEqualLosses) {
  const std::string command = std::string(kTransformer) + "--steps 6 --log 1 --dropout 0.1";
  const std::string first = losses(run(command).text);
  EXPECT_THAT(first, HasSubstr("step 5 loss"));
  EXPECT_EQ(first, losses(run(command).text));
}

TEST(TransformerSample, NamesATextThatIsTooShort) {
  const auto file =
      std::filesystem::temp_directory_path() / ("lacuna-text-" + std::to_string(::getpid()));
  std::ofstream(file) << "short";
  const Outcome out = run("transformer_lm --data " + file.string());
  std::filesystem::remove(file);
  EXPECT_EQ(out.status, 1);
  EXPECT_THAT(out.text, HasSubstr("the text has 5 characters; a context of 128 needs more"));
  EXPECT_THAT(run("transformer_lm --data /nowhere").text,
              HasSubstr("/nowhere: cannot be read as a text"));
}

TEST(StyleGan2Sample, TrainsBothNetworksWithEqualLossesForEqualSeeds) {
  const std::string command = std::string(kStyleGan) + "--generator trained --r1_every 2";
  const Outcome first = run(command);
  EXPECT_EQ(first.status, 0) << first.text;
  EXPECT_THAT(first.text, HasSubstr("step 2 loss"));
  EXPECT_EQ(losses(first.text), losses(run(command).text));
}

TEST(Samples, BadFlagsAreExplained) {
  EXPECT_EQ(run("resnet --depth 20").status, 2);
  EXPECT_THAT(run("resnet --depth 20").text, HasSubstr("choose one of 18|34|50|101"));
  EXPECT_THAT(run("stylegan2_discriminator --size 48").text, HasSubstr("must be a power of two"));
  EXPECT_THAT(run("transformer_lm --heads 3").text, HasSubstr("256 features for 3 heads"));
}

}  // namespace
