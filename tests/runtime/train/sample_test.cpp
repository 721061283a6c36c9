// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "support/programs.h"
#include "support/sanitizer.h"

namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

struct Outcome {
  int status;
  std::string text;
};

/// `environment` as in a shell: "NAME=value ".
Outcome run(const std::string& command, const std::string& environment = "") {
  const std::string full = environment + lacuna::test::program(command) + " 2>&1";
  FILE* pipe = ::popen(full.c_str(), "r");
  Outcome out{-1, ""};
  std::array<char, 4096> buffer{};
  while (const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), pipe))
    out.text.append(buffer.data(), got);
  out.status = WEXITSTATUS(::pclose(pipe));
  return out;
}

class Samples : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(lacuna::test::program("mlp_digits")))
      GTEST_SKIP() << "samples are not built";
  }
};

double accuracyIn(const std::string& text) {
  const std::size_t at = text.find("accuracy ");
  return at == std::string::npos ? 0 : std::stod(text.substr(at + 9));
}

TEST_F(Samples, MlpLearnsTheSyntheticDigits) {
  const Outcome out = run("mlp_digits");
  EXPECT_EQ(out.status, 0) << out.text;
  EXPECT_GT(accuracyIn(out.text), 0.97) << out.text;
}

TEST_F(Samples, MlpLearnsTheRealDigits) {
  const std::string digits = LACUNA_DIGITS;
  if (digits.empty())
    GTEST_SKIP() << "no digits.csv.gz; apt-get install python3-sklearn, or -DLACUNA_DIGITS=FILE";
  const Outcome out = run("mlp_digits --data " + digits);
  EXPECT_GT(accuracyIn(out.text), 0.97) << out.text;
}

TEST_F(Samples, FaultyTrainsOnRealDigitsToo) {
  const std::string digits = LACUNA_DIGITS;
  if (digits.empty())
    GTEST_SKIP() << "no digits.csv.gz; apt-get install python3-sklearn, or -DLACUNA_DIGITS=FILE";
  const std::string command = "faulty --steps 4 --batch 32 --hidden 64 --log 1";
  const Outcome real = run(command + " --data " + digits);
  EXPECT_EQ(real.status, 0) << real.text;
  EXPECT_THAT(real.text, HasSubstr("step 3 loss"));
  EXPECT_NE(real.text, run(command).text);
  const Outcome missing = run(command + " --data /not/there.csv");
  EXPECT_EQ(missing.status, 1);
  EXPECT_THAT(missing.text, HasSubstr("/not/there.csv: cannot be opened"));
}

TEST_F(Samples, TrainTheSameWithAndWithoutTheDebugMode) {
  if (lacuna::test::kThreadSanitized) GTEST_SKIP() << lacuna::test::kSameThreads;
  for (const std::string command :
       {"mlp_digits --steps 8 --log 1", "transformer_lm --steps 2 --log 1 --layers 1"}) {
    const Outcome out = run(command + " --debug on");
    EXPECT_EQ(out.status, 0) << out.text;
    EXPECT_EQ(out.text.substr(0, out.text.find("peak")), [&] {
      const std::string text = run(command).text;
      return text.substr(0, text.find("peak"));
    }());
  }
}

TEST_F(Samples, RunningWithoutTheQueueGivesTheSameLosses) {
  const std::string command = "mlp_digits --steps 60 --log 1";
  const Outcome synchronous = run(command, "LACUNA_SYNC=1 ");
  EXPECT_THAT(synchronous.text, HasSubstr("step 59 loss"));
  EXPECT_EQ(synchronous.text, run(command).text);
}

TEST_F(Samples, TheMemoryLimitListsTheLargestTensors) {
  const Outcome out = run("mlp_digits --steps 2 --hidden 2048", "LACUNA_MEMORY_LIMIT=20M ");
  EXPECT_EQ(out.status, 1);
  EXPECT_THAT(out.text, HasSubstr("no memory for"));
  EXPECT_THAT(out.text, HasSubstr("the limit is 20971520 bytes"));
  EXPECT_THAT(out.text, HasSubstr("16777216 bytes, parameter, by")) << out.text;
  EXPECT_THAT(run("mlp_digits --steps 2", "LACUNA_MEMORY_LIMIT=lots ").text,
              HasSubstr("'lots' is no size"));
}

