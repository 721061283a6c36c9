// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "lacuna/analyzer/query.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/command.h"
#include "base/output.h"
#include "base/safe_output.h"
#include "commands.h"
#include "lacuna/analyzer/report.h"
#include "lacuna/analyzer/text.h"
#include "lacuna/analyzer/text_table.h"
#include "query_guard.h"

namespace lacuna::cli {
namespace {

using analyzer::QueryValue;

constexpr double kGib = 1ULL << 30;

struct QueryOptions {
  std::string file, sql;
  std::uint64_t rows = 0;  ///< 0: all
  double timeLimit = 300;
  double tempLimit = static_cast<double>(analyzer::kMostTemporaryBytes) / kGib;
  bool csv = false;
  bool json = false;
  bool schema = false;
};

/// Prints rows as they come, or, for people, keeps a screenful to align the columns.
class Printer {
 public:
  explicit Printer(const QueryOptions& options) : options_(options) {}

  void columns(const std::vector<std::string>& names) {
    names_ = options_.json ? analyzer::distinctNames(names) : names;
    if (options_.csv)
      line(names,
           [](std::string& out, const std::string& name) { analyzer::appendCsvText(out, name); });
    if (options_.json) fmt::print("[");
    if (options_.csv || options_.json) return;
    auto& heads = lines_.emplace_back();
    for (const std::string& name : names) heads.push_back(analyzer::oneLine(name));
  }
  bool row(const std::vector<QueryValue>& values) {
    ++rows_;
    if (options_.json) {
      std::string out = rows_ == 1 ? "\n{" : ",\n{";
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (i > 0) out += ", ";
        out += jsonString(names_[i]) + ": ";
        out += values[i].kind == QueryValue::Kind::Null     ? "null"
               : values[i].kind == QueryValue::Kind::Number ? std::string(values[i].text)
                                                            : jsonString(values[i].text);
      }
      fmt::print("{}}}", out);
    } else if (options_.csv) {
      line(values, [](std::string& out, const QueryValue& value) {
        value.kind == QueryValue::Kind::Text ? analyzer::appendCsvText(out, value.text)
                                             : analyzer::appendCsvNumber(out, value.text);
      });
    } else {
      std::vector<std::string> texts;
      for (const QueryValue& value : values) {
        texts.push_back(
            analyzer::oneLine(value.text.size() > kWidest
                                  ? std::string(analyzer::headOf(value.text, kWidest - 3)) + "..."
                                  : std::string(value.text)));
        numeric_.resize(values.size(), true);
        if (value.kind == QueryValue::Kind::Text) numeric_[texts.size() - 1] = false;
      }
      lines_.push_back(std::move(texts));
      if (lines_.size() > kLines) align();
    }
    return true;
  }
  [[nodiscard]] std::uint64_t rows() const { return rows_; }
  void finish() {
    if (options_.json) fmt::print("\n]\n");
    if (!options_.json && !options_.csv) align();
  }

 private:
  static constexpr std::size_t kWidest = 80;
  static constexpr std::size_t kLines = 1000;

  template <class Cell, class Append>
  static void line(const std::vector<Cell>& cells, Append append) {
    std::string out;
    for (const Cell& cell : cells) {
      if (&cell != cells.data()) out += ',';
      append(out, cell);
    }
    fmt::print("{}\n", out);
  }

  /// In columns, or each row by itself where a terminal is too narrow for that.
  void align() {
    std::vector<int> widths(names_.size());
    numeric_.resize(names_.size(), false);
    for (const auto& texts : lines_) {
      for (std::size_t i = 0; i < texts.size(); ++i)
        widths[i] = std::max(widths[i], analyzer::columns(texts[i]));
    }
    const int gaps = 2 * static_cast<int>(std::max<std::size_t>(1, widths.size()) - 1);
    // The first lines decide for all.
    if (!isAligned_)
      isAligned_ = std::accumulate(widths.begin(), widths.end(), gaps) <= listWidth();
    for (const auto& texts : lines_) *isAligned_ ? printAligned(texts, widths) : printAlone(texts);
    lines_.clear();
  }

  void printAligned(const std::vector<std::string>& texts, const std::vector<int>& widths) const {
    std::string out;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const std::string blanks(static_cast<std::size_t>(widths[i] - analyzer::columns(texts[i])),
                               ' ');
      out += (i > 0 ? "  " : "") + (numeric_[i] ? blanks + texts[i] : texts[i] + blanks);
    }
    fmt::print("{}\n", out.substr(0, out.find_last_not_of(' ') + 1));
  }

