// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QObject>
#include <QString>
#include <optional>
#include <vector>

#include "base/findings.h"
#include "lacuna/prof/reader.h"

namespace lacuna::gui {

/// Where pages leave requests and news for one another and for the window, so that none of them
/// knows another. Every page gets the window's desk, emits these signals and connects to those that
/// concern it.
class Desk : public QObject {
  Q_OBJECT

 public:
  using QObject::QObject;

 Q_SIGNALS:
  /// Show this text in the status bar, for some seconds.
  void messageWanted(const QString& text);
  /// Show these stretches on the timeline, under this caption.
  void stretchesWanted(const std::vector<lacuna::prof::TimeWindow>& windows,
                       const QString& caption);
  /// Show the next event of this name on the timeline.
  void nameWanted(const QString& name);
  /// Show the n-th finding of the analysis on the timeline.
  void findingWanted(const lacuna::gui::AnalysisPtr& analysis, std::size_t n);
  /// Play this change: "loader.workers=4".
  void changeWanted(const QString& change);
  /// Open this trace beside the one that is open, and compare them.
  void secondWanted(const QString& path);
  /// The cursor was set on the page `by`.
  void momentPicked(lacuna::prof::TimeNs timeNs, const QObject* by);
  /// Another stretch of the timeline is selected; none: everything.
  void stretchSelected(const std::optional<lacuna::prof::TimeWindow>& window);
};

}  // namespace lacuna::gui
