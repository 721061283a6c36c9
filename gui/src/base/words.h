// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QBrush>
#include <QColor>
#include <QString>
#include <QTextDocument>
#include <string>
#include <string_view>

#include "lacuna/analyzer/ledger.h"
#include "lacuna/prof/amounts.h"
#include "timeline/palette.h"
#include "timeline/text.h"

/// The analyzer's texts and numbers as Qt wants them.
namespace lacuna::gui {

inline QString words(std::string_view s) {
  return QString::fromUtf8(s.data(), static_cast<qsizetype>(s.size()));
}
template <class Number>
QString durationWords(Number ns) {
  return words(prof::timeText(ns));
}
template <class Number>
QString bytesWords(Number bytes) {
  return words(prof::bytesText(bytes));
}
inline QString percentWords(double share) {
  return words(prof::shareText(share));
}
/// A text that a tooltip is to show as it is: Qt makes rich text of one with a tag in it, as names
/// of kernels may have.
inline QString tipWords(const QString& text) {
  return Qt::mightBeRichText(text) ? Qt::convertFromPlainText(text, Qt::WhiteSpaceNormal) : text;
}
/// A text that a button or an entry of a menu is to show as it is: there, an & is no letter, it
/// underlines the next one.
inline QString buttonWords(QString text) {
  return text.replace(QLatin1Char('&'), QLatin1String("&&"));
}
/// "±0.3 %", or nothing.
inline QString bandWords(std::int64_t bandNs, std::int64_t ns) {
  return words(analyzer::humanBand(bandNs, ns));
}
/// The brush for what recording may have added, painted over the end of a figure.
inline QBrush bandBrush(Colour over) {
  return {QColor::fromRgb(inkOn(over)), Qt::BDiagPattern};
}
inline QColor rgb(Colour c, int alpha = 255) {
  QColor out = QColor::fromRgb(c);
  out.setAlpha(alpha);
  return out;
}

}  // namespace lacuna::gui
