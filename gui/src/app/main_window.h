// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QMainWindow>

#include "app/trace.h"

class QLabel;
class QStackedWidget;
class QTabBar;

namespace lacuna::gui {

class ErrorPage;
class Loader;
class LoadingPage;
class TimelinePage;
class WelcomePage;

/// The window: the pages of one trace behind tabs, or what stands in for them while there is none.
class MainWindow : public QMainWindow {
  Q_OBJECT

 public:
  explicit MainWindow(QWidget* parent = nullptr);
  ~MainWindow() override;

  void openFile(const QString& path);
  /// "overview", "timeline", …; false for a name that is no page.
  bool showPage(const QString& name);
  [[nodiscard]] QStringList pageNames() const;
  void setDark(bool dark);

  [[nodiscard]] const TracePtr& trace() const { return trace_; }
  [[nodiscard]] Loader* loader() const { return loader_; }
  [[nodiscard]] TimelinePage* timeline() const { return timeline_; }
  [[nodiscard]] ErrorPage* errorPage() const { return error_; }
  /// "welcome", "loading", "error" or "trace".
  [[nodiscard]] QString state() const;

 Q_SIGNALS:
  void traceShown();
  void traceFailed(const QString& message);

 protected:
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;

 private:
  void addPage(const QString& name, const QString& title, QWidget* page);
  void makeMenus();
  void chooseFile();
  void showTrace(const TracePtr& trace);
  void remember(const QString& path);

  Loader* loader_;
  TracePtr trace_;
  bool dark_ = true;
  QStackedWidget* states_;
  QStackedWidget* pages_;
  QTabBar* tabs_;
  QLabel* summary_;
  QLabel* warnings_;
  WelcomePage* welcome_;
  LoadingPage* loading_;
  ErrorPage* error_;
  TimelinePage* timeline_;
};

}  // namespace lacuna::gui
