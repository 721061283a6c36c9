// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "export/unique_names.h"

#include <gtest/gtest.h>

namespace lacuna::analyzer {
namespace {

TEST(UniqueNames, NumbersTheSecondOfANameAndSkipsWhatIsTaken) {
  UniqueNames names;
  const auto take = [&](const std::string& name) {
    return names.take(name, name, [&](int copy) { return name + "#" + std::to_string(copy); });
  };
  EXPECT_EQ(take("7"), "7");
  EXPECT_EQ(take("7#3"), "7#3");
  EXPECT_EQ(take("7"), "7#2");
  EXPECT_EQ(take("7"), "7#4");
  EXPECT_EQ(take("7#2"), "7#2#2");
}

TEST(UniqueNames, TriesEachNumberOnce) {
  UniqueNames names;
  int tries = 0;
  for (int i = 0; i < 2000; ++i) {
    names.take("7", "7", [&](int copy) { return ++tries, "7#" + std::to_string(copy); });
  }
  EXPECT_EQ(tries, 1999);
}

}  // namespace
}  // namespace lacuna::analyzer
