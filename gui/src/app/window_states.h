// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QStackedWidget>

class QWidget;

namespace lacuna::gui {

class ErrorPage;
class LoadingPage;
class WelcomePage;

/// The content of the window: the welcome, a trace that is being opened, the reason why one could
/// not be, or the pages of an open trace.
class WindowStates : public QStackedWidget {
  Q_OBJECT

 public:
  explicit WindowStates(QWidget* parent);
  /// The pages of an open trace, the last state.
  void setPages(QWidget* pages) { addWidget(pages); }
  [[nodiscard]] WelcomePage* welcome() const { return welcome_; }
  [[nodiscard]] LoadingPage* loading() const { return loading_; }
  [[nodiscard]] ErrorPage* error() const { return error_; }

  void showWelcome();
  void showPages();
  void showLoading(const QString& path);
  /// `open` is the trace that is still there to go back to; empty for none.
  void showError(const QString& path, const QString& message, const QString& open);
  /// "welcome", "loading", "error" or "trace".
  [[nodiscard]] QString name() const;

 Q_SIGNALS:
  /// A trace is to be opened: this one, or one that is still to be chosen.
  void pathWanted(const QString& path);
  void choiceWanted();
  void loadingCancelled();

 private:
  WelcomePage* welcome_;
  LoadingPage* loading_;
  ErrorPage* error_;
};

}  // namespace lacuna::gui
