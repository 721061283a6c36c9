// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "app/window_states.h"

#include "views/start_pages.h"

namespace lacuna::gui {

namespace {
constexpr const char* kNames[] = {"welcome", "loading", "error", "trace"};
constexpr int kPages = 3;
}  // namespace

WindowStates::WindowStates(QWidget* parent)
    : QStackedWidget(parent),
      welcome_(new WelcomePage(this)),
      loading_(new LoadingPage(this)),
      error_(new ErrorPage(this)) {
  addWidget(welcome_);
  addWidget(loading_);
  addWidget(error_);
  connect(loading_, &LoadingPage::cancelClicked, this, &WindowStates::loadingCancelled);
  connect(welcome_, &WelcomePage::openClicked, this, &WindowStates::choiceWanted);
  connect(welcome_, &WelcomePage::recentClicked, this, &WindowStates::pathWanted);
  connect(error_, &ErrorPage::backClicked, this, &WindowStates::showPages);
  connect(error_, &ErrorPage::openClicked, this, &WindowStates::choiceWanted);
  connect(error_, &ErrorPage::retryClicked, this, &WindowStates::pathWanted);
}

void WindowStates::showWelcome() {
  setCurrentWidget(welcome_);
}

void WindowStates::showPages() {
  setCurrentIndex(kPages);
}

void WindowStates::showLoading(const QString& path) {
  loading_->begin(path);
  setCurrentWidget(loading_);
}

void WindowStates::showError(const QString& path, const QString& message, const QString& open) {
  error_->show(path, message, open);
  setCurrentWidget(error_);
}

QString WindowStates::name() const {
  return QString::fromLatin1(kNames[currentIndex()]);
}

}  // namespace lacuna::gui
