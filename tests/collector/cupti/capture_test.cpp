// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "cupti/capture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "lacuna/collector/capture.h"
#include "lacuna/prof/reader.h"
#include "records.h"
#include "row_collector.h"

namespace lacuna::collector::cupti {
namespace {

class CaptureTest : public testing::Test {
 protected:
  void SetUp() override { path_ = testing::TempDir() + "capture_" + std::to_string(::getpid()); }
  void TearDown() override { std::filesystem::remove(path_); }

  void record(const char* name, std::uint64_t start) {
    const auto kernel = kernelRecord(name, start, start + 10);
    writer_->buffer(reinterpret_cast<const std::byte*>(&kernel), sizeof kernel);
  }
  void open() { writer_.emplace(path_, 130001, compiledStrides()); }
  RowCollector replayed(std::string* complaint = nullptr) {
    writer_.reset();
    RowCollector rows;
    auto capture = readCapture(path_, complaint);
    EXPECT_TRUE(capture.ok());
    if (capture.ok()) (void)replay(*capture, rows);
    return rows;
  }

  std::string path_;
  std::optional<CaptureWriter> writer_;
};

/// A symbol of 280 bytes whose every parameter holds the one before twice: its plain name has more
/// than 2^40 bytes.
std::string doublingSymbol() {
  std::string symbol = "_Z1f1AIiiE";
  const auto reference = [](int number) {
    constexpr const char* kDigits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    return std::string("S") + (number < 36 ? std::string() : std::string(1, kDigits[number / 36])) +
           kDigits[number % 36] + '_';
  };
  for (int i = 0; symbol.size() + 4 + 2 * reference(i).size() <= 281; ++i) {
    symbol += "S_I" + reference(i) + reference(i) + 'E';
  }
  return symbol;
}

TEST_F(CaptureTest, ASymbolThatCannotBeDemangledCostsItsOwnPlainNameAlone) {
  const std::string hostile = doublingSymbol();
  EXPECT_GT(hostile.size(), 270u);
  open();
  for (const std::string& name : {std::string("_Z4axpyPf"), hostile, std::string("_Z5scaleif")}) {
    record(name.c_str(), 1000);
  }
  writer_.reset();
  const std::string trace = path_ + ".lcn";
  const auto begun = std::chrono::steady_clock::now();
  const auto report = convertCapture(path_, trace);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(10));
  ASSERT_TRUE(report.ok()) << report.error().message;
  ASSERT_EQ(report->notes.size(), 1u);
  EXPECT_THAT(report->notes[0], testing::EndsWith("names of kernels that stay mangled, as their "
                                                  "plain form takes too much time or memory: 1"));
  auto reader = prof::Reader::open(trace);
  ASSERT_TRUE(reader.ok());
  auto kernels = reader->table<prof::Kernel>();
  ASSERT_TRUE(kernels.ok());
  std::vector<std::string> names;
  for (std::size_t i = 0; i < reader->rows<prof::Kernel>(); ++i) {
    names.emplace_back(reader->text(kernels->row(i).name));
  }
  EXPECT_THAT(names, testing::ElementsAre("axpy(float*)", hostile, "scale(int, float)"));
  std::filesystem::remove(trace);
}

TEST_F(CaptureTest, ReplayGivesTheRowsOfTheLiveRun) {
  open();
  writer_->clock(1000, 0);
  record("gemm", 1100);
  const RowCollector rows = replayed();
  ASSERT_EQ(rows.all<prof::Kernel>().size(), 1u);
  EXPECT_EQ(rows.text(rows.all<prof::Kernel>()[0].name), "gemm");
  EXPECT_EQ(rows.all<prof::Kernel>()[0].startNs, 100);
}

TEST_F(CaptureTest, ANameAtAReusedAddressKeepsItsMeaningInTime) {
  open();
  char name[] = "first";
  record(name, 100);
  std::copy_n("later", 5, name);
  record(name, 200);
  record(name, 300);
  const RowCollector rows = replayed();
  ASSERT_EQ(rows.all<prof::Kernel>().size(), 3u);
  EXPECT_EQ(rows.text(rows.all<prof::Kernel>()[0].name), "first");
  EXPECT_EQ(rows.text(rows.all<prof::Kernel>()[2].name), "later");
}

TEST_F(CaptureTest, ATruncatedCaptureGivesItsCompleteRecordsAndWarns) {
  open();
  record("a", 100);
  record("b", 200);
  writer_.reset();
  std::filesystem::resize_file(path_, std::filesystem::file_size(path_) - 1);
  std::string complaint;
  EXPECT_EQ(replayed(&complaint).all<prof::Kernel>().size(), 1u);
  EXPECT_THAT(complaint, testing::HasSubstr("cut off at byte"));
}

TEST_F(CaptureTest, AnotherKindOfFileIsRefused) {
  std::ofstream(path_) << "{\"traceEvents\": []}";
  const auto capture = readCapture(path_);
  ASSERT_FALSE(capture.ok());
  EXPECT_THAT(capture.error().message, testing::HasSubstr("is not a raw CUPTI capture"));
}

TEST_F(CaptureTest, EveryDamagedByteIsSurvived) {
  open();
  writer_->apiName(false, 211, "cudaLaunchKernel_v7000");
  record("kernel", 100);
  writer_.reset();
  std::stringstream content;
  content << std::ifstream(path_, std::ios::binary).rdbuf();
  for (std::size_t i = 8; i < content.str().size(); ++i) {
    std::string bytes = content.str();
    bytes[i] = static_cast<char>(bytes[i] ^ 0xff);
    std::ofstream(path_, std::ios::binary) << bytes;
    (void)replayed();
  }
}

TEST_F(CaptureTest, CapturesOfSeveralProcessesBecomeOneTrace) {
  const std::filesystem::path folder = path_ + "_folder";
  std::filesystem::create_directories(folder);
  for (const char* file : {"/cupti-10.raw", "/cupti-20-2.raw"}) {
    path_ = folder.string() + file;
    open();
    writer_->apiName(false, 211, "cudaLaunchKernel_v7000");
    record(file, 1000);
    writer_.reset();
  }
  ASSERT_TRUE(isRawCapture(folder));
  const auto trace = folder / "out.lcn";
  const auto report = convertCapture(folder, trace);
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->files, 2u);
  EXPECT_EQ(report->records, 2u);
  const auto reader = prof::Reader::open(trace);
  ASSERT_TRUE(reader.ok());
  const auto kernels = *reader->table<prof::Kernel>();
  ASSERT_EQ(kernels.queue.size(), 2u);
  EXPECT_NE(kernels.queue[0], kernels.queue[1]);
  EXPECT_EQ(reader->text(kernels.name[1]), "/cupti-20-2.raw");
  EXPECT_EQ((*reader->table<prof::Process>()).osPid[1], 20u);
  std::filesystem::remove_all(folder);
}

