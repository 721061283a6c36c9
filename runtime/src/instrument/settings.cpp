// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "instrument/settings.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>

namespace lacuna::rt::instrument {
namespace {

constexpr std::size_t kLongestText = 300;

/// One line without tabs, of bounded length.
std::string plain(std::string_view text) {
  std::string out(text.substr(0, kLongestText));
  std::ranges::replace_if(
      out, [](unsigned char c) { return c < ' '; }, ' ');
  return out;
}

constexpr std::string_view kKnown[] = {
    "loader.workers", "loader.prefetch", "loader.pin", "optimizer.fused",
    "zero_grad",      "debug",           "amp",        "static_graph"};

enum class Outcome : std::uint8_t { Applied, Same, Refused };
constexpr const char* kOutcomes[] = {"applied", "same", "refused"};

/// Counts where each setting was applied, was so already, or was refused. A line of the file gives
/// the count so far. It is written at each power of two and at the end, so a killed program leaves
/// one, too.
class Settings {
 public:
  static Settings& ofProcess() {
    static auto* const settings = new Settings;  // others may ask while the program ends
    return *settings;
  }
  [[nodiscard]] bool any() const { return !values_.empty(); }
  [[nodiscard]] std::optional<std::string_view> of(std::string_view knob) const {
    const auto found = values_.find(knob);
    return found == values_.end() ? std::nullopt : std::optional<std::string_view>(found->second);
  }
  void note(std::string_view knob, Outcome outcome, std::string_view thing, std::string_view was,
            std::string_view why) {
    if (getpid() != process_) return;  // a forked worker, whose parent has noted it
    const std::lock_guard<std::mutex> hold(mutex_);
    const std::string setting = std::string(knob) + "=" + std::string(of(knob).value_or(""));
    const Key key(plain(setting), outcome, plain(thing), plain(was), plain(why));
    const std::uint64_t count = ++counts_[key];
    if ((count & (count - 1)) == 0) write(key, count);
  }
  void finish() {
    if (getpid() != process_) return;
    const std::lock_guard<std::mutex> hold(mutex_);
    for (const auto& [key, count] : counts_) {
      if ((count & (count - 1)) != 0) write(key, count);
      if (path_.empty()) print(key, count);
    }
    counts_.clear();
  }

 private:
  using Key = std::tuple<std::string, Outcome, std::string, std::string, std::string>;

  Settings() : process_(getpid()) {
    const char* text = std::getenv("LACUNA_SET");
    std::string_view rest = text != nullptr ? text : "";
    while (!rest.empty()) {
      const std::string_view word = rest.substr(0, rest.find(','));
      rest.remove_prefix(std::min(rest.size(), word.size() + 1));
      const std::size_t at = word.find('=');
      if (at != std::string_view::npos)
        values_[std::string(word.substr(0, at))] = word.substr(at + 1);
    }
    const char* path = std::getenv("LACUNA_SET_REPORT");
    path_ = path != nullptr ? path : "";
    if (!any()) return;
    std::atexit([] { ofProcess().finish(); });
    for (const auto& [knob, value] : values_) {
      if (std::ranges::find(kKnown, knob) == std::end(kKnown))
        note(knob, Outcome::Refused, "rt:: program", {},
             "programs of the tensor runtime have no such setting");
    }
  }
  void write(const Key& key, std::uint64_t count) {
    if (path_.empty()) return;
    std::FILE* file = std::fopen(path_.c_str(), "ae");
    if (file == nullptr) return;  // the recording is gone
    const auto& [setting, outcome, thing, was, why] = key;
    std::fprintf(file, "%d\t%s\t%s\t%llu\t%s\t%s\t\t%s\n", static_cast<int>(process_),
                 setting.c_str(), kOutcomes[static_cast<std::size_t>(outcome)],
                 static_cast<unsigned long long>(count), thing.c_str(), was.c_str(), why.c_str());
    std::fclose(file);
  }
  static void print(const Key& key, std::uint64_t count) {
    const auto& [setting, outcome, thing, was, why] = key;
    const std::string words = outcome == Outcome::Applied ? "(was " + was + ")"
                              : outcome == Outcome::Same  ? std::string("(was so already)")
                                                          : "left out: " + why;
    std::fprintf(stderr, "lacuna: set %s %s: %llu %s\n", setting.c_str(), words.c_str(),
                 static_cast<unsigned long long>(count), thing.c_str());
  }

  pid_t process_;
  std::map<std::string, std::string, std::less<>> values_;
  std::string path_;
  std::mutex mutex_;
  std::map<Key, std::uint64_t> counts_;
};

bool hasSettings() {
  static const bool any = Settings::ofProcess().any();
  return any;
}

}  // namespace

std::optional<std::string_view> settingOf(std::string_view knob) {
  return hasSettings() ? Settings::ofProcess().of(knob) : std::nullopt;
}

std::optional<unsigned> numberSetting(std::string_view knob, std::string_view thing) {
  const auto text = settingOf(knob);
  if (!text) return std::nullopt;
  constexpr unsigned kMost = 1024;
  unsigned number = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (error == std::errc() && end == text->data() + text->size() && number <= kMost) return number;
  refuseSetting(knob, thing, "it is no whole number from 0 to 1024");
  return std::nullopt;
}

void noteSetting(std::string_view knob, std::string_view thing, std::string_view was) {
  const bool isSame = settingOf(knob) == was;
  Settings::ofProcess().note(knob, isSame ? Outcome::Same : Outcome::Applied, thing,
                             isSame ? std::string_view() : was, {});
}

void refuseSetting(std::string_view knob, std::string_view thing, std::string_view why) {
  Settings::ofProcess().note(knob, Outcome::Refused, thing, {}, why);
}

void finishSettings() {
  if (hasSettings()) Settings::ofProcess().finish();
}

namespace {

/// Reads a setting with a word for each of the two states.
bool wordAsSet(std::string_view knob, std::string_view word, std::string_view other,
               std::string_view thing, bool chosen) {
  const auto text = settingOf(knob);
  if (!text) return chosen;
  if (*text != word && *text != other) {
    refuseSetting(knob, thing,
                  std::string("it is neither ") + std::string(word) + " nor " + std::string(other));
    return chosen;
  }
  noteSetting(knob, thing, chosen ? word : other);
  return *text == word;
}

}  // namespace

bool switchAsSet(std::string_view knob, std::string_view thing, bool chosen) {
  return wordAsSet(knob, "on", "off", thing, chosen);
}

bool ampAsSet(std::string_view thing, bool chosen) {
  const auto text = settingOf("amp");
  if (text == "f16") {
    refuseSetting("amp", thing, "f16 needs a GradScaler in the program; amp=bf16 needs none");
    return chosen;
  }
  return wordAsSet("amp", text == "bf16" ? "bf16" : "on", "off", thing, chosen);
}

bool clearsToNone(bool chosen) {
  return wordAsSet("zero_grad", "none", "zero", "rt::zeroGrad() call", chosen);
}

}  // namespace lacuna::rt::instrument
