// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QWidget>
#include <memory>

#include "base/trace.h"
#include "lacuna/analyzer/memory.h"

class QLabel;

namespace lacuna::gui {

class RoleBar;

/// The line and the bar above the lists of the memory page: which moment is shown, how much is
/// alive then and in which roles, and buttons that lead elsewhere.
class MemoryHeading : public QWidget {
  Q_OBJECT

 public:
  explicit MemoryHeading(QWidget* parent);
  /// Null: no moment. `isPeak`: memory is highest then.
  void setMoment(const TracePtr& trace, std::shared_ptr<const analyzer::MemoryMoment> moment,
                 bool isPeak);
  void setDark(bool dark);

 Q_SIGNALS:
  void peakWanted();
  void timelineWanted();

 private:
  std::shared_ptr<const analyzer::MemoryMoment> moment_;
  bool dark_ = true;
  QLabel* title_;
  QLabel* facts_;
  RoleBar* roles_;
};

}  // namespace lacuna::gui
