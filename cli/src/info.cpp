// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <optional>
#include <string_view>

#include "base/command.h"
#include "base/output.h"
#include "base/report_text.h"
#include "commands.h"
#include "lacuna/analyzer/text.h"
#include "lacuna/analyzer/text_table.h"
#include "lacuna/prof/amounts.h"
#include "trace_summary.h"

namespace lacuna::cli {
namespace {

struct InfoOptions {
  std::string file;
  bool json = false;
  bool verify = false;
  bool encodings = false;
};

double perRow(std::uint64_t bytes, std::uint64_t rows) {
  return rows == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(rows);
}

void printColumns(const TableSummary& table) {
  using Kind = analyzer::TextColumn::Kind;
  analyzer::TextTable text({{"column", Kind::Name},
                            {"raw", Kind::Figure, 1},
                            {"stored"},
                            {"bytes/row"},
                            {"stored as", Kind::Prose}});
  for (const ColumnSummary& column : table.columns) {
    const std::uint64_t stored = column.storedBytes.value_or(0);
    text.add({analyzer::oneLine(column.name), prof::bytesText(column.rawBytes),
              prof::bytesText(stored), fmt::format("{:.3f}", perRow(stored, table.rows)),
              column.mainEncoding()});
  }
  printTextTable(text);
}

void printTable(const TableSummary& table, bool withEncodings) {
  const Style& s = style();
  const std::string name =
      analyzer::oneLine(table.name);  // a file may have tables that we do not know
  const std::string over =
      table.isTimed()
          ? fmt::format(", over {}", prof::timeText(table.span.endNs - table.span.startNs))
          : "";
  const std::string stored = table.storedBytes ? fmt::format(", {}, {:.2f} bytes a row",
                                                             prof::bytesText(*table.storedBytes),
                                                             perRow(*table.storedBytes, table.rows))
                                               : "";
  const std::string facts = fmt::format("{} rows{}{}", prof::countText(table.rows), stored, over);
  fmt::print("{}{}{:<14}{}  {}\n", withEncodings ? "\n" : "", s.bold, name, s.reset,
             fitted(facts, 16));
  if (withEncodings && table.storedBytes) printColumns(table);
}

/// The lines about the run, as far as the trace knows them.
void printRun(const RunDescription& run) {
  const auto line = [](std::string_view title, const std::string& text) {
    if (!text.empty()) fmt::print("{:<9}{}\n", title, fitted(analyzer::oneLine(text), 9));
  };
  line("program",
       run.program + (run.processes > 1 ? fmt::format(" ({} processes)", run.processes) : ""));
  line("date", run.date);
  line("host", run.host);
  line("devices", fmt::format("{}", fmt::join(run.devices, ", ")));
  if (!run.steps) {
    line("steps", "not counted: there are very many ranges; lacuna report counts them");
  } else {
    line("steps", *run.steps == 0 ? "none found" : prof::countText(*run.steps));
  }
}

void printProblems(const TraceSummary& trace) {
  const Style& s = style();
  if (trace.droppedEvents == 0) {
    fmt::print("drops    none recorded\n");
  } else {
    fmt::print("drops    {}{} events were not recorded{}\n", s.yellow,
               prof::countText(trace.droppedEvents), s.reset);
  }
  for (const auto& [reason, count] : trace.dropReasons)
    fmt::print("         {}\n",
               fitted(fmt::format("{}: {}", prof::countText(count), analyzer::oneLine(reason)), 9));
  if (trace.damage.empty() && trace.warnings.empty())
    fmt::print("damage   {}none{}\n", s.green, s.reset);
  for (const prof::Damage& damage : trace.damage) {
    const std::string text =
        fmt::format("at byte {}, {} bytes: {}", prof::countText(damage.offset),
                    prof::countText(damage.bytes), analyzer::oneLine(damage.what));
    fmt::print("damage   {}{}{}\n", s.red, fitted(text, 9), s.reset);
  }
  for (const std::string& warning : trace.warnings)
    fmt::print("warning  {}{}{}\n", s.yellow, fitted(analyzer::oneLine(warning), 9), s.reset);
}

void printText(const TraceSummary& trace, bool withEncodings) {
  const Style& s = style();
  std::string kind(trace.source);
  if (trace.formatVersion) {
    const std::string_view end = trace.complete.value_or(true) ? "complete" : "without its end";
    kind = fmt::format("format {}, {}", *trace.formatVersion, end);
  }
  const std::string head =
      fmt::format("{}  {}, {}", analyzer::oneLine(trace.file), prof::bytesText(trace.bytes), kind);
  fmt::print("{}{}{}\n", s.bold, fitted(head, 0), s.reset);
  printRun(trace.run);
  fmt::print("rows     {} in {} tables, {:.2f} bytes a row\n", prof::countText(trace.rows()),
             trace.tables.size(), perRow(trace.bytes - trace.derivedBytes, trace.rows()));
  if (trace.derivedBytes > 0) {
    fmt::print("derived  {}\n",
               fitted(fmt::format("{} beside them, for the timeline to open at once",
                                  prof::bytesText(trace.derivedBytes)),
                      9));
  }
  fmt::print("span     {}\n", prof::timeText(trace.span.endNs - trace.span.startNs));
  fmt::print("strings  {}\n", prof::countText(trace.strings));
  printProblems(trace);
  if (!withEncodings) fmt::print("\n");
  for (const TableSummary& table : trace.tables) printTable(table, withEncodings);
}

/// The value, or null.
template <class T>
std::string orNull(const std::optional<T>& value) {
  return value ? fmt::format("{}", *value) : "null";
}

std::string textOrNull(const std::string& text) {
  return text.empty() ? "null" : jsonString(text);
}

std::string columnJson(const ColumnSummary& column, std::uint64_t rows) {
  const bool isStored = column.storedBytes.has_value();
  return fmt::format(
      R"({{"name": {}, "raw_bytes": {}, "stored_bytes": {}, "bytes_per_row": {}, "encoding": {}}})",
      jsonString(column.name), column.rawBytes, orNull(column.storedBytes),
      isStored ? fmt::format("{:.4f}", perRow(*column.storedBytes, rows)) : "null",
      isStored ? jsonString(column.mainEncoding()) : "null");
}

std::string tableJson(const TableSummary& table) {
  std::string columns;
  for (const ColumnSummary& column : table.columns) {
    columns += (columns.empty() ? "" : ", ") + columnJson(column, table.rows);
  }
  return fmt::format(
      R"({{"name": {}, "id": {}, "rows": {}, "blocks": {}, "stored_bytes": {}, "start_ns": {}, "end_ns": {}, "columns": [{}]}})",
      jsonString(table.name), table.id, table.rows, orNull(table.blocks), orNull(table.storedBytes),
      table.isTimed() ? fmt::format("{}", table.span.startNs) : "null",
      table.isTimed() ? fmt::format("{}", table.span.endNs) : "null", columns);
}

void printJson(const TraceSummary& trace) {
  std::string tables, reasons;
  for (const TableSummary& table : trace.tables)
    tables += (tables.empty() ? "\n    " : ",\n    ") + tableJson(table);
  for (const auto& [reason, count] : trace.dropReasons) {
    reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : ", ", jsonString(reason), count);
  }
  fmt::print(
      "{{\n  \"file\": {},\n  \"source\": {},\n  \"program\": {},\n  \"processes\": {},\n  "
      "\"date\": {},\n"
      "  \"host\": {},\n  \"devices\": {},\n  \"steps\": {},\n  \"bytes\": {},\n  "
      "\"derived_bytes\": {},\n  \"format_version\": {},\n"
      "  \"complete\": {},\n  \"rows\": {},\n  \"strings\": {},\n  \"start_ns\": {},\n  "
      "\"end_ns\": {},\n"
      "  \"dropped_events\": {},\n  \"drop_reasons\": {{{}}},\n  \"damage\": {},\n  \"warnings\": "
      "{},\n"
      "  \"tables\": [{}\n  ]\n}}\n",
      jsonString(trace.file), jsonString(trace.source), textOrNull(trace.run.program),
      trace.run.processes, textOrNull(trace.run.date), textOrNull(trace.run.host),
      jsonList(trace.run.devices, jsonString), orNull(trace.run.steps), trace.bytes,
      trace.derivedBytes, trace.formatVersion ? jsonString(*trace.formatVersion) : "null",
      orNull(trace.complete), trace.rows(), trace.strings, trace.span.startNs, trace.span.endNs,
      trace.droppedEvents, reasons, damageJson(trace.damage), jsonList(trace.warnings, jsonString),
      tables);
}

int run(const InfoOptions& options) {
  const auto trace = summarise(options.file, options.verify);
  if (!trace.ok()) return printError(trace.error().message);
  options.json ? printJson(*trace) : printText(*trace, options.encodings);
  return options.verify && !(trace->damage.empty() && trace->warnings.empty()) ? kError : kOk;
}

}  // namespace

void addInfo(CLI::App& app, int& exitCode) {
  auto options = std::make_shared<InfoOptions>();
  Command command(app, "info",
                  "Describe a trace file: program, host, devices, steps, tables, drops, damage");
  command
      .option("FILE", options->file,
              "a trace of any kind, recognised by its content; an .lcn also when it is damaged or "
              "still being written")
      .required();
  const Option json = command.flag("--json", options->json, "as JSON (docs/trace-files.md)");
  command
      .flag("--encodings", options->encodings,
            "also each column of an .lcn: its size and how it is stored")
      .excludes(json);
  command.flag("--verify", options->verify,
               "test every checksum, also of .lcn files over 64 MiB, and exit with 1 when "
               "something is missing");
  command.opensTraces();
  command.example("lacuna info run.lcn");
  command.does([options, &exitCode] { exitCode = run(*options); });
}

}  // namespace lacuna::cli
