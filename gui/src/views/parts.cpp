// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "views/parts.h"

#include <QFrame>
#include <QLabel>
#include <QPainter>
#include <QVBoxLayout>

namespace lacuna::gui {

QLabel* label(const QString& text, const char* role, QWidget* parent) {
  auto* out = new QLabel(text, parent);
  out->setObjectName(QLatin1String(role));
  out->setWordWrap(true);
  return out;
}

QLabel* selectableLabel(const QString& text, const char* role, QWidget* parent) {
  QLabel* out = label(text, role, parent);
  out->setTextInteractionFlags(Qt::TextSelectableByMouse);
  return out;
}

void fillCard(QFrame* frame, const QString& heading, QWidget* content) {
  frame->setObjectName(QStringLiteral("card"));
  auto* down = new QVBoxLayout(frame);
  down->setContentsMargins(18, 14, 18, 16);
  down->setSpacing(10);
  if (!heading.isEmpty()) down->addWidget(label(heading, "heading", frame));
  if (content) down->addWidget(content, 1);
}

QFrame* card(const QString& heading, QWidget* content, QWidget* parent) {
  auto* frame = new QFrame(parent);
  fillCard(frame, heading, content);
  return frame;
}

double scaleOf(const QPainter& painter) {
  return painter.deviceTransform().m11();
}

}  // namespace lacuna::gui