TEST_F(CaptureTest, AnUnwritablePlaceIsNoticedAndHarmless) {
  CaptureWriter writer("/nonexistent/capture", 1, {});
  EXPECT_TRUE(writer.failed());
  EXPECT_THAT(writer.why(), testing::HasSubstr("/nonexistent/capture: No such file"));
  writer.clock(1, 2);
}

TEST_F(CaptureTest, WhereACaptureBreaksOffItGivesTheReasonAndKeepsTheRest) {
  open();
  record("first", 100);
  ASSERT_FALSE(writer_->failed());
  auto* const handler = ::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit full{std::filesystem::file_size(path_), before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &full);
  record("second", 200);
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, handler);
  EXPECT_TRUE(writer_->failed());
  EXPECT_THAT(writer_->why(), testing::HasSubstr(path_ + ": File too large"));
  EXPECT_EQ(replayed().all<prof::Kernel>().size(), 1u);
}

TEST_F(CaptureTest, TheNextProgramOfAProcessHasAFileOfItsOwn) {
  open();
  record("first", 100);
  open();
  record("second", 200);
  EXPECT_TRUE(std::filesystem::remove(path_ + "-2"));
  const RowCollector rows = replayed();
  ASSERT_EQ(rows.all<prof::Kernel>().size(), 1u);
  EXPECT_EQ(rows.text(rows.all<prof::Kernel>()[0].name), "first");
}

TEST_F(CaptureTest, ADeviceIsDescribedAlsoWhenItsWorkComesFirst) {
  open();
  record("gemm", 100);
  const auto device = deviceRecord();
  writer_->buffer(reinterpret_cast<const std::byte*>(&device), sizeof device);
  record("gemm", 200);
  writer_.reset();
  const std::filesystem::path trace = path_ + ".lcn";
  ASSERT_TRUE(convertCapture(path_, trace).ok());
  const auto reader = prof::Reader::open(trace);
  std::filesystem::remove(trace);
  ASSERT_TRUE(reader.ok());
  const auto devices = *reader->table<prof::Device>();
  ASSERT_EQ(devices.name.size(), 1u);
  EXPECT_EQ(reader->text(devices.name[0]), "NVIDIA H100");
  EXPECT_EQ(devices.multiprocessors[0], 132u);
  EXPECT_EQ((*reader->table<prof::Kernel>()).device[0], devices.id[0]);
}

}  // namespace
}  // namespace lacuna::collector::cupti
