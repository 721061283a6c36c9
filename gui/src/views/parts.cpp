// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "views/parts.h"

#include <QBuffer>
#include <QCoreApplication>
#include <QFile>
#include <QFileInfo>
#include <QFrame>
#include <QImage>
#include <QImageWriter>
#include <QLabel>
#include <QLineEdit>
#include <QPainter>
#include <QStringList>
#include <QVBoxLayout>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "base/words.h"

namespace lacuna::gui {

namespace {

/// Translators find a text under the name of a class; functions have none.
struct Files {
  Q_DECLARE_TR_FUNCTIONS(Files)
};

QString notWritten(const QString& path, const QString& why) {
  return Files::tr("%1 cannot be written: %2").arg(path, why);
}

QStringList& protectedFiles() {
  static QStringList files;
  return files;
}

}  // namespace

void protectFile(const QString& path) {
  if (!protectedFiles().contains(path)) protectedFiles() << path;
}

QString whyProtected(const QString& path) {
  for (const QString& file : std::as_const(protectedFiles())) {
    std::error_code ignored;
    if (!std::filesystem::equivalent(path.toStdString(), file.toStdString(), ignored)) continue;
    return notWritten(path, Files::tr("it is a trace that was opened; choose another name"));
  }
  return {};
}

QString whyFailed(const QFile& file, int code) {
  return code == 0 ? file.errorString() : qt_error_string(code);
}

QString writeFile(const QString& path, const QByteArray& bytes, prof::Existing existing) {
  if (const QString problem = whyProtected(path); !problem.isEmpty()) return problem;
  const auto write = [&](const std::filesystem::path& part) -> prof::Status {
    QFile into(QString::fromStdString(part.string()));
    errno = 0;
    const bool written = into.open(QIODevice::WriteOnly | QIODevice::Unbuffered) &&
                         into.write(bytes) == bytes.size();
    return written ? prof::Status()
                   : prof::Error{notWritten(path, whyFailed(into, errno)).toStdString()};
  };
  const prof::Status status = prof::writeAtomically(path.toStdString(), write, existing);
  return status ? QString() : words(status.error().message);
}

QString writePicture(const QString& path, const QImage& picture, prof::Existing existing) {
  const QByteArray ending = QFileInfo(path).suffix().toLower().toLatin1();
  QByteArray bytes;
  QBuffer buffer(&bytes);
  buffer.open(QIODevice::WriteOnly);
  QImageWriter writer(&buffer, ending.isEmpty() ? QByteArray("png") : ending);
  if (!writer.canWrite())
    return notWritten(
        path, Files::tr("pictures are of no such kind; a name that ends in .png makes one"));
  return writer.write(picture) ? writeFile(path, bytes, existing)
                               : notWritten(path, writer.errorString());
}

QLabel* label(const QString& text, const char* role, QWidget* parent) {
  auto* out = new QLabel(text, parent);
  out->setObjectName(QLatin1String(role));
  out->setTextFormat(Qt::PlainText);
  out->setWordWrap(true);
  return out;
}

QLabel* selectableLabel(const QString& text, const char* role, QWidget* parent) {
  QLabel* out = label(text, role, parent);
  out->setTextInteractionFlags(Qt::TextSelectableByMouse);
  return out;
}

QLineEdit* textField(const QString& what, QWidget* parent) {
  auto* out = new QLineEdit(parent);
  out->setPlaceholderText(what);
  out->setAccessibleName(what);
  out->setClearButtonEnabled(true);
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
