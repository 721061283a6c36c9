// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

/// The changes that `lacuna whatif` knows, for parsers, lists, help, documents and controls.
namespace lacuna::analyzer {

struct Analysis;

/// The form of a change: NAME=WORD, NAME=N, NAME*F, or none, where only a run can show the effect.
enum class ChangeArgument : std::uint8_t { Word, Number, Factor, None };
/// Whether a pattern of names may or must follow a part's name, as in kernel:gelu*0.5.
enum class ChangeNames : std::uint8_t { None, Optional, Needed };
enum class ChangeControl : std::uint8_t { None, CheckBox, Slider };

/// Relative standard deviation of measured step times from predicted ones.
struct KnownError {
  double share = 0;
  std::string_view from;  ///< where it was measured, or why it is assumed
};

/// A knob's value in the run that was recorded.
struct RecordedNumber {
  std::uint32_t value = 0;
  bool known = false;        ///< only then another value can be played
  std::string_view words{};  ///< for people, where the number alone would mislead
};

/// All that lists need to know of a change. Texts live as long as the program.
struct ChangeInfo {
  std::string_view name{};    ///< "loader.workers", "kernel"
  std::string_view form{};    ///< "loader.workers=N", "kernel:PATTERN*F"
  std::string_view brief{};   ///< the effect in a few plain words
  std::string_view effect{};  ///< the effect in full, in Markdown: the row of docs/analyses/whatif.md
  ChangeArgument argument = ChangeArgument::Factor;
  std::span<const std::string_view> values{};  ///< of Word
  std::uint32_t least = 0, most = 0;           ///< of Number
  ChangeNames names = ChangeNames::None;
  std::string_view namesExample{};  ///< of Needed: a change with a pattern
  KnownError error{};
  std::string_view notReplayed{};  ///< why NAME=VALUE cannot be replayed; empty where it can, or no such form exists
  std::string_view instead{};      ///< with `notReplayed`: what to do
  ChangeControl control = ChangeControl::None;
  std::string_view label{};                               ///< of the control
  std::uint32_t usualMost = 0;                            ///< of a slider
  RecordedNumber (*recorded)(const Analysis&) = nullptr;  ///< of a slider
};

/// All changes, in the order of lists. Those without a form only explain why they cannot be replayed.
std::span<const ChangeInfo* const> listChanges();
/// Null where there is none of that name.
const ChangeInfo* findChange(std::string_view name);
/// The table of docs/analyses/whatif.md, in Markdown.
std::string changesTable();

}  // namespace lacuna::analyzer
