// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "analyses/work/python_places.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace lacuna::analyzer {
namespace {

/// Stacks are cut where they are recorded; those of other tools may be anything.
constexpr std::size_t kMostDeep = 1024;

/// ".../lib/python3.11/..."
bool isInPythonsFolder(std::string_view file) {
  constexpr std::string_view kFolder = "/lib/python3.";
  const auto at = file.rfind(kFolder);
  if (at == std::string_view::npos) return false;
  std::string_view rest = file.substr(at + kFolder.size());
  const auto slash = rest.find('/');
  return slash != std::string_view::npos && slash > 0 &&
         std::ranges::all_of(rest.substr(0, slash),
                             [](unsigned char c) { return std::isdigit(c) != 0; });
}

std::string_view lastPart(std::string_view text, char separator) {
  const auto at = text.rfind(separator);
  return at == std::string_view::npos ? text : text.substr(at + 1);
}

/// The hook's functions of this name stand around a function of C. Their time is that of the
/// program's call.
constexpr std::string_view kPassesThrough = "through";

/// The hook of `lacuna run` calls the program's functions, and is nothing that the program calls.
bool isHook(std::string_view file) {
  return file.ends_with(".py") && lastPart(file, '/').starts_with("lacuna_");
}

/// "torch" of ".../site-packages/torch/nn/functional.py"; empty for files elsewhere.
std::string_view packageOf(std::string_view file) {
  for (const std::string_view folder : {"/site-packages/", "/dist-packages/"}) {
    const auto at = file.rfind(folder);
    if (at == std::string_view::npos) continue;
    const std::string_view name = file.substr(at + folder.size());
    return name.substr(0, name.find_first_of("/."));
  }
  return {};
}

bool isFramework(std::string_view module) {
  return module == "torch" || module.starts_with("torch.");
}

/// "numpy sort" of the module numpy.core.fromnumeric and its function sort.
std::string labelOf(std::string_view module, std::string_view function) {
  return fmt::format("{} {}", module.substr(0, module.find('.')), function);
}

}  // namespace

bool isPythonLibrary(std::string_view file) {
  const bool isCode =
      file.starts_with("<string>") || file.starts_with("<stdin>") || file.starts_with("<ipython");
  if (file.empty() || (file.starts_with('<') && !isCode)) return true;
  return file.find("/site-packages/") != std::string_view::npos ||
         file.find("/dist-packages/") != std::string_view::npos || isInPythonsFolder(file) ||
         isHook(file);
}

std::string PythonPlace::place(const Store& store) const {
  const std::string_view name = lastPart(store.text(file), '/');
  return line == 0 ? std::string(name) : fmt::format("{}:{}", name, line);
}

prof::Result<PythonPlaces> PythonPlaces::load(const Store& store) {
  using prof::StackFrame;
  PythonPlaces places;
  places.store_ = &store;
  const auto status = store.scan<&StackFrame::id, &StackFrame::parent, &StackFrame::function,
                                 &StackFrame::module, &StackFrame::file,
                                 &StackFrame::line>({}, [&](std::uint64_t, auto id, auto parent,
                                                            auto function, auto module, auto file,
                                                            auto line) {
    for (std::size_t i = 0; i < id.size(); ++i)
      places.frames_.try_emplace(id[i], Frame{parent[i], function[i], module[i], file[i], line[i]});
  });
  if (!status) return status.error();
  return places;
}

void PythonPlaces::learn(prof::StringId file) {
  const auto [at, fresh] = libraries_.try_emplace(file, false);
  if (fresh) at->second = isPythonLibrary(store_->text(file));
}

std::vector<const PythonPlaces::Frame*> PythonPlaces::framesOf(prof::FrameId stack) const {
  std::vector<const Frame*> frames;
  for (auto at = frames_.find(stack); at != frames_.end() && frames.size() < kMostDeep;
       at = frames_.find(at->second.parent)) {
    const bool passes = isHook(store_->text(at->second.file)) &&
                        lastPart(store_->text(at->second.function), '.') == kPassesThrough;
    if (!passes) frames.push_back(&at->second);
  }
  return frames;
}

PythonPlace PythonPlaces::placeOf(const std::vector<const Frame*>& frames) const {
  const auto isUsers = [&](const Frame* frame) { return !libraries_.at(frame->file); };
  const auto isOurs = [&](const Frame* frame) { return isHook(store_->text(frame->file)); };
  const auto users = std::ranges::find_if(frames, isUsers);
  // Without a line of the user's, the outermost one that is not ours.
  const auto outermost = std::find_if_not(frames.rbegin(), frames.rend(), isOurs);
  if (users == frames.end() && outermost == frames.rend()) return {};
  const Frame& shown = users != frames.end() ? **users : **outermost;
  PythonPlace place{.function = shown.function, .file = shown.file, .line = shown.line};
  const Frame& innermost = *frames.front();
  place.isFrameworks =
      isOurs(&innermost) || (&innermost != &shown && isFramework(store_->text(innermost.module)));
  if (isOurs(&innermost)) place.package = "Lacuna";
  for (auto at = frames.begin(); at != users && place.package.empty(); ++at) {
    place.package = packageOf(store_->text((*at)->file));
  }
  const auto called = std::find_if_not(frames.begin(), users, isOurs);
  if (called != users && *called != &shown)
    place.inside = labelOf(store_->text((*called)->module), store_->text((*called)->function));
  return place;
}

const PythonPlace* PythonPlaces::of(prof::FrameId stack, bool ofLoader) {
  const auto [known, fresh] = places_[ofLoader ? 1 : 0].try_emplace(stack);
  if (fresh) {
    std::vector<const Frame*> frames = framesOf(stack);
    if (ofLoader) {
      // A worker that was forked has the frames of its parent beneath its own, and those of the
      // loader between.
      const auto loaders = std::ranges::find_if(frames, [&](const Frame* frame) {
        return store_->text(frame->module).starts_with("torch.utils.data._utils");
      });
      if (loaders != frames.begin()) frames.erase(loaders, frames.end());
    }
    for (const Frame* frame : frames) learn(frame->file);
    if (!frames.empty()) known->second = placeOf(frames);
  }
  return known->second.file ? &known->second : nullptr;
}

}  // namespace lacuna::analyzer
