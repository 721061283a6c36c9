// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "rows/rows.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "lacuna/prof/writer.h"
#include "support/arrow_rows.h"
#include "support/temp_dir.h"

namespace {

using testing::HasSubstr;

void* library() {
  static void* const loaded = ::dlopen(LACUNA_ROWS_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  return loaded;
}

template <class Function>
Function* find(const char* name) {
  auto* found = reinterpret_cast<Function*>(::dlsym(library(), name));
  EXPECT_NE(found, nullptr) << name << ": " << ::dlerror();
  return found;
}

const auto openRows = [](const std::string& path, const char* what, std::string& error) {
  char* text = nullptr;
  ArrowArrayStream* stream =
      find<decltype(lacunaRowsOpen)>("lacunaRowsOpen")(path.c_str(), what, &text);
  error = text == nullptr ? "" : text;
  find<decltype(lacunaRowsFreeText)>("lacunaRowsFreeText")(text);
  return stream;
};

void freeRows(ArrowArrayStream* stream) {
  find<decltype(lacunaRowsFree)>("lacunaRowsFree")(stream);
}

std::string rowsOf(const std::string& path, const char* what) {
  std::string error;
  ArrowArrayStream* stream = openRows(path, what, error);
  if (stream == nullptr) return "error: " + error;
  std::string rows = lacuna::test::ArrowReader(*stream).all();
  freeRows(stream);
  return rows;
}

/// A trace of three ranges.
class Rows : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(library(), nullptr) << ::dlerror();
    auto writer = *lacuna::prof::Writer::create(folder_ / "t.lcn");
    for (int i = 0; i < 3; ++i)
      writer.append(lacuna::prof::Range{
          .startNs = i * 10, .durNs = i, .name = writer.intern(i == 1 ? "one" : "other")});
    ASSERT_TRUE(writer.finish());
    trace_ = folder_ / "t.lcn";
  }

  lacuna::test::TempDir folder_;
  std::string trace_;
};

TEST_F(Rows, AStatementAndANameOfATableGiveRows) {
  EXPECT_EQ(rowsOf(trace_, "SELECT name, durNs FROM range"), "other 0 \none 1 \nother 2 \n");
  EXPECT_EQ(rowsOf(trace_, "range"), rowsOf(trace_, "SELECT * FROM range"));
  EXPECT_EQ(rowsOf(trace_, "collective"), "");
  EXPECT_EQ(rowsOf(trace_, "report_devices"), rowsOf(trace_, "SELECT * FROM report_devices"));
}

TEST_F(Rows, ErrorsAreMessages) {
  EXPECT_THAT(rowsOf(trace_, "SELECT nothing FROM range"), HasSubstr("nothing"));
  EXPECT_THAT(rowsOf(trace_, "nothing"), HasSubstr("no such table"));
  EXPECT_THAT(rowsOf(folder_ / "none.lcn", "range"), HasSubstr("none.lcn"));
}

TEST_F(Rows, AStreamThatAConsumerTookIsReleasedOnce) {
  std::string error;
  ArrowArrayStream* stream = openRows(trace_, "range", error);
  ASSERT_NE(stream, nullptr) << error;
  ArrowArrayStream taken = *stream;
  stream->release = nullptr;
  freeRows(stream);
  EXPECT_THAT(lacuna::test::ArrowReader(taken).all(), HasSubstr("one"));
  taken.release(&taken);
  EXPECT_EQ(taken.release, nullptr);
  freeRows(nullptr);
}

TEST_F(Rows, ACapsuleFreesItsStream) {
  struct Capsule {
    void* pointer;
    std::string name;
    void (*end)(void*);
  };
  const auto newCapsule = [](void* pointer, const char* name, void (*end)(void*)) -> void* {
    return new Capsule{pointer, name, end};
  };
  const auto pointerOf = [](void* capsule, const char* name) -> void* {
    auto* made = static_cast<Capsule*>(capsule);
    EXPECT_EQ(made->name, name);
    return made->pointer;
  };
  const auto wrap = find<decltype(lacunaRowsCapsule)>("lacunaRowsCapsule");
  std::string error;
  for (const bool isTaken : {false, true}) {
    auto* capsule =
        static_cast<Capsule*>(wrap(openRows(trace_, "range", error), newCapsule, pointerOf));
    EXPECT_EQ(capsule->name, "arrow_array_stream");
    if (isTaken) {
      auto* stream = static_cast<ArrowArrayStream*>(capsule->pointer);
      ArrowArrayStream taken = *stream;
      stream->release = nullptr;
      taken.release(&taken);
    }
    capsule->end(capsule);  // the leak checker sees to the rest
    delete capsule;
  }
  const auto fails = [](void*, const char*, void (*)(void*)) -> void* { return nullptr; };
  EXPECT_EQ(wrap(openRows(trace_, "range", error), fails, pointerOf), nullptr);
}

TEST_F(Rows, TablesAreListedWithTheirColumns) {
  char* text = find<decltype(lacunaRowsTables)>("lacunaRowsTables")();
  const std::string lines = text;
  find<decltype(lacunaRowsFreeText)>("lacunaRowsFreeText")(text);
  EXPECT_THAT(lines, testing::StartsWith("process\tid int64\t"));
  EXPECT_THAT(lines, HasSubstr("\ncounter_sample\ttimeNs int64\t"));
  EXPECT_THAT(lines, HasSubstr("\tvalue float64"));
  EXPECT_THAT(lines, HasSubstr("\ncollective\tkernel int64\t"));
  EXPECT_THAT(lines, HasSubstr("\nreport_kernels\t"));
  EXPECT_EQ(lines.find("\t\t"), std::string::npos);
}

TEST_F(Rows, TheVersionIsThatOfThePackage) {
  EXPECT_STREQ(find<decltype(lacunaRowsVersion)>("lacunaRowsVersion")(), LACUNA_VERSION);
}

}  // namespace
