// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "mcp/tools.h"

#include <fmt/format.h>

#include <algorithm>

#include "lacuna/analyzer/report.h"
#include "lacuna/analyzer/text.h"
#include "lacuna/analyzer/whatif.h"
#include "mcp/schema_text.h"

namespace lacuna::cli::mcp {
namespace {

using Words = std::vector<std::string>;
using std::chrono::milliseconds;

constexpr std::int64_t kUsualRows = 100;
constexpr std::int64_t kMostRows = 10'000;
constexpr std::int64_t kUsualPlaces = 20;
/// A query that outlives its server ends by itself so much after the limit of the call.
constexpr milliseconds kBeyondLimit{5000};

constexpr std::string_view kFindingsSql =
    "SELECT title, kind, severity, id, round(cost_ns_per_step / 1e6, 4) AS cost_ms_per_step, "
    "advice AS fix, nullif(knob, '') AS change, gain_basis, iif(gain_basis IN ('bytes', 'none'), "
    "NULL, round(predicted_gain_ns_per_step / 1e6, 4)) AS gain_ms_per_step, iif(gain_basis IN "
    "('bytes', 'none'), NULL, round(gain_low_ns_per_step / 1e6, 4)) AS gain_low_ms_per_step, "
    "iif(gain_basis IN ('bytes', 'none'), NULL, round(gain_high_ns_per_step / 1e6, 4)) AS "
    "gain_high_ms_per_step, iif(gain_basis = 'bytes', predicted_gain_bytes, NULL) AS gain_bytes, "
    "nullif(not_predicted, '') AS not_predicted, round(confidence, 2) AS confidence FROM "
    "report_findings";

std::string textOf(const Arguments& arguments, std::string_view name) {
  const auto found = arguments.find(name);
  return found == arguments.end() ? std::string() : std::get<std::string>(found->second);
}

Words textsOf(const Arguments& arguments, std::string_view name) {
  const auto found = arguments.find(name);
  if (found == arguments.end()) return {};
  if (const auto* one = std::get_if<std::string>(&found->second)) return {*one};
  return std::get<Words>(found->second);
}

std::string numberOf(const Arguments& arguments, std::string_view name, std::int64_t usual) {
  const auto found = arguments.find(name);
  return std::to_string(found == arguments.end() ? usual : std::get<std::int64_t>(found->second));
}

/// The name of a file as a word that is no option.
std::string fileOf(const Arguments& arguments, std::string_view name = "file") {
  const std::string file = textOf(arguments, name);
  return file.starts_with('-') ? "./" + file : file;
}

Words reportWords(const Arguments& arguments, milliseconds /*limit*/) {
  Words words{"report", "--width", "100"};
  const Words sections = textsOf(arguments, "sections");
  if (!sections.empty())
    words.insert(words.end(), {"--section", fmt::format("{}", fmt::join(sections, ","))});
  words.insert(words.end(), {"--", fileOf(arguments)});
  return words;
}

std::string queryLimit(milliseconds limit) {
  return limit.count() == 0
             ? "0"
             : fmt::format("{:.3f}", static_cast<double>((limit + kBeyondLimit).count()) / 1e3);
}

Words findingsWords(const Arguments& arguments, milliseconds limit) {
  return {"query", "--json",          "--time-limit",           queryLimit(limit),
          "--",    fileOf(arguments), std::string(kFindingsSql)};
}

Words whatifWords(const Arguments& arguments, milliseconds /*limit*/) {
  Words words{"whatif", "--", fileOf(arguments)};
  for (std::string& change : textsOf(arguments, "changes")) words.push_back(std::move(change));
  return words;
}

Words diffWords(const Arguments& arguments, milliseconds /*limit*/) {
  return {"diff",
          "--rows",
          numberOf(arguments, "rows", kUsualPlaces),
          "--",
          fileOf(arguments, "before"),
          fileOf(arguments, "after")};
}

Words queryWords(const Arguments& arguments, milliseconds limit) {
  return {"query",
          "--csv",
          "--rows",
          numberOf(arguments, "rows", kUsualRows),
          "--time-limit",
          queryLimit(limit),
          "--",
          fileOf(arguments),
          textOf(arguments, "sql")};
}

prof::Result<std::string> schemaText(const Arguments& arguments) {
  const std::string table = textOf(arguments, "table");
  return table.empty() ? prof::Result<std::string>(tableListText()) : tableText(table);
}

Parameter traceParameter(std::string_view name, std::string_view which) {
  return {
      .name = name,
      .isRequired = true,
      .about = fmt::format(
          "path of {}: an .lcn file of lacuna run, Kineto or Chrome JSON of the PyTorch profiler, "
          "nsys SQLite, a Perfetto trace or a memory snapshot; .gz and .zst are unpacked",
          which)};
}

std::string changeForms() {
  std::vector<std::string_view> forms;
  for (const analyzer::ChangeInfo* info : analyzer::listChanges()) {
    if (!info->form.empty()) forms.push_back(info->form);
  }
  return fmt::format("{}", fmt::join(forms, ", "));
}

Tool reportTool() {
  const auto sections = analyzer::reportSections();
  return {
      .name = "report",
      .title = "Report on a training run",
      .about =
          "Shows where the time and memory of a recorded training run go, as text: a verdict, the "
          "account of the device's time (computing, waiting for the loader, launch-bound, …), "
          "findings, steps, kernels, loader, memory, communication. Without sections it is an "
          "overview and the best first call on a trace; with sections it shows those in full.",
      .parameters = {traceParameter("file", "the trace"),
                     {.name = "sections",
                      .kind = Parameter::Kind::Texts,
                      .about = "only these sections, in full; leave it out for the overview",
                      .values = {sections.begin(), sections.end()}}},
      .askForLess = "name the sections that you need, or read the rows with `query`",
      .words = reportWords};
}

Tool findingsTool() {
  return {.name = "findings",
          .title = "Findings and fixes",
          .about =
              "Lists the faults and missed opportunities of a run, costliest first, as JSON: "
              "title, kind (fault or opportunity), cost, fix, predicted gain with its interval (19 "
              "of 20 runs), and confidence. `change` is what `whatif` takes to replay the fix. "
              "gain_basis upper_bound: no change gains more. An empty list: nothing stands out, or "
              "the trace has too little to judge; `report` shows which.",
          .parameters = {traceParameter("file", "the trace")},
          .askForLess = "read report_findings with `query`",
          .words = findingsWords};
}

Tool whatifTool() {
  return {.name = "whatif",
          .title = "Predict a change",
          .about =
              "Predicts the step time with changes by replaying the recorded run, before any code "
              "is edited. Several changes are played together. Prints the measured step, the "
              "unchanged replay, the prediction and its interval.",
          .parameters = {traceParameter("file", "the trace"),
                         {.name = "changes",
                          .kind = Parameter::Kind::Texts,
                          .isRequired = true,
                          .about = "such as [\"loader.workers=8\"] or [\"amp=on\", "
                                   "\"kernel:gelu*0.5\"] (half the time). All forms: " +
                                   changeForms()}},
          .askForLess = "play fewer changes",
          .words = whatifWords};
}

Tool diffTool() {
  return {.name = "diff",
          .title = "Compare two runs",
          .about =
              "Compares two runs of a program, before and after a change: whether a step became "
              "faster beyond the noise, and which places of the operator tree are slower, faster, "
              "new or gone.",
          .parameters = {traceParameter("before", "the first trace"),
                         traceParameter("after", "the second trace"),
                         {.name = "rows",
                          .kind = Parameter::Kind::Number,
                          .about = fmt::format("places to list; {} unless given", kUsualPlaces),
                          .least = 0,
                          .most = kMostRows}},
          .askForLess = "lower `rows`",
          .words = diffWords};
}

Tool queryTool() {
  return {
      .name = "query",
      .title = "Ask a trace in SQL",
      .about =
          "Runs one SQLite SELECT over a trace and returns CSV. Call `schema` first: it lists the "
          "tables and their columns. Main tables: range (host work: operators, steps, loader), "
          "api_call, kernel, memcpy, allocation, cpu_sample, thread, queue; results of the "
          "analysis are in report_findings, report_kernels, report_steps and others. Times are "
          "nanoseconds. Aggregate in SQL rather than reading many rows: SELECT name, count(*) AS "
          "n, sum(durNs)/1e6 AS ms FROM kernel GROUP BY name ORDER BY ms DESC LIMIT 10.",
      .parameters = {traceParameter("file", "the trace"),
                     {.name = "sql",
                      .isRequired = true,
                      .about = "one statement that reads: SELECT or WITH"},
                     {.name = "rows",
                      .kind = Parameter::Kind::Number,
                      .about = fmt::format("rows to return at most; {} unless given", kUsualRows),
                      .least = 1,
                      .most = kMostRows}},
      .askForLess = "select fewer columns or rows, or aggregate",
      .words = queryWords};
}

Tool schemaTool() {
  return {
      .name = "schema",
      .title = "Tables and columns",
      .about =
          "Lists the tables that `query` reads with their columns; with a table, the type and the "
          "meaning of each of its columns. Needs no trace.",
      .parameters = {{.name = "table",
                      .about = "a table such as kernel or report_findings; leave it out for all"}},
      .askForLess = "name a table",
      .text = schemaText};
}

std::string schemaOf(const Parameter& parameter) {
  std::string values;
  for (const std::string& value : parameter.values)
    values += (values.empty() ? "" : ", ") + analyzer::jsonText(value);
  if (!values.empty()) values = fmt::format(R"(, "enum": [{}])", values);
  const std::string about = analyzer::jsonText(parameter.about);
  switch (parameter.kind) {
    case Parameter::Kind::Text:
      return fmt::format(R"({{"type": "string", "description": {}{}}})", about, values);
    case Parameter::Kind::Texts:
      return fmt::format(
          R"({{"type": "array", "description": {}, "items": {{"type": "string"{}}}{}}})", about,
          values, parameter.isRequired ? R"(, "minItems": 1)" : "");
    case Parameter::Kind::Number:
      return fmt::format(
          R"({{"type": "integer", "description": {}, "minimum": {}, "maximum": {}}})", about,
          parameter.least, parameter.most);
  }
  return "{}";
}

std::string json(const Tool& tool) {
  std::string properties, required;
  for (const Parameter& parameter : tool.parameters) {
    properties += fmt::format(R"({}"{}": {})", properties.empty() ? "" : ", ", parameter.name,
                              schemaOf(parameter));
    if (parameter.isRequired)
      required += fmt::format(R"({}"{}")", required.empty() ? "" : ", ", parameter.name);
  }
  return fmt::format(
      R"({{"name": "{}", "title": "{}", "description": {}, "inputSchema": {{"type": "object", "properties": {{{}}}, )"
      R"("required": [{}], "additionalProperties": false}}, "annotations": {{"title": "{}", "readOnlyHint": true, )"
      R"("destructiveHint": false, "idempotentHint": true, "openWorldHint": false}}}})",
      tool.name, tool.title, analyzer::jsonText(tool.about), properties, required, tool.title);
}

/// Texts that a word of a command line can hold.
std::string faultOf(std::string_view text) {
  if (text.empty()) return "is empty";
  return text.find('\0') != std::string_view::npos ? "holds a NUL character" : "";
}

std::string faultOf(const Parameter& parameter, const std::vector<std::string>& texts) {
  if (parameter.isRequired && texts.empty()) return "is an empty list";
  for (const std::string& text : texts) {
    if (const std::string fault = faultOf(text); !fault.empty())
      return "has an element that " + fault;
    if (!parameter.values.empty() &&
        std::ranges::find(parameter.values, text) == parameter.values.end())
      return fmt::format("does not know '{}'; there are: {}", text,
                         fmt::join(parameter.values, ", "));
  }
  return {};
}

/// The fault of an argument, in words that follow its name; empty: none.
std::string faultOf(const Parameter& parameter, const Argument& given) {
  const auto* text = std::get_if<std::string>(&given);
  const auto* texts = std::get_if<std::vector<std::string>>(&given);
  const auto* number = std::get_if<std::int64_t>(&given);
  switch (parameter.kind) {
    case Parameter::Kind::Text:
      return text == nullptr ? "is not a text" : faultOf(*text);
    case Parameter::Kind::Texts:
      // One text stands for a list of one: callers often leave the brackets out.
      if (text != nullptr) return faultOf(parameter, std::vector{*text});
      return texts == nullptr ? "is not a list of texts" : faultOf(parameter, *texts);
    case Parameter::Kind::Number:
      if (number == nullptr) return "is not an integer";
      return *number < parameter.least || *number > parameter.most
                 ? fmt::format("is {}; it takes {} to {}", *number, parameter.least, parameter.most)
                 : "";
  }
  return {};
}

}  // namespace

std::span<const Tool> allTools() {
  static const std::vector<Tool> kTools{reportTool(), findingsTool(), whatifTool(),
                                        diffTool(),   queryTool(),    schemaTool()};
  return kTools;
}

const Tool* findTool(std::string_view name) {
  const auto found = std::ranges::find(allTools(), name, &Tool::name);
  return found == allTools().end() ? nullptr : &*found;
}

std::string toolList() {
  std::string list;
  for (const Tool& tool : allTools()) list += (list.empty() ? "" : ", ") + json(tool);
  return fmt::format(R"("tools": [{}])", list);
}

prof::Status checkArguments(const Tool& tool, const Arguments& arguments) {
  std::vector<std::string_view> names;
  for (const Parameter& parameter : tool.parameters) {
    names.push_back(parameter.name);
    const auto given = arguments.find(parameter.name);
    if (given == arguments.end()) {
      if (!parameter.isRequired) continue;
      return prof::Error{fmt::format("{}: the argument `{}` is missing: {}", tool.name,
                                     parameter.name, parameter.about)};
    }
    if (const std::string fault = faultOf(parameter, given->second); !fault.empty())
      return prof::Error{fmt::format("{}: the argument `{}` {}", tool.name, parameter.name, fault)};
  }
  for (const auto& [name, value] : arguments) {
    if (std::ranges::find(names, name) == names.end())
      return prof::Error{fmt::format("{}: there is no argument `{}`; there are: {}", tool.name,
                                     name, fmt::join(names, ", "))};
  }
  return {};
}

}  // namespace lacuna::cli::mcp
