// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "views/start_pages.h"

#include <QFileInfo>
#include <QHBoxLayout>
#include <QLabel>
#include <QListWidget>
#include <QProgressBar>
#include <QPushButton>
#include <QVBoxLayout>
#include <algorithm>

#include "base/words.h"
#include "views/parts.h"

namespace lacuna::gui {

namespace {

constexpr int kCentredWidth = 600;
constexpr int kRecentRow = 29;
constexpr int kMostRecentHeight = 240;

/// A column of fixed width in the middle of the page, a third down.
QVBoxLayout* centredColumn(QWidget* page) {
  page->setObjectName(QStringLiteral("page"));
  auto* across = new QHBoxLayout(page);
  auto* holder = new QWidget(page);
  holder->setFixedWidth(kCentredWidth);
  auto* column = new QVBoxLayout(holder);
  column->setSpacing(10);
  column->addStretch(2);
  across->addStretch();
  across->addWidget(holder);
  across->addStretch();
  return column;
}

}  // namespace

WelcomePage::WelcomePage(QWidget* parent) : QWidget(parent) {
  QVBoxLayout* column = centredColumn(this);
  column->addWidget(label(tr("See where training time goes"), "title", this));
  column->addWidget(label(tr("Open a trace that Lacuna, PyTorch's profiler, Nsight Systems or "
                             "Perfetto wrote, or drop one here."),
                          "dim", this));
  column->addSpacing(8);
  auto* open = new QPushButton(tr("Open a trace…"), this);
  open->setObjectName(QStringLiteral("primary"));
  open->setSizePolicy(QSizePolicy::Maximum, QSizePolicy::Fixed);
  connect(open, &QPushButton::clicked, this, &WelcomePage::openClicked);
  column->addWidget(open);
  column->addSpacing(18);
  column->addWidget(label(tr("No trace yet?"), "heading", this));
  auto* how =
      label(tr("Put <code>lacuna run --</code> in front of your training command:"), "dim", this);
  how->setTextFormat(Qt::RichText);
  column->addWidget(how);
  auto* command = new QLabel(QStringLiteral("lacuna run -- python train.py"), this);
  command->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  command->setStyleSheet(QStringLiteral(
      "font-family: 'DejaVu Sans Mono', monospace; padding: 8px 12px; border-radius: "
      "5px;background: palette(base); border: 1px solid palette(mid);"));
  command->setSizePolicy(QSizePolicy::Maximum, QSizePolicy::Fixed);
  column->addWidget(command);
  column->addSpacing(18);
  recentTitle_ = label(tr("Recent"), "heading", this);
  recent_ = new QListWidget(this);
  recent_->setAccessibleName(tr("Recent traces"));
  connect(recent_, &QListWidget::itemActivated, this, [this](QListWidgetItem* item) {
    Q_EMIT recentClicked(item->data(Qt::UserRole).toString());
  });
  connect(recent_, &QListWidget::itemClicked, recent_, &QListWidget::itemActivated);
  column->addWidget(recentTitle_);
  column->addWidget(recent_);
  column->addStretch(3);
  setRecent({});
}

void WelcomePage::setRecent(const QStringList& paths) {
  recent_->clear();
  for (const QString& path : paths) {
    auto* item = new QListWidgetItem(
        QFileInfo(path).fileName() + QStringLiteral("   ") + QFileInfo(path).path(), recent_);
    item->setData(Qt::UserRole, path);
    item->setToolTip(tipWords(path));
  }
  recent_->setFixedHeight(
      std::min<int>(kMostRecentHeight, kRecentRow * static_cast<int>(paths.size()) + 4));
  recentTitle_->setVisible(!paths.isEmpty());
  recent_->setVisible(!paths.isEmpty());
}

LoadingPage::LoadingPage(QWidget* parent) : QWidget(parent) {
  QVBoxLayout* column = centredColumn(this);
  title_ = label({}, "title", this);
  stage_ = label({}, "dim", this);
  bar_ = new QProgressBar(this);
  bar_->setRange(0, 1000);
  bar_->setTextVisible(false);
  bar_->setAccessibleName(tr("Progress of opening"));
  cancel_ = new QPushButton(tr("Cancel"), this);
  cancel_->setSizePolicy(QSizePolicy::Maximum, QSizePolicy::Fixed);
  cancel_->setShortcut(QKeySequence(Qt::Key_Escape));
  connect(cancel_, &QPushButton::clicked, this, &LoadingPage::cancelClicked);
  column->addWidget(title_);
  column->addWidget(stage_);
  column->addWidget(bar_);
  column->addSpacing(8);
  column->addWidget(cancel_);
  column->addStretch(3);
}

void LoadingPage::begin(const QString& path) {
  title_->setText(tr("Opening %1").arg(QFileInfo(path).fileName()));
  setProgress(0, tr("Reading events"));
}

void LoadingPage::setProgress(double share, const QString& stage) {
  stage_->setText(tr("%1 · %2 %").arg(stage).arg(static_cast<int>(share * 100)));
  bar_->setValue(static_cast<int>(share * 1000));
}

ErrorPage::ErrorPage(QWidget* parent) : QWidget(parent) {
  QVBoxLayout* column = centredColumn(this);
  column->addWidget(label(tr("This file could not be opened"), "title", this));
  file_ = label({}, "dim", this);
  message_ = label({}, "message", this);
  message_->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
  column->addWidget(file_);
  column->addSpacing(6);
  column->addWidget(message_);
  column->addSpacing(12);
  auto* buttons = new QHBoxLayout;
  auto* open = new QPushButton(tr("Open another…"), this);
  open->setObjectName(QStringLiteral("primary"));
  auto* retry = new QPushButton(tr("Try again"), this);
  back_ = new QPushButton(this);
  connect(back_, &QPushButton::clicked, this, &ErrorPage::backClicked);
  connect(open, &QPushButton::clicked, this, &ErrorPage::openClicked);
  connect(retry, &QPushButton::clicked, this, [this] { Q_EMIT retryClicked(path_); });
  buttons->addWidget(open);
  buttons->addWidget(retry);
  buttons->addWidget(back_);
  buttons->addStretch();
  column->addLayout(buttons);
  column->addStretch(3);
}

void ErrorPage::show(const QString& path, const QString& message, const QString& open) {
  path_ = path;
  back_->setText(tr("Back to %1").arg(buttonWords(QFileInfo(open).fileName())));
  back_->setShortcut(QKeySequence(Qt::Key_Escape));  // a text takes it away
  back_->setVisible(!open.isEmpty());
  file_->setText(path);
  message_->setText(message);
}

QString ErrorPage::message() const {
  return message_->text();
}

}  // namespace lacuna::gui
