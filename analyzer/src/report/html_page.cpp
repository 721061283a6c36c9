// SPDX-FileCopyrightText: The Lacuna authors
// SPDX-License-Identifier: Apache-2.0
#include "report/html_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "formats/kernel_name.h"
#include "lacuna/analyzer/ledger.h"
#include "lacuna/analyzer/text.h"

namespace lacuna::analyzer {
namespace {

constexpr std::string_view kStyle = R"(
:root{--bg:#fff;--fg:#1b1f24;--dim:#636c76;--line:#d8dee4;--card:#f6f8fa;--fault:#c0182b;--could:#0969a8}
@media (prefers-color-scheme:dark){:root{--bg:#14171b;--fg:#e8ebee;--dim:#98a2ad;--line:#333a42;--card:#1d2228;--fault:#ff7b86;--could:#6cb6ff}}
*{box-sizing:border-box}
body{margin:0 auto;padding:1.2rem 1rem 3rem;max-width:62rem;background:var(--bg);color:var(--fg);font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
h1{font-size:1.3rem;margin:0 0 .2rem;overflow-wrap:anywhere}h2{font-size:1.05rem;margin:2rem 0 .6rem}
.dim,.axis{color:var(--dim);font-size:.9rem}.axis{margin:0 0 .2rem;font-size:.8rem}.verdict{font-size:1.15rem;margin:1rem 0}
svg{display:block;width:100%;height:auto;overflow:visible}svg text{fill:var(--fg);font:12px system-ui,sans-serif}svg .dim{fill:var(--dim)}
.bar{display:flex;height:2.2rem;border-radius:.4rem;overflow:hidden}.bar i{display:flex;justify-content:flex-end;min-width:1px}.bar u{background:repeating-linear-gradient(45deg,var(--fg) 0 1.5px,transparent 1.5px 4px)}
.legend{display:grid;grid-template-columns:repeat(auto-fill,minmax(20rem,1fr));gap:.15rem 1.5rem;margin:.7rem 0;padding:0;list-style:none;font-size:.92rem}
.legend li{display:flex;gap:.5rem;align-items:center}.legend b{font-weight:400;flex:1}.legend span{color:var(--dim);font-variant-numeric:tabular-nums}
.legend i{width:.8rem;height:.8rem;border-radius:.2rem;flex:none}
.card{background:var(--card);border:1px solid var(--line);border-left:.3rem solid var(--could);border-radius:.4rem;padding:.7rem .9rem;margin:.6rem 0}
.card.fault{border-left-color:var(--fault)}.card{overflow-wrap:anywhere}.card h3{margin:0;font-size:1rem}.card p{margin:.3rem 0 0}
.tag{font-size:.72rem;text-transform:uppercase;letter-spacing:.04em;color:var(--could)}.fault .tag{color:var(--fault)}
code{font:.9em ui-monospace,monospace;background:var(--line);border-radius:.2rem;padding:.05rem .3rem;overflow-wrap:anywhere}
@media(max-width:600px){svg text,svg text.dim{font-size:26px}.legend{grid-template-columns:1fr}}
.scroll{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:.9rem}th,td{text-align:right;padding:.25rem .5rem;border-bottom:1px solid var(--line);white-space:nowrap;font-variant-numeric:tabular-nums}
th{color:var(--dim);font-weight:500}th:first-child,td:first-child{text-align:left;white-space:normal;overflow-wrap:anywhere;min-width:11rem;padding-left:0}
nav{display:flex;flex-wrap:wrap;gap:.2rem .9rem;font-size:.9rem;margin:.6rem 0}nav a{color:var(--could)}
)";

/// The colours of the causes, in their order.
std::string coloursOf(bool dark) {
  std::string out;
  for (std::size_t i = 0; i < kCauseCount; ++i) {
    out += fmt::format(".c{0}{{fill:#{1:06x};background:#{1:06x}}}", i,
                       causeColour(static_cast<Cause>(i), dark) & 0xFFFFFF);
  }
  return out;
}

std::string styleSheet() {
  return fmt::format("{}{}\n@media (prefers-color-scheme:dark){{{}}}\n", kStyle, coloursOf(false),
                     coloursOf(true));
}

/// Further names are cut, so that a row stays a row.
constexpr std::size_t kLongestName = 120;

std::string idOf(std::size_t heading) {
  return fmt::format("s{}", heading);
}

}  // namespace

std::string shortName(std::string_view name) {
  if (name.size() <= kLongestName) return xmlText(name);
  const std::string plain = withoutScopes(name);
  return plain.size() <= kLongestName ? xmlText(plain)
                                      : xmlText(headOf(plain, kLongestName - 3)) + "…";
}

void HtmlPage::heading(std::string_view text) {
  body_ += fmt::format("<h2 id=\"{}\">{}</h2>\n", idOf(headings_.size()), xmlText(text));
  headings_.emplace_back(text.substr(0, text.find(':')));
}

void HtmlPage::notes(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) {
    const std::size_t begin = std::min(line.find_first_not_of(' '), line.size());
    body_ +=
        fmt::format("<div class=\"dim\">{}</div>\n", xmlText(std::string_view(line).substr(begin)));
  }
}

void HtmlPage::table(const Table& table, std::size_t rows) {
  const std::size_t listed = std::min(rows, table.rows.size());
  const std::vector<std::size_t> shown = table.shownColumns(listed);
  body_ += "<div class=\"scroll\"><table><tr>";
  for (const std::size_t i : shown) {
    const ColumnInfo& column = table.columns[i];
    body_ +=
        fmt::format("<th title=\"{}\">{}</th>", xmlText(column.meaning), xmlText(column.heading));
  }
  body_ += "</tr>";
  for (std::size_t r = 0; r < listed; ++r) {
    body_ += "<tr>";
    for (const std::size_t i : shown) {
      const bool isName = table.columns[i].kind == ColumnKind::Name;
      body_ += fmt::format("<td>{}</td>",
                           isName ? shortName(table.text(r, i)) : xmlText(table.text(r, i)));
    }
    body_ += "</tr>";
  }
  body_ += "</table></div>\n";
  if (table.rows.size() > listed) {
    body_ += fmt::format("<div class=\"dim\">and {} more: lacuna report FILE --csv {}</div>\n",
                         table.rows.size() - listed, table.key);
  }
}

void HtmlPage::bar(const Ledger& ledger, const Ledger& bands) {
  const auto total = static_cast<double>(std::max<std::int64_t>(1, ledger.totalNs()));
  body_ += "<div class=\"bar\" role=\"img\" aria-label=\"ledger\">";
  for (std::size_t i = 0; i < kCauseCount; ++i) {
    if (ledger.ns[i] <= 0) continue;
    const double percent = 100 * static_cast<double>(ledger.ns[i]) / total;
    const std::string band = humanBand(bands.ns[i], ledger.ns[i]);
    const double hatched =
        100 * static_cast<double>(bands.ns[i]) / static_cast<double>(ledger.ns[i]);
    body_ += fmt::format(
        "<i class=\"c{}\" style=\"width:{:.3f}%\" title=\"{}: {:.1f} %{}\">{}</i>", i, percent,
        causeLabel(static_cast<Cause>(i)), percent,
        band.empty() ? "" : ", recording " + xmlText(band),
        band.empty() ? ""
                     : fmt::format("<u style=\"width:{:.2f}%\"></u>", std::min(100.0, hatched)));
  }
  body_ += "</div>\n";
}

std::string HtmlPage::take(std::string_view title, std::string_view about) {
  std::string list;
  for (std::size_t i = 0; i < headings_.size(); ++i)
    list += fmt::format("<a href=\"#{}\">{}</a>", idOf(i), xmlText(headings_[i]));
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width,initial-scale=1\"><meta name=\"color-scheme\" content=\"light "
      "dark\"><title>Lacuna: {0}</title><style>{1}</style></head><body>\n<h1>{0}</h1><div "
      "class=\"dim\">{2}</div>\n"
      "<nav>{3}</nav>\n{4}</body></html>\n",
      xmlText(title), styleSheet(), xmlText(about), list, body_);
}

}  // namespace lacuna::analyzer
