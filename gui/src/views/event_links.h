// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QObject>
#include <optional>

#include "base/job.h"
#include "base/long_job.h"
#include "base/trace.h"
#include "lacuna/analyzer/links.h"

namespace lacuna::gui {

class TimelineView;

/// Draws the links of the selected event on the timeline: from a launch to its work, and back.
/// Finds them off the GUI's thread.
class EventLinks : public QObject {
  Q_OBJECT

 public:
  explicit EventLinks(TimelineView* view);
  [[nodiscard]] bool busy() const { return launching_ != nullptr || linkJob_.busy(); }

  void find(const analyzer::EventRef& event);
  void callOff();
  /// Selects the first event that is linked to the selected one.
  void follow();

 Q_SIGNALS:
  /// The links of the selected event are known and drawn.
  void ready();

 private:
  /// Computes the links of the trace, once, and goes on with the event that is selected then.
  void compute();

  TimelineView* view_;
  TracePtr launching_;                        ///< whose links are being computed
  std::optional<analyzer::EventRef> wanted_;  ///< the event to go on with then
  LongJob launchJob_{this};
  Job linkJob_;
};

}  // namespace lacuna::gui
