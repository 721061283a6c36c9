// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "cupti/library.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "core/clock.h"
#include "records.h"
#include "row_collector.h"

namespace {
bool gRealLibrary = false;
}

// The leak check at a process's end dies on what the real libcupti leaves of its threads.
extern "C" __attribute__((visibility("default"))) int
__lsan_is_turned_off() {  // NOLINT(readability-identifier-naming)
  return gRealLibrary ? 1 : 0;
}

namespace lacuna::collector::cupti {
namespace {

TEST(Library, NamesThePlacesTriedWhenThereIsNone) {
  const Library library = Library::load("/nonexistent/libcupti.so.13");
  EXPECT_FALSE(library.loaded());
  EXPECT_THAT(library.why(), testing::HasSubstr("/nonexistent/libcupti.so.13"));
}

TEST(Library, RefusesALibraryThatIsNotCupti) {
  const Library library = Library::load("libm.so.6");
  EXPECT_FALSE(library.loaded());
  EXPECT_THAT(library.why(), testing::HasSubstr("has no function cuptiGetVersion"));
}

TEST(Library, TakesTheFirstPlaceThatHasIt) {
  const std::vector<std::string> places{"/nonexistent/libcupti.so.13", FAKE_CUPTI};
  const Library library = Library::load(places);
  EXPECT_TRUE(library.loaded());
  Dl_info found{};
  ASSERT_NE(::dladdr(reinterpret_cast<const void*>(library.GetVersion), &found), 0);
  EXPECT_STREQ(found.dli_fname, FAKE_CUPTI);
}

TEST(Library, NamesEveryPlaceThatItTried) {
  const std::vector<std::string> places{"/nonexistent/libcupti.so.13",
                                        "/nonexistent/too/libcupti.so"};
  const Library library = Library::load(places);
  EXPECT_FALSE(library.loaded());
  for (const std::string& place : places) EXPECT_THAT(library.why(), testing::HasSubstr(place));
}

/// The real libcupti, where the toolkit has it: its own decoder works without a driver.
class RealLibrary : public testing::Test {
 protected:
  void SetUp() override {
    gRealLibrary = library_.loaded();
    if (!library_.loaded()) GTEST_SKIP() << "no libcupti here: " << library_.why();
  }
  Library library_ = Library::load();
};

TEST_F(RealLibrary, LaysRecordsOutAsCompiledOrAsAPrefix) {
  const Strides compiled = compiledStrides();
  const Strides probed = library_.probeStrides();
  for (std::size_t kind = 0; kind < compiled.size(); ++kind) {
    if (compiled[kind] == 0) continue;
    EXPECT_GT(probed[kind], 0) << "kind " << kind;
    if (library_.version() == CUPTI_API_VERSION) {
      EXPECT_EQ(probed[kind], compiled[kind]) << "kind " << kind;
    }
  }
}

TEST_F(RealLibrary, ReportsItsTimeOnAClockOfTheSystem) {
  std::uint64_t stamp = 0;
  ASSERT_EQ(library_.GetTimestamp(&stamp), CUPTI_SUCCESS);
  const std::int64_t before = clockNs(CLOCK_REALTIME);
  ASSERT_EQ(library_.GetTimestamp(&stamp), CUPTI_SUCCESS);
  EXPECT_GE(static_cast<std::int64_t>(stamp), before);
  EXPECT_LE(static_cast<std::int64_t>(stamp), clockNs(CLOCK_REALTIME));
}

TEST_F(RealLibrary, LaysOutKindsThatWeDoNotDecode) {
  const Strides compiled = compiledStrides();
  const Strides probed = library_.probeStrides();
  std::size_t others = 0;
  for (std::size_t kind = 0; kind < probed.size(); ++kind)
    others += compiled[kind] == 0 && probed[kind] != 0 ? 1 : 0;
  EXPECT_GT(others, 10u);
}

TEST_F(RealLibrary, ItsDecoderAndOursFindTheSameRecords) {
  std::vector<std::byte> buffer;
  const Strides strides = library_.probeStrides();
  std::size_t records = 0;
  const auto append = [&](const auto& record) {
    const std::size_t stride = strides[record.kind];
    const std::size_t at = buffer.size();
    buffer.resize(at + stride);
    std::memcpy(buffer.data() + at, &record, std::min(stride, sizeof record));
    ++records;
  };
  // Twice, so that each kind is followed by another and the last is not the end.
  everyKind(1'000'000, append);
  everyKind(2'000'000, append);
  DecoderHooks hooks;
  hooks.text = [](const void* pointer) {
    return pointer != nullptr ? std::string_view(static_cast<const char*>(pointer))
                              : std::string_view();
  };
  RowCollector byCupti;
  Decoder decoder(byCupti, hooks);
  CUpti_Activity* record = nullptr;
  auto* bytes = reinterpret_cast<std::uint8_t*>(buffer.data());
  while (library_.ActivityGetNextRecord(bytes, buffer.size(), &record) == CUPTI_SUCCESS) {
    decoder.decode(record, strides[record->kind]);
  }
  RowCollector byStride;
  EXPECT_EQ(Decoder(byStride, hooks).decodeBuffer(buffer.data(), buffer.size(), strides),
            buffer.size());
  EXPECT_EQ(decoder.stats().records, records);
  EXPECT_EQ(decoder.stats().unknownKinds, 0u);
  EXPECT_EQ(byCupti.all<prof::Kernel>().size(), 6u);
  EXPECT_TRUE(byCupti == byStride);
}

}  // namespace
}  // namespace lacuna::collector::cupti
