// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

/// Settings that the environment gives to the program: `lacuna run --set` puts them into
/// LACUNA_SET, and the name of a file for their outcomes into LACUNA_SET_REPORT. A setting never
/// ends the program.
namespace lacuna::rt::instrument {

/// The value that is set for a knob. Most programs are given no settings, and asking takes a
/// branch.
std::optional<std::string_view> settingOf(std::string_view knob);
/// The same as a number; one that is none is reported as refused for the thing.
std::optional<unsigned> numberSetting(std::string_view knob, std::string_view thing);

/// Something had another value and has that of the setting now, or had that before.
void noteSetting(std::string_view knob, std::string_view thing, std::string_view was);
void refuseSetting(std::string_view knob, std::string_view thing, std::string_view why);
/// Writes down all counts; the end of the program does so, too.
void finishSettings();

/// A switch as the program chose it, or as a setting overrides it.
bool switchAsSet(std::string_view knob, std::string_view thing, bool chosen);
/// The same for `amp`, where `bf16` is another word for `on`.
bool ampAsSet(std::string_view thing, bool chosen);
/// True when a call that clears gradients drops them, as the program chose or a setting has it.
bool clearsToNone(bool chosen);

}  // namespace lacuna::rt::instrument
