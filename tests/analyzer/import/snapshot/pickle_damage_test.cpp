// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "import/byte_source.h"
#include "import/snapshot/pickle.h"
#include "support/temp_file.h"

namespace lacuna::analyzer {
namespace {

using namespace std::string_literals;
using testing::HasSubstr;

prof::Result<Pickle> readPickle(std::string_view bytes, std::uint64_t most = 1'000'000,
                                const std::function<bool()>& goOn = {}) {
  const test::TempFile file(".pickle", bytes);
  const auto source = ByteSource::open(file.path());
  return Pickle::read(**source, most, goOn);
}

/// The message that opcodes between the protocol and STOP are refused with.
std::string refusalOf(const std::string& opcodes) {
  const auto pickle = readPickle("\x80\x04" + opcodes + ".");
  return pickle.ok() ? "(none)" : pickle.error().message;
}

/// A text of fewer than 256 bytes.
std::string textOfKey(std::string_view text) {
  return "\x8c" + std::string(1, static_cast<char>(text.size())) + std::string(text);
}

TEST(PickleLimits, WhatIsNotPlainIsRefusedByNameAndByte) {
  const std::pair<std::string, std::string_view> cases[] = {{"cos\nsystem\n", "GLOBAL"},
                                                            {"\x93", "STACK_GLOBAL"},
                                                            {"R", "REDUCE"},
                                                            {"b", "BUILD"},
                                                            {"ios\nsystem\n", "INST"},
                                                            {"o", "OBJ"},
                                                            {"\x81", "NEWOBJ"},
                                                            {"\x92", "NEWOBJ_EX"},
                                                            {"\x82\x01", "EXT"},
                                                            {"P1\n", "PERSID"},
                                                            {"Q", "BINPERSID"},
                                                            {"\x97", "NEXT_BUFFER"},
                                                            {"\x98", "READONLY_BUFFER"}};
  for (const auto& [opcodes, name] : cases) {
    EXPECT_THAT(refusalOf("N" + opcodes),
                testing::StartsWith("byte 3: the pickle has the opcode " + std::string(name)));
  }
  EXPECT_EQ(refusalOf("I1\n"),
            "byte 2: the pickle has the opcode 0x49, which a plain pickle does not have");
}

TEST(PickleLimits, ProtocolsFrom2To5AreRead) {
  for (int protocol = 0; protocol < 8; ++protocol) {
    const auto pickle = readPickle("\x80" + std::string(1, static_cast<char>(protocol)) + "N.");
    EXPECT_EQ(pickle.ok(), protocol >= 2 && protocol <= 5) << protocol;
    if (!pickle.ok()) {
      EXPECT_EQ(pickle.error().message, "byte 0: the pickle has protocol " +
                                            std::to_string(protocol) + "; lacuna reads 2 to 5");
    }
  }
}

TEST(PickleDamage, DamageIsNamedByTheByteOfItsOpcode) {
  const std::pair<std::string, std::string_view> cases[] = {
      {"0", "byte 2: the pickle takes a value from an empty stack"},
      {"K\x01\x86", "byte 4: the pickle takes a value from an empty stack"},
      {"K\x01(\x85", "byte 5: the pickle takes a value from an empty stack"},
      {"2", "byte 2: the pickle copies a value that is not there"},
      {"t", "byte 2: the pickle has no mark where it needs one"},
      {"K\x01K\x02"
       "a",
       "byte 6: the pickle adds to what is no container"},
      {"}K\x01"
       "a",
       "byte 5: the pickle adds to what is no container"},
      {"]K\x01K\x02s", "byte 7: the pickle adds to what is no container"},
      {"(K\x01"
       "d",
       "byte 5: the pickle has a key without a value"},
      {"q\x01", "byte 2: the pickle remembers a value that is not there"},
      {"h\x01", "byte 2: the pickle recalls slot 1, which nothing was put into"},
      {"X" + "\x00\x00\x00\x05"s, "byte 2: the pickle claims a text of 83886080 bytes"},
      {"", "byte 2: the pickle does not end with one value"},
      {"NN", "byte 4: the pickle does not end with one value"}};
  for (const auto& [opcodes, message] : cases)
    EXPECT_EQ(refusalOf(opcodes), message) << testing::PrintToString(opcodes);
}

TEST(PickleDamage, AFileThatEndsAnywhereBreaksOff) {
  const std::string full = "\x80\x04}(" + textOfKey("key") + "G12345678" + textOfKey("k2") +
                           "\x8a\x0c" + "123456789012" + "u.";
  ASSERT_TRUE(readPickle(full).ok());
  for (std::size_t cut = 1; cut < full.size(); ++cut) {
    EXPECT_THAT(readPickle(full.substr(0, cut)).error().message,
                HasSubstr("ends before its STOP: the file breaks off"))
        << cut;
  }
}

TEST(PickleLimits, TheBudgetCountsValuesAndReferences) {
  // Values are the four that all pickles share, the list and five numbers. The stack has six of
  // them after one mark.
  const std::string pickle =
      "\x80\x04](K\x01K\x01K\x01K\x01K\x01"
      "e.";
  EXPECT_TRUE(readPickle(pickle, 17).ok());
  EXPECT_EQ(readPickle(pickle, 16).error().message,
            "byte 12: the pickle holds more than 16 values, the budget for a file of this size; "
            "--budget values=… raises it");
}

TEST(PickleLimits, CanBeCancelled) {
  std::string pickle = "\x80\x04]";
  for (int i = 0; i < 600'000; ++i) pickle += "Na";
  int asked = 0;
  const auto read = readPickle(pickle + ".", 10'000'000, [&] { return ++asked > 5; });
  EXPECT_EQ(asked, 1) << "once for each million of opcodes";
  EXPECT_THAT(read.error().message, HasSubstr("was cancelled"));
}

}  // namespace
}  // namespace lacuna::analyzer
