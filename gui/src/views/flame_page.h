// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/desk.h"
#include "base/job.h"
#include "base/page.h"

class QLabel;
class QLineEdit;

namespace lacuna::gui {

class FlameView;

/// Where the host's time goes by stacks of ranges: the whole trace, or the stretch selected on the
/// timeline. Built off the GUI's thread, the first time that the page is shown.
class FlamePage : public Page {
  Q_OBJECT

 public:
  explicit FlamePage(Desk& desk, QWidget* parent = nullptr);
  void setTrace(const TracePtr& trace) override;
  void setGrown(const TracePtr& trace) override;
  /// Empty: everything.
  void setWindow(std::optional<prof::TimeWindow> window);
  void setDark(bool dark) override;
  [[nodiscard]] FlameView* view() const { return view_; }
  [[nodiscard]] bool busy() const override { return job_.busy(); }
  [[nodiscard]] QLineEdit* search() const { return search_; }
  /// Every stack with its count and times, as comma-separated values.
  [[nodiscard]] QString csv() const;
  [[nodiscard]] Figures figures() const override { return {csv()}; }
  [[nodiscard]] std::vector<Command> commands() override;
  /// Writes the stacks as flame graph scripts take them, and reports what became of it; false where
  /// they are not written.
  bool exportFolded(const QString& path);
  /// Asks where to.
  void chooseExport();

 Q_SIGNALS:
  void ready();

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  /// The names from the thread to the node, ';' between them.
  [[nodiscard]] QString stackOf(std::uint32_t node) const;
  void build();
  void showDetails();

  Desk& desk_;
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
