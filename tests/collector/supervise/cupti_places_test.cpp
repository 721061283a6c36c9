// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "core/cupti_places.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace lacuna::collector {
namespace {

using testing::ElementsAre;
using testing::IsSubsetOf;

constexpr const char* kOf13 = "/venv/nvidia/cu13/lib/libcupti.so.13";
constexpr const char* kOf12 = "/venv/nvidia/cuda_cupti/lib/libcupti.so.12";

TEST(CuptiPlaces, PackagesOfPythonComeFirst) {
  const auto places = cuptiPlaces(13010, std::string(kOf13) + "::" + kOf12 + ":");
  ASSERT_GE(places.size(), 4u);
  EXPECT_THAT(std::vector<std::string>(places.begin(), places.begin() + 4),
              ElementsAre(kOf13, kOf12, "libcupti.so.13", "libcupti.so.12"));
}

TEST(CuptiPlaces, CopiesNewerThanTheDriverComeLast) {
  const auto places = cuptiPlaces(12040, std::string(kOf13) + ":" + kOf12);
  ASSERT_GE(places.size(), 4u);
  EXPECT_EQ(places.front(), kOf12);
  EXPECT_EQ(places[1], "libcupti.so.12");
  EXPECT_THAT(std::vector<std::string>(places.end() - 2, places.end()),
              ElementsAre(kOf13, "libcupti.so.13"));
}

TEST(CuptiPlaces, AreThoseOfTheSystemWithoutPackages) {
  const auto places = cuptiPlaces(0, "");
  EXPECT_EQ(places.front(), "libcupti.so.13");
  EXPECT_THAT((std::vector<std::string>{"/usr/local/cuda/lib64/libcupti.so"}), IsSubsetOf(places));
}

TEST(CuptiPlaces, ANameWithAnyNumberIsAPlace) {
  const auto places =
      cuptiPlaces(13000, "/a/libcupti.so.99999999999999999999:/b/libcupti.so.:/c/other");
  EXPECT_EQ(places.front(), "/b/libcupti.so.");
  EXPECT_EQ(places[1], "/c/other");
  EXPECT_EQ(places.back(), "/a/libcupti.so.99999999999999999999");
}

}  // namespace
}  // namespace lacuna::collector
