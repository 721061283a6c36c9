// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "lacuna/analyzer/ledger.h"

namespace lacuna::analyzer {
namespace {

struct Shades {
  std::uint32_t dark, light;
  int terminal;
};
/// The hues of Okabe and Ito, softened for large areas; what is left over lies where eyes that lack
/// a kind of cone see another lightness or another blue.
constexpr std::array<Shades, kCauseCount> kShades{{
    {0xFF33AD88, 0xFF12936C, 36},   // compute
    {0xFFD78CBA, 0xFFC878A6, 175},  // exposed communication
    {0xFFE0A33E, 0xFFDB9310, 215},  // exposed copy
    {0xFF707988, 0xFF5A6472, 244},  // profiler
    {0xFFDE7548, 0xFFC8531C, 209},  // synchronisation
    {0xFFEDE275, 0xFFDCCF3C, 228},  // loader wait
    {0xFF4C7FD0, 0xFF2A63B8, 68},   // driver call
    {0xFF7A4A2E, 0xFF8A5543, 95},   // off CPU
    {0xFF5BA8DC, 0xFF4A9BD4, 110},  // host work
    {0xFF31587C, 0xFFA6CBEC, 24},   // launch
    {0xFF8F73AB, 0xFF7D6496, 97},   // dependency
    {0xFF3C4249, 0xFFC4C9CF, 238},  // unknown
}};

}  // namespace

std::uint32_t causeColour(Cause cause, bool dark) {
  const Shades& shades = kShades[static_cast<std::size_t>(cause)];
  return dark ? shades.dark : shades.light;
}

int terminalColour(Cause cause) {
  return kShades[static_cast<std::size_t>(cause)].terminal;
}

}  // namespace lacuna::analyzer
