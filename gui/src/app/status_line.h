// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QObject>

#include "base/trace.h"

class QLabel;
class QStatusBar;

namespace lacuna::gui {

/// The facts about the open trace in the status bar: its file, length and events, whether it still
/// grows, and how many warnings there are about it.
class StatusLine : public QObject {
  Q_OBJECT

 public:
  explicit StatusLine(QStatusBar* bar);
  void show(const Trace& trace, bool isLive);

 private:
  void showWarnings(const Trace& trace);

  QLabel* summary_;
  QLabel* live_;
  QLabel* warnings_;
};

}  // namespace lacuna::gui