TEST_F(Samples, PlannedMemoryGivesTheSameLosses) {
  const auto losses = [](const std::string& text) {
    return text.substr(0, text.find("peak memory"));
  };
  const std::string command = "mlp_digits --steps 60 --log 1 --batch 48";
  const Outcome planned = run(command, "LACUNA_MEMORY_PLAN=1 ");
  EXPECT_EQ(planned.status, 0) << planned.text;
  EXPECT_EQ(losses(planned.text), losses(run(command).text));
  EXPECT_THAT(run(command, "LACUNA_MEMORY_PLAN=yes ").text, HasSubstr("'yes' is neither 0 nor 1"));
}

TEST_F(Samples, EqualSeedsGiveEqualLosses) {
  const std::string first = run("mlp_digits --steps 60 --log 1").text;
  EXPECT_EQ(first, run("mlp_digits --steps 60 --log 1").text);
  const auto losses = [](const std::string& text) {
    return text.substr(0, text.find("peak memory"));
  };
  EXPECT_EQ(losses(first), losses(run("mlp_digits --steps 60 --log 1 --loader.workers 3").text));
  EXPECT_NE(first, run("mlp_digits --steps 60 --log 1 --seed 2").text);
}

TEST_F(Samples, LossesDoNotDependOnHowBatchesAreLoaded) {
  const auto losses = [](const std::string& text) {
    return text.substr(0, text.find("peak memory"));
  };
  for (const std::string sample : {"mlp_digits --steps 20", "faulty --steps 20 --hidden 64"}) {
    const Outcome serial = run(sample + " --log 1 --loader.workers 0");
    EXPECT_EQ(serial.status, 0) << serial.text;
    EXPECT_THAT(serial.text, HasSubstr("step 19 loss"));
    for (const char* way :
         {"--loader.workers 2 --loader.processes on", "--loader.workers 2 --loader.pin on",
          "--loader.workers 0 --loader.pin on",
          "--loader.workers 2 --loader.processes on --loader.pin on --loader.prefetch 1"}) {
      EXPECT_EQ(losses(serial.text), losses(run(sample + " --log 1 " + way).text)) << way;
    }
  }
}

TEST_F(Samples, TrainNearlyTheSameFromInputsInShortTypes) {
  const auto lastLoss = [](const Outcome& out) {
    return std::stod(out.text.substr(out.text.rfind(" loss ") + 6));
  };
  for (const std::string sample : {"mlp_digits --steps 20", "faulty --steps 20 --hidden 64"}) {
    const Outcome exact = run(sample);
    for (const char* way :
         {"--loader.dtype f16", "--loader.workers 2 --loader.dtype bf16 --loader.processes on"}) {
      const Outcome out = run(sample + " " + way);
      EXPECT_EQ(out.status, 0) << out.text;
      EXPECT_NE(out.text, exact.text) << "it is rounded";
      EXPECT_NEAR(lastLoss(out), lastLoss(exact), 0.01 * lastLoss(exact));
    }
  }
}

TEST_F(Samples, ADamagedDataFileIsNamedWithTheLine) {
  const auto file =
      std::filesystem::temp_directory_path() / ("lacuna-digits-" + std::to_string(::getpid()));
  std::string pixels;
  for (int i = 0; i < 64; ++i) pixels += "1,";
  const auto reading = [&](const std::string& second) {
    std::ofstream(file) << pixels << "3\r\n" << second << "\n";
    const Outcome outcome = run("mlp_digits --steps 1 --batch 1 --data " + file.string());
    return std::to_string(outcome.status) + " " + outcome.text;
  };
  EXPECT_THAT(reading(pixels + "3"), StartsWith("0 step 0 loss"))
      << "two good lines, one as Windows ends it";
  for (const std::string& bad :
       {std::string("1,2,3"), pixels + "1,3", pixels + "3x", pixels + "3,", pixels, "," + pixels}) {
    EXPECT_THAT(reading(bad),
                AllOf(StartsWith("1 "), HasSubstr("line 2: expected 64 pixels and a label")))
        << bad;
  }
  for (const char* label : {"10", "-1", "2.5"})
    EXPECT_THAT(reading(pixels + label), HasSubstr("line 2: the label is not"));
  std::filesystem::remove(file);
}

