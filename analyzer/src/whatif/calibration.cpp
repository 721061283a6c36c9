// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <span>
#include <utility>

#include "analyses/work/name_guesses.h"
#include "lacuna/analyzer/text.h"
#include "lacuna/analyzer/whatif.h"
#include "whatif/changes/registry.h"

namespace lacuna::analyzer {
namespace {

using JsonValue = simdjson::dom::element;

constexpr std::string_view kSchema = "lacuna.calibration/1";
constexpr std::string_view kSchemaName = "lacuna.calibration/";
/// No knob makes work so much longer; a file with a greater factor is of another unit.
constexpr double kMostLeft = 100;
/// Nanoseconds that 64 bits hold, with room for rounding.
constexpr double kMostNs = 9e18;

std::span<const CalibratedFactor> factorsOf(std::string_view knob) {
  const ChangeType* type = findChangeType(knob);
  return type == nullptr ? std::span<const CalibratedFactor>() : type->factors;
}

std::string kernelsOf(std::string_view knob) {
  std::vector<std::string_view> words;
  for (const CalibratedFactor& factor : factorsOf(knob)) words.push_back(factor.kernels);
  return fmt::format("{}", fmt::join(words, ", "));
}

std::optional<std::string_view> textOf(const JsonValue& object, std::string_view key) {
  std::string_view text;
  if (object[key].get(text) != simdjson::SUCCESS) return std::nullopt;
  return text;
}
std::optional<double> numberOf(const JsonValue& object, std::string_view key) {
  double value = 0;
  if (object[key].get(value) != simdjson::SUCCESS || !std::isfinite(value)) return std::nullopt;
  return value;
}

/// The row, or what is wrong with it.
prof::Result<Calibration::Row> rowOf(const JsonValue& json) {
  const auto knob = textOf(json, "knob");
  if (!knob || !Calibration::isFor(*knob))
    return prof::Error{
        fmt::format("its \"knob\" is none of these: {}", fmt::join(Calibration::knobs(), ", "))};
  const auto kernels = textOf(json, "kernels");
  const auto factors = factorsOf(*knob);
  const auto word = std::ranges::find_if(
      factors, [&](const CalibratedFactor& one) { return kernels && one.kernels == *kernels; });
  if (word == factors.end())
    return prof::Error{fmt::format("its \"kernels\" is none of those that {} is about: {}", *knob,
                                   kernelsOf(*knob))};
  Calibration::Row row{
      .knob = std::string(*knob), .kinds = {word->kinds.begin(), word->kinds.end()}, .factor = {}};
  for (const auto& [key, value] :
       {std::pair("likely", &row.factor.likely), std::pair("low", &row.factor.low),
        std::pair("high", &row.factor.high)}) {
    const auto number = numberOf(json, key);
    if (!number || *number < 0 || *number > kMostLeft)
      return prof::Error{fmt::format("its \"{}\" is no number from 0 to {}", key, kMostLeft)};
    *value = *number;
  }
  if (row.factor.low > row.factor.likely || row.factor.likely > row.factor.high)
    return prof::Error{"its \"likely\" does not lie between \"low\" and \"high\""};
  for (const auto& [key, value] :
       {std::pair("from_ns", &row.fromNs), std::pair("to_ns", &row.toNs)}) {
    if (json[key].error() == simdjson::NO_SUCH_FIELD) continue;
    const auto number = numberOf(json, key);
    if (!number || *number < 0 || *number > kMostNs)
      return prof::Error{fmt::format("its \"{}\" is no number of nanoseconds", key)};
    *value = static_cast<std::int64_t>(*number);
  }
  if (row.fromNs >= row.toNs) return prof::Error{"its \"from_ns\" is not below \"to_ns\""};
  return row;
}

/// "a100.json: NVIDIA A100 in node7, PyTorch 2.9, 2026-11-25"
std::string sourceIn(const JsonValue& root, const std::filesystem::path& path) {
  std::string conditions;
  JsonValue measured;
  if (root["measured"].get(measured) == simdjson::SUCCESS && measured.is_object()) {
    const std::string_view host = textOf(measured, "host").value_or("");
    for (const char* key : {"device", "with", "date"}) {
      const auto text = textOf(measured, key);
      if (!text || text->empty()) continue;
      conditions += fmt::format("{}{}", conditions.empty() ? "" : ", ", oneLine(*text));
      if (std::string_view(key) == "device" && !host.empty())
        conditions += fmt::format(" in {}", oneLine(host));
    }
  }
  return path.filename().string() + (conditions.empty() ? "" : ": measured on ") + conditions;
}

/// The outcome, or what is wrong with it.
prof::Result<Calibration::Outcome> outcomeOf(const JsonValue& json) {
  const auto knob = textOf(json, "knob");
  if (!knob || findChangeType(*knob) == nullptr)
    return prof::Error{"its \"knob\" is none that can be played"};
  Calibration::Outcome outcome{.knob = std::string(*knob)};
  for (const auto& [key, value] :
       {std::pair("predicted", &outcome.predicted), std::pair("measured", &outcome.measured)}) {
    const auto number = numberOf(json, key);
    if (!number || *number >= 1)
      return prof::Error{fmt::format("its \"{}\" is no share of a step, below 1", key)};
    *value = *number;
  }
  return outcome;
}

/// How far the predicted step was off, as a share of it.
double missOf(const Calibration::Outcome& outcome) {
  return (1 - outcome.measured) / (1 - outcome.predicted) - 1;
}

std::string jsonOf(const Calibration::Outcome& outcome) {
  return fmt::format(R"({{"knob": "{}", "predicted": {:.4f}, "measured": {:.4f}}})", outcome.knob,
                     outcome.predicted, outcome.measured);
}

prof::Error wrong(const std::filesystem::path& path, std::string_view what) {
  return {fmt::format("{}: {}; `lacuna calibrate` writes such files (docs/calibration.md)",
                      path.string(), what)};
}

/// The object in a calibration file that this version reads.
prof::Result<JsonValue> rootOf(simdjson::dom::parser& parser, const std::filesystem::path& path) {
  JsonValue root;
  const auto error = parser.load(path.string()).get(root);
  if (error == simdjson::IO_ERROR)
    return prof::Error{fmt::format("{}: cannot be read; is there such a file?", path.string())};
  if (error != simdjson::SUCCESS)
    return wrong(path, fmt::format("is no JSON ({})", simdjson::error_message(error)));
  const auto schema = textOf(root, "schema");
  if (!schema || !schema->starts_with(kSchemaName)) return wrong(path, "is no calibration");
  if (*schema == kSchema) return root;
  return prof::Error{
      fmt::format("{}: is a calibration of a newer kind ({}) than this Lacuna reads ({})",
                  path.string(), oneLine(*schema), kSchema)};
}

/// All items of a list of the file; none where it has no such list.
template <class Item, class ItemOf>
prof::Status readList(const JsonValue& root, const std::filesystem::path& path, const char* list,
                      std::string_view word, const ItemOf& itemOf, std::vector<Item>& into) {
  const auto value = root[list];
  if (value.error() == simdjson::NO_SUCH_FIELD) return {};
  simdjson::dom::array items;
  if (value.get(items) != simdjson::SUCCESS)
    return wrong(path, fmt::format("its \"{}\" is no list", list));
  for (const JsonValue& json : items) {
    auto item = itemOf(json);
    if (!item)
      return wrong(path, fmt::format("{} {}: {}", word, into.size() + 1, item.error().message));
    into.push_back(*std::move(item));
  }
  return {};
}

/// The nearer of two ranges of durations, on a scale of ratios.
double distance(const Calibration::Row& row, std::int64_t durNs) {
  const auto ratio = [](std::int64_t a, std::int64_t b) {
    return std::log(static_cast<double>(std::max<std::int64_t>(a, 1)) /
                    static_cast<double>(std::max<std::int64_t>(b, 1)));
  };
  if (durNs < row.fromNs) return ratio(row.fromNs, durNs);
  return durNs >= row.toNs ? ratio(durNs, row.toNs) : 0;
}

}  // namespace

KernelKind kernelKindOf(std::string_view name) {
  if (isMatrixWork(name))
    return isConvolutionKernel(name) ? KernelKind::Convolution : KernelKind::Product;
  return isPointwiseWork(name) ? KernelKind::Pointwise : KernelKind::Other;
}

const Calibration& Calibration::builtIn() {
  // docs/calibration.md lists which of these were measured, and where.
  static const Calibration calibration = [] {
    Calibration made;
    for (const ChangeType* type : changeTypes()) {
      for (const CalibratedFactor& factor : type->factors) {
        if (!factor.builtIn) continue;
        made.rows_.push_back({.knob = std::string(type->info.name),
                              .kinds = {factor.kinds.begin(), factor.kinds.end()},
                              .factor = *factor.builtIn});
      }
    }
    return made;
  }();
  return calibration;
}

prof::Result<Calibration> Calibration::read(const std::filesystem::path& path) {
  simdjson::dom::parser parser;
  const auto root = rootOf(parser, path);
  if (!root) return root.error();
  Calibration calibration;
  if (auto status = readList(*root, path, "factors", "factor", rowOf, calibration.rows_); !status)
    return status.error();
  if (auto status = readList(*root, path, "outcomes", "outcome", outcomeOf, calibration.outcomes_);
      !status)
    return status.error();
  if (calibration.rows_.empty() && calibration.outcomes_.empty())
    return wrong(path, "has neither factors nor outcomes");
  calibration.source_ = sourceIn(*root, path);
  calibration.outcomesFrom_ = fmt::format(
      "the usual error, and outcomes that `lacuna tune` measured ({})", path.filename().string());
  return calibration;
}

KnownError Calibration::knownError(std::string_view knob, KnownError usual) const {
  double squares = usual.share * usual.share;
  double count = 1;
  for (const Outcome& outcome : outcomes_) {
    if (outcome.knob != knob) continue;
    squares += missOf(outcome) * missOf(outcome);
    ++count;
  }
  if (count == 1) return usual;
  return {std::sqrt(squares / count), outcomesFrom_};
}

prof::Result<std::string> Calibration::withOutcomes(const std::filesystem::path& path,
                                                    std::span<const Outcome> more) {
  std::vector<Outcome> outcomes;
  std::string text = fmt::format("{{\n  \"schema\": \"{}\"", kSchema);
  std::error_code none;
  simdjson::dom::parser parser;
  if (std::filesystem::exists(path, none)) {
    const auto root = rootOf(parser, path);
    if (!root) return root.error();
    if (auto status = readList(*root, path, "outcomes", "outcome", outcomeOf, outcomes); !status)
      return status.error();
    for (const auto& [key, value] : simdjson::dom::object(*root)) {
      if (key != "schema" && key != "outcomes")
        text += fmt::format(",\n  {}: {}", jsonText(key), simdjson::to_string(value));
    }
  }
  outcomes.insert(outcomes.end(), more.begin(), more.end());
  const std::size_t first = outcomes.size() - std::min(outcomes.size(), kMostOutcomes);
  text += ",\n  \"outcomes\": [";
  for (std::size_t i = first; i < outcomes.size(); ++i)
    text += fmt::format("{}\n    {}", i == first ? "" : ",", jsonOf(outcomes[i]));
  return text + "\n  ]\n}\n";
}

DurationFactor Calibration::factor(std::string_view knob, KernelKind kind,
                                   std::int64_t durNs) const {
  const Row* best = nullptr;
  const auto isBetter = [&](const Row& row) {
    if (best == nullptr || row.kinds.size() != best->kinds.size())
      return best == nullptr || row.kinds.size() < best->kinds.size();
    return distance(row, durNs) < distance(*best, durNs);
  };
  for (const Row& row : rows_) {
    const bool fits = row.knob == knob && std::ranges::find(row.kinds, kind) != row.kinds.end();
    if (fits && isBetter(row)) best = &row;
  }
  if (best != nullptr) return best->factor;
  return this == &builtIn() ? DurationFactor() : builtIn().factor(knob, kind, durNs);
}

std::vector<std::string_view> Calibration::knobs() {
  std::vector<std::string_view> names;
  for (const ChangeType* type : changeTypes()) {
    if (!type->factors.empty()) names.push_back(type->info.name);
  }
  std::ranges::sort(names);
  return names;
}

bool Calibration::isFor(std::string_view knob) {
  return !factorsOf(knob).empty();
}

bool Calibration::hasRow(std::string_view knob, KernelKind kind) const {
  return std::ranges::any_of(rows_, [&](const Row& row) {
    return row.knob == knob && std::ranges::find(row.kinds, kind) != row.kinds.end();
  });
}

std::string Calibration::sourceOf(std::string_view knob) const {
  std::size_t fromFile = 0, all = 0;
  for (const Row& row : builtIn().rows_) {
    if (row.knob != knob) continue;
    for (const KernelKind kind : row.kinds) fromFile += hasRow(knob, kind) ? 1 : 0;
    all += row.kinds.size();
  }
  if (!source_.empty() && fromFile == all) return source_;
  const ChangeType* type = findChangeType(knob);
  const std::string here =
      fmt::format("built in: {}", type == nullptr ? std::string_view() : type->factorsFrom);
  return source_.empty() || fromFile == 0
             ? here
             : fmt::format("{}; of other kinds of kernels {}", source_, here);
}

prof::Result<std::shared_ptr<const Calibration>> calibrationOfEnvironment() {
  const char* path = std::getenv("LACUNA_CALIBRATION");
  if (path == nullptr || *path == '\0') return std::shared_ptr<const Calibration>();
  auto read = Calibration::read(path);
  if (!read) return prof::Error{"LACUNA_CALIBRATION: " + read.error().message};
  return std::make_shared<const Calibration>(*std::move(read));
}

}  // namespace lacuna::analyzer
