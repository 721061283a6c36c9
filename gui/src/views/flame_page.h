// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "app/job.h"
#include "app/trace.h"
#include "lacuna/analyzer/charts.h"
#include "views/page.h"

class QLabel;
class QLineEdit;

namespace lacuna::gui {

class FlameView;

/// Where the host's time goes by stacks of ranges: the whole trace, or the stretch selected on the timeline. Built off
/// the GUI's thread, the first time that the page is shown.
class FlamePage : public Page {
  Q_OBJECT

 public:
  explicit FlamePage(QWidget* parent = nullptr);
  void setTrace(const TracePtr& trace);
  /// The same trace with more in it. All settings stay.
  void setGrown(const TracePtr& trace);
  /// Empty: everything.
  void setWindow(std::optional<prof::TimeWindow> window);
  void setDark(bool dark);
  [[nodiscard]] FlameView* view() const { return view_; }
  [[nodiscard]] bool busy() const { return job_.busy(); }
  [[nodiscard]] QLineEdit* search() const { return search_; }
  /// Every stack with its count and times, as comma-separated values.
  [[nodiscard]] QString csv() const;
  /// Writes the stacks as flame graph scripts take them, and reports what became of it; false where they are not
  /// written.
  bool exportFolded(const QString& path);
  /// Asks where to.
  void chooseExport();

 Q_SIGNALS:
  void nameActivated(const QString& name);
  /// The outcome of an export.
  void message(const QString& words);
  void ready();

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  /// The names from the thread to the node, ';' between them.
  [[nodiscard]] QString stackOf(std::uint32_t node) const;
  void build();
  void showDetails();

  TracePtr trace_;
  std::optional<prof::TimeWindow> window_;
  std::shared_ptr<const analyzer::FlameGraph> graph_;
  bool stale_ = false;
  FlameView* view_;
  QLineEdit* search_;
  QLabel* what_;
  QLabel* details_;
  Job job_;
};

}  // namespace lacuna::gui
