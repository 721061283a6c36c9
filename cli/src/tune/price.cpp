// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "tune/price.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <optional>

#include "base/progress_line.h"
#include "base/sandbox.h"
#include "base/settings.h"
#include "lacuna/analyzer/analysis.h"
#include "lacuna/analyzer/report.h"
#include "lacuna/analyzer/whatif.h"

namespace lacuna::cli::tune {
namespace {

/// The size limit of a child's answer: a line of some hundred bytes for each setting.
constexpr std::size_t kMostAnswer = 1 << 20;

/// The last value that the program announced.
std::string knobOf(const analyzer::Analysis& analysis, std::string_view name) {
  for (const auto& [key, value] : analysis.of<analyzer::ProgramFacts>().knobs) {
    if (key == name) return value;
  }
  return {};
}

std::optional<std::uint32_t> countOf(const std::string& text) {
  std::uint32_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return count;
}

Situation situationOf(const analyzer::Analysis& analysis) {
  Situation out;
  const std::uint32_t cores = analysis.of<analyzer::ProgramFacts>().hostCores;
  out.cores =
      cores > 0 ? cores : static_cast<std::uint32_t>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
  out.onGpu = std::ranges::any_of(
      analysis.devices, [](const auto& device) { return device.kind == prof::DeviceKind::Cuda; });
  out.workers = countOf(knobOf(analysis, "loader.workers"));
  out.prefetch = countOf(knobOf(analysis, "loader.prefetch")).value_or(0);
  out.pinned = knobOf(analysis, "loader.pin") == "on";
  out.debug = knobOf(analysis, "debug") != "off";
  return out;
}

/// Those that the replay knows.
std::vector<analyzer::Change> changesOf(std::span<const collector::Setting> settings) {
  std::vector<analyzer::Change> changes;
  for (const collector::Setting& setting : settings) {
    if (auto change = analyzer::parseChange(setting.text())) changes.push_back(*std::move(change));
  }
  return changes;
}

Asked askedFor(const Candidate& candidate, const analyzer::Analysis& analysis,
               std::span<const std::string> names) {
  const auto isFault = [&](const analyzer::Finding& finding) {
    return finding.kind == analyzer::FindingKind::Fault && finding.knob == candidate.setting.text();
  };
  if (std::ranges::any_of(analysis.of<analyzer::Findings>(), isFault)) return Asked::ByFault;
  return names.empty() ? Asked::No : Asked::ByName;
}

Priced replayed(const collector::Setting& setting, std::span<const collector::Setting> kept,
                const analyzer::Simulator& simulator, std::int64_t baseNs, Asked asked) {
  Priced out{setting};
  out.asked = asked;
  out.predicted = false;
  const auto change = analyzer::parseChange(setting.text());
  if (!change || !simulator.check(*change)) return out;
  const analyzer::Prediction prediction = simulator.play(changesOf(with(kept, setting)));
  const auto shareOf = [&](std::int64_t ns) {
    return shorterBy(static_cast<double>(baseNs), static_cast<double>(ns));
  };
  if (!prediction.touched) return out;
  out.predicted = true;
  out.gainShare = shareOf(prediction.predictedNsPerStep);
  out.lowShare = shareOf(prediction.highNsPerStep);
  out.highShare = shareOf(prediction.lowNsPerStep);
  return out;
}

Priced found(const Candidate& candidate, const analyzer::Analysis& analysis, Asked asked) {
  Priced out{candidate.setting};
  out.predicted = false;
  out.asked = asked;
  for (const analyzer::Finding& finding : analysis.of<analyzer::Findings>()) {
    if (finding.id != candidate.finding) continue;
    out.predicted = true;
    out.gainShare = finding.gainShare();
    out.lowShare = finding.shareOfStep(finding.gainLowNsPerStep);
    out.highShare = finding.shareOfStep(finding.gainHighNsPerStep);
  }
  return out;
}

prof::Result<std::vector<Priced>> priceHere(const std::filesystem::path& trace,
                                            std::span<const collector::Setting> kept,
                                            std::span<const std::string> names) {
  const auto store = analyzer::Store::open(trace);
  if (!store) return store.error();
  const auto analysis = analyseShown(*store);
  if (!analysis) return analysis.error();
  const auto simulator = analyzer::Simulator::create(*analysis);
  const std::vector<analyzer::Change> before = changesOf(kept);
  const std::int64_t baseNs = simulator ? simulator->play(before).predictedNsPerStep : 0;
  std::vector<Priced> all;
  for (const Candidate& candidate : candidates(situationOf(*analysis), kept, names)) {
    if (candidate.replayed && simulator)
      all.push_back(replayed(candidate.setting, kept, *simulator, baseNs,
                             askedFor(candidate, *analysis, names)));
    if (!candidate.replayed)
      all.push_back(found(candidate, *analysis, askedFor(candidate, *analysis, names)));
  }
  return all;
}

std::string answerOf(const prof::Result<std::vector<Priced>>& priced) {
  if (!priced) return "error " + priced.error().message + "\n";
  std::string text = "priced\n";
  for (const Priced& each : *priced) {
    text += fmt::format("{} {:.6f} {:.6f} {:.6f} {}{}\n", each.setting.text(), each.gainShare,
                        each.lowShare, each.highShare, each.predicted ? "p" : "-",
                        static_cast<int>(each.asked));
  }
  return text;
}

std::optional<Priced> readPriced(std::string_view line) {
  std::array<std::string_view, 5> words;
  for (std::string_view& word : words) {
    const std::size_t end = std::min(line.find(' '), line.size());
    word = line.substr(0, end);
    line.remove_prefix(std::min(line.size(), end + 1));
  }
  const auto settings = parseSettings({std::string(words[0])});
  if (!settings) return std::nullopt;
  Priced out{settings->front()};
  double* const shares[]{&out.gainShare, &out.lowShare, &out.highShare};
  for (std::size_t i = 0; i < std::size(shares); ++i) {
    const std::string_view word = words[i + 1];
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), *shares[i]);
    if (error != std::errc() || !std::isfinite(*shares[i])) return std::nullopt;
  }
  out.predicted = words.back().starts_with('p');
  const char asked = words.back().empty() ? '0' : words.back().back();
  out.asked = asked == '1' ? Asked::ByName : asked == '2' ? Asked::ByFault : Asked::No;
  return out;
}

