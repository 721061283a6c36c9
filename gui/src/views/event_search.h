// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QObject>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "base/job.h"
#include "base/long_job.h"
#include "base/trace.h"
#include "lacuna/analyzer/lanes.h"

class QLabel;
class QLineEdit;

namespace lacuna::gui {

class TimelineView;

/// Finds events of the timeline by parts of their names: a field to type into, and a line with what
/// was found. Reads the trace off the GUI's thread.
class EventSearch : public QObject {
  Q_OBJECT

 public:
  using CountMatches = std::function<std::uint64_t(
      const analyzer::TrackSet&, const analyzer::NameMatches&, const analyzer::Progress&)>;

  /// Makes the two widgets in `parent`, which places them; events are selected in `view`.
  EventSearch(TimelineView* view, QWidget* parent);
  [[nodiscard]] QLineEdit* field() const { return field_; }
  [[nodiscard]] QLabel* result() const { return result_; }
  /// The function that counts the events found: analyzer::countMatches unless set otherwise.
  void setCountMatches(CountMatches count) { countMatches_ = std::move(count); }
  [[nodiscard]] bool busy() const { return searching_ || findJob_.busy(); }

  /// Finds out what matches, on a thread of its own, and reports how far that is; calls off the
  /// search before.
  void searchFor(const QString& text);
  /// Selects the next event whose name contains the text of the field.
  void findNext(bool forward);
  /// Ends all searches and forgets what matched.
  void callOff();

 Q_SIGNALS:
  /// It is known how many events match the search.
  void searched();

 private:
  using Matches = std::shared_ptr<const analyzer::NameMatches>;
  void show(const Matches& names, std::uint64_t events);
  /// Sets the text below the field.
  void setResult(const QString& what);
  /// To the next event of those that are known to match.
  void goToMatch(bool forward);

  TimelineView* view_;
  QLineEdit* field_;
  QLabel* result_;
  Matches matches_;
  std::weak_ptr<const Trace> searched_;  ///< the trace that they are of
  std::optional<bool> wantedNext_;
  CountMatches countMatches_ = &analyzer::countMatches;
  bool searching_ = false;
  LongJob searchJob_{this};
  Job findJob_;
};

}  // namespace lacuna::gui