TEST_F(Samples, ACompressedDataFileThatEndsEarlyIsRefused) {
  const auto name = "lacuna-digits-cut-" + std::to_string(::getpid());
  const std::string file = (std::filesystem::temp_directory_path() / name).string();
  std::string line;
  for (int i = 0; i < 64; ++i) line += "1,";
  std::ofstream(file) << line << "3\n" << line << "3\n";
  const std::string command = "mlp_digits --steps 1 --batch 1 --data " + file + ".gz";
  EXPECT_EQ(run(command, "gzip -c " + file + " > " + file + ".gz; ").status, 0);
  EXPECT_THAT(run(command, "gzip -c " + file + " | head -c -4 > " + file + ".gz; ").text,
              HasSubstr("is damaged or ends early (gzip)"));
  std::filesystem::remove(file);
  std::filesystem::remove(file + ".gz");
}

TEST_F(Samples, ALongRunNeedsNoListOfItsExamples) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  const char* const limit = "";
#else
  const char* const limit = "ulimit -d 4194304; ";
#endif
  // A list would have 6.4 million million numbers. The run ends when nobody reads on.
  EXPECT_THAT(run("mlp_digits --steps 100000000000 --log 1 | grep -m1 loss", limit).text,
              HasSubstr("step 0 loss"));
}

TEST_F(Samples, EveryFaultTrains) {
  for (const char* fault :
       {"none", "slow-loader", "starved-workers", "heavy-decode", "sync-each-step", "tiny-ops",
        "alloc-churn", "leak", "memory-spike", "bias-before-norm", "zero-grad-memset", "debug-mode",
        "unfused-optimizer"}) {
    const Outcome out =
        run(std::string("faulty --steps 4 --batch 32 --hidden 64 --log 1 --fault ") + fault);
    EXPECT_EQ(out.status, 0) << fault << ": " << out.text;
    EXPECT_THAT(out.text, HasSubstr("step 3 loss")) << fault;
  }
}

TEST_F(Samples, BadFlagsAreExplained) {
  EXPECT_EQ(run("faulty --fault nonsense").status, 2);
  const Outcome early = run("transformer_lm --sample -3 --steps 2");
  EXPECT_EQ(early.status, 2);
  EXPECT_THAT(early.text, testing::Not(HasSubstr("step"))) << "refused before it trains";
  EXPECT_THAT(run("faulty --fault nonsense").text, HasSubstr("choose one of none|slow-loader"));
  EXPECT_THAT(run("faulty --fault slow-loader --slowness 0").text,
              HasSubstr("--slowness 0: expected a whole number"));
  EXPECT_THAT(run("faulty --fault 'none|slow-loader'").text,
              HasSubstr("choose one of none|slow-loader"));
  EXPECT_THAT(run("mlp_digits --steps x").text, HasSubstr("expected a whole number"));
  EXPECT_THAT(run("mlp_digits --rate nan").text, HasSubstr("--rate nan: expected a number"));
  for (const char* sample : {"faulty", "mlp_digits"}) {
    for (const char* flag : {"--loader.pin", "--loader.processes"})
      EXPECT_THAT(run(std::string(sample) + " " + flag + " maybe").text,
                  HasSubstr("choose one of on|off"));
  }
  for (const char* sample : {"faulty", "mlp_digits"}) {
    for (const char* flag : {"--loader.workers", "--loader.prefetch"}) {
      for (const char* value :
           {"abc", "4x", "1.5", "-1", "4294967296", "5000000000", "99999999999999999999"}) {
        const Outcome out = run(std::string(sample) + " --steps 1 " + flag + " " + value);
        EXPECT_EQ(out.status, 2) << out.text;
        EXPECT_THAT(out.text,
                    HasSubstr(std::string(flag) + " " + value + ": expected a whole number"));
      }
    }
  }
}

}  // namespace
