// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QWidget>

class QLabel;
class QListWidget;
class QProgressBar;
class QPushButton;

namespace lacuna::gui {

/// The page that a newcomer sees: how to record a run, how to open one, and what was open before.
class WelcomePage : public QWidget {
  Q_OBJECT

 public:
  explicit WelcomePage(QWidget* parent = nullptr);
  void setRecent(const QStringList& paths);

 Q_SIGNALS:
  void openClicked();
  void recentClicked(const QString& path);

 private:
  QLabel* recentTitle_;
  QListWidget* recent_;
};

/// While a trace is being opened.
class LoadingPage : public QWidget {
  Q_OBJECT

 public:
  explicit LoadingPage(QWidget* parent = nullptr);
  void begin(const QString& path);
  void setProgress(double share, const QString& stage);
  [[nodiscard]] QPushButton* cancelButton() const { return cancel_; }

 Q_SIGNALS:
  void cancelClicked();

 private:
  QLabel* title_;
  QLabel* stage_;
  QProgressBar* bar_;
  QPushButton* cancel_;
};

/// When a trace could not be opened: which, why, and what to do.
class ErrorPage : public QWidget {
  Q_OBJECT

 public:
  explicit ErrorPage(QWidget* parent = nullptr);
  /// `open` is the trace that is still there to go back to; empty for none.
  void show(const QString& path, const QString& message, const QString& open);
  [[nodiscard]] QString message() const;

 Q_SIGNALS:
  void openClicked();
  void retryClicked(const QString& path);
  void backClicked();

 private:
  QLabel* file_;
  QLabel* message_;
  QPushButton* back_;
  QString path_;
};

}  // namespace lacuna::gui
