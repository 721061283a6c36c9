// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "export/byte_sink.h"
#include "export/chrome_places.h"
#include "export/chrome_shape.h"
#include "formats/json_text.h"
#include "formats/own_columns.h"
#include "lacuna/analyzer/store.h"

namespace lacuna::analyzer {

/// Writes the list of events of Chrome JSON, one after the other: begin(), what the row has, end().
/// Events of no row are made of open(), fields and close(), or given whole.
class ChromeEvent {
 public:
  ChromeEvent(const Store& store, const ChromePlaces& places, ByteSink& sink)
      : store_(store),
        places_(places),
        sink_(sink),
        args_(store),
        shape_(store, args_, places.isKineto()) {}

  /// An event as JSON.
  void give(std::string_view json);
  /// Events as JSON with commas between them, the first ones of the list.
  void giveFirst(std::string_view events);

  void open() { out_ = "{"; }
  void close();
  void put(std::string_view key, std::string_view json);
  void putText(std::string_view key, std::string_view text);
  /// A field for which the shape has no value of its own.
  void putUnlessGiven(std::string_view key, std::string_view json);
  void putTime(std::string_view key, prof::TimeNs ns);
  void putPlace(const ChromePlaces::Place& place);
  [[nodiscard]] bool given(std::string_view key) const { return shape_.given(key); }

  void begin(char phase, ArgTable table, prof::ArgSetId set, std::string_view category,
             prof::StringId name, const ChromePlaces::Place& place, prof::TimeNs startNs);
  /// The same under a name that is no text of the trace.
  void beginNamed(char phase, ArgTable table, prof::ArgSetId set, std::string_view category,
                  std::string_view name, const ChromePlaces::Place& place, prof::TimeNs startNs);
  void length(prof::TimeNs durNs);
  /// The source of the arguments that are columns.
  [[nodiscard]] ArgSource& source() { return source_; }
  [[nodiscard]] ChromeShape& shape() { return shape_; }
  void value(std::string_view key, prof::ArgScope scope);
  /// Columns of recordings that Kineto has no words for, as an argument of ours.
  template <class Row>
  void putOwnColumns(const Row& row) {
    if (places_.isKineto()) return;  // shapes name all that its file held
    if (shape_.has("+lacuna")) return;
    own_.clear();
    forEachOwnColumn(row, [&]<class T>(const T& value, std::string_view column) {
      if (value == T{} || isGivenInKinetosWords(row, column)) return;
      own_ += own_.empty() ? "~\"lacuna\": {" : ", ";
      json::appendQuoted(own_, column);
      own_ += ": ";
      if constexpr (std::is_same_v<T, prof::StringId>) {
        json::appendQuoted(own_, store_.text(value));
      } else {
        own_ += fmt::format("{}", static_cast<std::int64_t>(value));
      }
    });
    if (own_.empty()) return;
    own_ += '}';
    shape_.add(own_);
  }
  /// Writes what the shape has beyond the columns, and ends the event.
  void end(ArgTable table);

  static bool isShapes(std::string_view text) {
    return text.starts_with('[') && json::isValid(text);
  }

 private:
  void impliedFlows();
  /// Writes the arguments that the shape holds; false where it holds none.
  bool putArguments(ArgTable table);
  /// True when the event gives a column in Kineto's words.
  template <class Row>
  bool isGivenInKinetosWords(const Row& row, std::string_view column) const {
    if constexpr (std::is_same_v<Row, prof::Range>) {
      // Readers take numbers of up to 18 digits.
      constexpr std::int64_t kMost = 999'999'999'999'999'999;
      const auto payload = static_cast<std::int64_t>(row.payload);
      const bool isPlain =
          row.payloadType == prof::PayloadType::I64 && payload >= -kMost && payload <= kMost;
      if (column == "payload" || column == "payloadType") return isPlain;
      return column == "text" && isShapes(source_.text);
    } else if constexpr (std::is_same_v<Row, prof::Allocation>) {
      return column == "action" && row.action == prof::MemoryAction::Free;
    }
    return false;
  }

  const Store& store_;
  const ChromePlaces& places_;
  ByteSink& sink_;
  Args args_;
  ChromeShape shape_;
  std::string out_, number_, own_;
  prof::ArgSetId set_;
  ArgSource source_;
  const ChromePlaces::Place* place_ = nullptr;
  prof::TimeNs startNs_ = 0;
  bool first_ = true;
};

}  // namespace lacuna::analyzer