  /// The row of the names has gone before; it stands beside the values of each row instead.
  void printAlone(const std::vector<std::string>& texts) {
    if (printedAlone_++ == 0) {
      heads_ = texts;
      return;
    }
    int column = 0;
    for (const std::string& head : heads_) column = std::max(column, analyzer::columns(head));
    column = std::min(column, listWidth() / 2) + 2;
    if (printedAlone_ > 2) fmt::print("\n");
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const auto blanks =
          static_cast<std::size_t>(std::max(2, column - analyzer::columns(heads_[i])));
      fmt::print("{}{}{}\n", heads_[i], std::string(blanks, ' '), fitted(texts[i], column));
    }
  }

  const QueryOptions& options_;
  std::vector<std::string> names_;
  std::vector<std::vector<std::string>> lines_;
  std::vector<std::string> heads_;
  std::size_t printedAlone_ = 0;
  std::optional<bool> isAligned_;
  std::vector<bool> numeric_;
  std::uint64_t rows_ = 0;
};

/// The longest limit that can be set; a year.
constexpr double kMostSeconds = 365.0 * 24 * 3600;
/// No disk is larger.
constexpr double kMostGib = 1e9;

/// Runs the statement and prints its rows; answers the exit code.
int ask(analyzer::Query& query, const QueryOptions& options) {
  const QueryGuard guard(
      query, std::chrono::milliseconds(static_cast<std::int64_t>(options.timeLimit * 1000)));
  Printer printer(options);
  bool hasMore = false;
  const auto status = query.run(
      options.sql, [&](const auto& names) { printer.columns(names); },
      [&](const auto& row) {
        hasMore = options.rows > 0 && printer.rows() == options.rows;
        return !hasMore && printer.row(row);
      });
  if (status) {
    printer.finish();
    if (hasMore) {
      printWarning(
          fmt::format("there are more rows than the first {}; --rows N prints more, and LIMIT or "
                      "an aggregate asks for fewer",
                      options.rows));
    }
    return kOk;
  }
  using Stop = analyzer::Query::Stop;
  const Stop stopped = query.stopped();
  (void)printError(status.error().message +
                   (stopped == Stop::TimeLimit
                        ? "; raise it with --time-limit SECONDS (0 is none), or read fewer rows"
                    : stopped == Stop::TemporaryLimit
                        ? "; or raise it with --temp-limit GIB (0 is none)"
                        : ""));
  if (stopped == Stop::Interrupted) QueryGuard::endAsInterrupted();
  return kError;
}

int run(const QueryOptions& options) {
  if (options.schema) {
    fmt::print("{}", analyzer::schemaPage(analyzer::reportTables({})));
    return kOk;
  }
  if (options.file.empty() || options.sql.empty()) {
    return printMisuse("name a trace and a statement: lacuna query FILE \"SELECT …\", or --schema");
  }
  if (!(options.timeLimit >= 0 && options.timeLimit <= kMostSeconds))
    return printMisuse("--time-limit: expected seconds from 0 (no limit) to 31536000");
  if (!(options.tempLimit >= 0 && options.tempLimit <= kMostGib))
    return printMisuse("--temp-limit: expected GiB from 0 (no limit) to 1000000000");
  auto store = analyzer::Store::open(options.file);
  if (!store) return printError(store.error().message);
  printWarnings(**store);
  if (options.csv) sendOutputAsData();
  analyzer::Query query(*store);
  query.add(analyzer::reportTablesOf(*store));
  // A limit of less than a byte is no wish for none.
  query.setTemporaryLimit(static_cast<std::uint64_t>(std::ceil(options.tempLimit * kGib)));
  return ask(query, options);
}

}  // namespace

void addQuery(CLI::App& app, int& exitCode) {
  auto options = std::make_shared<QueryOptions>();
  Command command(app, "query", "Ask a trace of any kind in SQL");
  command.option("FILE", options->file,
                 "a trace of any kind, recognised by its content (also gz, zstd)");
  command.option("SQL", options->sql,
                 "one statement; docs/query.md has examples, docs/schema.md the tables");
  const Option csv = command.flag("--csv", options->csv, "print comma-separated values");
  command.flag("--json", options->json, "print JSON").excludes(csv);
  command.option("--rows", options->rows, "print at most so many rows; 0 is all")
      .showDefault()
      .notNegative();
  command.option("--time-limit", options->timeLimit, "end a query that takes longer; 0 is no limit")
      .typeName("SECONDS")
      .notNegative()
      .showDefault();
  command
      .option("--temp-limit", options->tempLimit,
              "end a query whose temporary files outgrow this; 0 is no limit")
      .typeName("GIB")
      .notNegative()
      .showDefault();
  command.flag("--schema", options->schema,
               "print the tables and columns (docs/schema.md); needs no trace");
  command.opensTraces();
  command.example(
      "lacuna query run.lcn \"SELECT name, sum(durNs)/1e6 AS ms FROM kernel GROUP BY 1 ORDER BY 2 "
      "DESC\"");
  command.does([options, &exitCode] { exitCode = run(*options); });
}

}  // namespace lacuna::cli
