// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "timeline/palette.h"

#include <gtest/gtest.h>

#include <functional>

#include "support/colour_vision.h"

namespace lacuna::gui {
namespace {

constexpr std::size_t kChartColours = 8;
constexpr std::size_t kRoles = 9;

Colour causeAt(std::size_t n, bool dark) {
  return causeColour(static_cast<analyzer::Cause>(n), dark);
}
Colour roleAt(std::size_t n, bool dark) {
  return roleColour(static_cast<prof::MemoryRole>(n), dark);
}

/// Any two of them may lie beside each other.
void expectApart(const char* what, std::size_t count,
                 const std::function<Colour(std::size_t, bool)>& colour) {
  for (const bool dark : {true, false}) {
    for (std::size_t a = 0; a < count; ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        EXPECT_GT(test::distance(colour(a, dark), colour(b, dark)), test::kApart)
            << what << ", " << (dark ? "dark " : "light ") << a << " and " << b;
      }
      EXPECT_GT(test::distance(colour(a, dark), theme(dark).window), test::kApart)
          << what << ", ground and " << a;
      EXPECT_GT(test::distance(colour(a, dark), theme(dark).panel), test::kApart)
          << what << ", panel and " << a;
    }
  }
}

TEST(Palette, ColoursAreDistinguishableByAllEyes) {
  expectApart("charts", kChartColours, chartColour);
  expectApart("causes", analyzer::kCauseCount, causeAt);
  expectApart("roles of memory", kRoles, roleAt);
}

TEST(Palette, CurvesOfMemoryHaveTheColoursOfTheirRoles) {
  for (const bool dark : {true, false}) {
    EXPECT_EQ(counterColour("memory · activations", 4, dark),
              roleColour(prof::MemoryRole::Activation, dark));
    EXPECT_EQ(counterColour("memory · not known", 4, dark),
              roleColour(prof::MemoryRole::Other, dark));
  }
}

TEST(Palette, WorkHasTheColourOfItsTimeInTheLedger) {
  using analyzer::Cause;
  using analyzer::WorkKind;
  for (const bool dark : {true, false}) {
    EXPECT_EQ(kindColour(WorkKind::Compute, dark), causeColour(Cause::Compute, dark));
    EXPECT_EQ(kindColour(WorkKind::Communication, dark),
              causeColour(Cause::ExposedCommunication, dark));
    EXPECT_EQ(kindColour(WorkKind::Copy, dark), causeColour(Cause::ExposedCopy, dark));
    EXPECT_EQ(kindColour(WorkKind::Synchronisation, dark),
              causeColour(Cause::Synchronisation, dark));
    EXPECT_EQ(kindColour(WorkKind::Loader, dark), causeColour(Cause::LoaderWait, dark));
    EXPECT_EQ(kindColour(WorkKind::Host, dark), causeColour(Cause::HostWork, dark));
  }
}

TEST(Palette, InkReadsOnEveryColour) {
  const auto luminance = [](Colour c) {
    return 0.2126 * test::linearChannel(c >> 16) + 0.7152 * test::linearChannel(c >> 8) +
           0.0722 * test::linearChannel(c);
  };
  const auto expectReadable = [&](Colour colour) {
    const double ground = luminance(colour);
    const double ink = luminance(inkOn(colour));
    EXPECT_GT((std::max(ground, ink) + 0.05) / (std::min(ground, ink) + 0.05), 4.0)
        << std::hex << colour;
  };
  for (const bool dark : {true, false}) {
    for (std::size_t n = 0; n < kChartColours; ++n) expectReadable(chartColour(n, dark));
    for (std::size_t n = 0; n < analyzer::kCauseCount; ++n) expectReadable(causeAt(n, dark));
  }
}

}  // namespace
}  // namespace lacuna::gui