prof::Result<std::vector<Priced>> readAnswer(std::string_view answer) {
  constexpr std::string_view kError = "error ";
  if (answer.starts_with(kError)) {
    const std::string_view message = answer.substr(kError.size());
    return prof::Error{std::string(message.substr(0, message.find('\n')))};
  }
  std::vector<Priced> all;
  const std::size_t first = answer.find('\n');
  if (first == std::string_view::npos)
    return prof::Error{
        "what changes would bring could not be computed: the analysis of the recording broke off"};
  for (answer.remove_prefix(first + 1); !answer.empty();) {
    const std::size_t end = std::min(answer.find('\n'), answer.size());
    if (auto priced = readPriced(answer.substr(0, end))) all.push_back(*std::move(priced));
    answer.remove_prefix(std::min(answer.size(), end + 1));
  }
  return all;
}

[[noreturn]] void answer(int fd, const std::filesystem::path& trace,
                         std::span<const collector::Setting> kept,
                         std::span<const std::string> names) {
  std::string text = "error out of memory\n";
  try {
    const char* mode = std::getenv("LACUNA_SANDBOX");
    Needs needs;
    needs.reads = {trace};
    if (const char* calibration = std::getenv("LACUNA_CALIBRATION"); calibration != nullptr)
      needs.reads.emplace_back(calibration);
    const auto confined = confine(mode != nullptr && *mode != '\0' ? mode : "auto", needs);
    text = answerOf(confined ? priceHere(trace, kept, names)
                             : prof::Result<std::vector<Priced>>(confined.error()));
  } catch (const std::exception& error) {
    text = fmt::format("error {}\n", error.what());
  }
  for (std::string_view rest = text; !rest.empty();) {
    const auto written = ::write(fd, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) break;
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  std::_Exit(0);
}

}  // namespace

prof::Result<std::vector<Priced>> price(const std::filesystem::path& trace,
                                        std::span<const collector::Setting> kept,
                                        std::span<const std::string> names) {
  std::array<int, 2> ends{};
  if (::pipe(ends.data()) != 0)
    return prof::Error{fmt::format("no pipe can be made: {}", std::strerror(errno))};
  const pid_t child = ::fork();
  if (child < 0)
    return prof::Error{fmt::format("no process can be made: {}", std::strerror(errno))};
  if (child == 0) {
    ::close(ends[0]);
    answer(ends[1], trace, kept, names);
  }
  ::close(ends[1]);
  std::string text;
  std::array<char, 4096> buffer{};
  for (;;) {
    const auto got = ::read(ends[0], buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0 || text.size() > kMostAnswer) break;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  ::close(ends[0]);
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  return readAnswer(text);
}

}  // namespace lacuna::cli::tune
