// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "rows/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "lacuna/analyzer/query.h"
#include "lacuna/analyzer/report.h"
#include "lacuna/analyzer/store.h"

namespace lacuna::cli {
namespace {

/// The name that Arrow's protocol for Python demands.
constexpr const char* kCapsuleName = "arrow_array_stream";

char* copyOf(const std::string& text) {
  return ::strdup(text.c_str());
}

std::optional<std::size_t> storeTable(std::string_view name) {
  const auto tables = prof::allTables();
  const auto found = std::find_if(tables.begin(), tables.end(),
                                  [&](const auto& table) { return table.name == name; });
  if (found == tables.end()) return std::nullopt;
  return static_cast<std::size_t>(found - tables.begin());
}

/// One word is no statement, so it names a table.
std::string statementOf(std::string_view what) {
  constexpr std::string_view kOfNames =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
  const bool isName = !what.empty() && what.find_first_not_of(kOfNames) == std::string_view::npos;
  return isName ? fmt::format("SELECT * FROM \"{}\"", what) : std::string(what);
}

prof::Status open(const char* path, std::string_view what, ArrowArrayStream& out) {
  auto store = analyzer::Store::open(path);
  if (!store) return store.status();
  if (const auto table = storeTable(what)) return analyzer::exportTable(*store, *table, out);
  auto query = std::make_unique<analyzer::Query>(*store);
  query->add(analyzer::reportTablesOf(*store));
  return analyzer::exportStatement(std::move(query), statementOf(what), out);
}

/// Python calls the end of a capsule with the capsule alone.
std::atomic<void* (*)(void*, const char*)> capsulePointer = nullptr;

void endCapsule(void* capsule) {
  lacunaRowsFree(static_cast<ArrowArrayStream*>(capsulePointer.load()(capsule, kCapsuleName)));
}

std::string_view arrowName(std::string_view storage) {
  return storage == "TEXT" ? "utf8" : storage == "REAL" ? "float64" : "int64";
}

std::optional<std::string> tableLines() {
  auto store = analyzer::StoreBuilder().build();
  analyzer::Query query(store);
  query.add(analyzer::reportTablesOf(store));
  std::string lines;
  for (const std::string& table : query.tableNames()) {
    lines += table;
    const auto status = query.run(
        fmt::format("SELECT name, type FROM pragma_table_info('{}')", table), [](const auto&) {},
        [&](const auto& row) {
          lines += fmt::format("\t{} {}", row[0].text, arrowName(row[1].text));
          return true;
        });
    if (!status) return std::nullopt;
    lines += '\n';
  }
  return lines;
}

}  // namespace
}  // namespace lacuna::cli

const char* lacunaRowsVersion() {
  return LACUNA_VERSION;
}

ArrowArrayStream* lacunaRowsOpen(const char* path, const char* what, char** error) {
  *error = nullptr;
  try {
    auto stream = std::make_unique<ArrowArrayStream>();
    const auto opened = lacuna::cli::open(path, what, *stream);
    if (opened) return stream.release();
    *error = lacuna::cli::copyOf(opened.error().message);
  } catch (const std::exception& problem) {
    *error = lacuna::cli::copyOf(fmt::format("{}: {}", path, problem.what()));
  }
  return nullptr;
}

void lacunaRowsFree(ArrowArrayStream* stream) {
  if (stream == nullptr) return;
  if (stream->release != nullptr) stream->release(stream);
  delete stream;
}

void* lacunaRowsCapsule(ArrowArrayStream* stream,
                        void* (*newCapsule)(void*, const char*, void (*)(void*)),
                        void* (*pointerOf)(void*, const char*)) {
  lacuna::cli::capsulePointer = pointerOf;
  void* capsule = newCapsule(stream, lacuna::cli::kCapsuleName, lacuna::cli::endCapsule);
  if (capsule == nullptr) lacunaRowsFree(stream);
  return capsule;
}

char* lacunaRowsTables() {
  try {
    const auto lines = lacuna::cli::tableLines();
    return lines ? lacuna::cli::copyOf(*lines) : nullptr;
  } catch (const std::exception&) {
    return nullptr;
  }
}

void lacunaRowsFreeText(char* text) {
  std::free(text);
}
