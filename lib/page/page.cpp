#include "page/page.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <span>
#include <string_view>

#include "page/difference.hpp"
#include "page/fixed_text.hpp"
#include "support/html.hpp"

namespace tegula::page {
namespace {

using support::escaped_html;

constexpr std::size_t context = 3;  // equal lines around a change that are shown

/// Opens a part of the page.
std::string opened(std::string_view id, std::string_view title) {
  return fmt::format("<section id=\"{0}\" data-title=\"{1}\">\n<h2>{1}</h2>\n", escaped_html(id), escaped_html(title));
}

/// Returns a sentence, or nothing.
std::string note(std::string_view text) {
  return text.empty() ? std::string() : fmt::format("<p class=\"note\">{}</p>\n", escaped_html(text));
}

/// Returns a block of text. HTML drops a newline behind <pre>, so there is always one.
std::string block(std::string_view text) { return fmt::format("<pre>\n{}</pre>\n", escaped_html(text)); }

std::string of_section(Section const& section) {
  std::string text = opened(section.id, section.title) + note(section.note);
  if (!section.text.empty()) text += block(section.text);
  return text + "</section>\n";
}

/// Writes the lines of a comparison: changes with a few equal lines around, the other equal lines folded.
std::string marked(std::span<Line const> lines) {
  std::string text;
  bool open = false;
  auto const close = [&] {
    if (open) text += "</pre>\n";
    open = false;
  };
  auto const write = [&](Line const& line) {
    if (!open) text += "<pre>\n";
    open = true;
    std::string const escaped = escaped_html(line.text);
    if (line.change == Change::none)
      text += "  " + escaped + "\n";
    else if (line.change == Change::added)
      text += "<ins>+ " + escaped + "</ins>\n";
    else
      text += "<del>- " + escaped + "</del>\n";
  };
  for (std::size_t at = 0; at < lines.size();) {
    std::size_t end = at;
    while (end < lines.size() && lines[end].change == Change::none) ++end;
    std::size_t const head = at == 0 ? 0 : context, tail = end == lines.size() ? 0 : context;
    if (end - at > head + tail + 1) {  // a fold takes a line itself
      for (std::size_t i = at; i < at + head; ++i) write(lines[i]);
      close();
      text += fmt::format("<details class=\"equal\"><summary>{} equal lines</summary>\n", end - tail - (at + head));
      for (std::size_t i = at + head; i < end - tail; ++i) write(lines[i]);
      close();
      text += "</details>\n";
      at = end - tail;
    }
    while (at < end) write(lines[at++]);
    while (at < lines.size() && lines[at].change != Change::none) write(lines[at++]);
  }
  close();
  return text;
}

/// Counts the lines of one kind.
std::size_t count_of(std::span<Line const> lines, Change change) {
  std::size_t count = 0;
  for (Line const& line : lines) count += line.change == change ? 1U : 0U;
  return count;
}

std::string of_passes(Page const& page) {
  std::string list, articles, idle;
  std::size_t idle_count = 0, changing = 0;
  auto const close_idle = [&] {
    if (idle_count != 0)
      list +=
          fmt::format("<li class=\"idle\"><details><summary>{} {} nothing</summary>\n<ul>\n{}</ul></details></li>\n",
                      idle_count, idle_count == 1 ? "pass changes" : "passes change", idle);
    idle.clear();
    idle_count = 0;
  };
  list += "<li><a href=\"#pass-0\">0 as recorded</a></li>\n";
  articles +=
      fmt::format("<article id=\"pass-0\">\n<h3>0 as recorded</h3>\n<p>The IR before the passes.</p>\n{}</article>\n",
                  block(page.recorded));
  std::string_view before = page.recorded;
  for (std::size_t i = 0; i < page.passes.size(); ++i) {
    Pass const& pass = page.passes[i];
    std::size_t const number = i + 1;
    std::string const name = escaped_html(pass.name);
    if (pass.text.empty() || pass.text == before) {
      idle += fmt::format("<li title=\"{}\">{} {}</li>\n", escaped_html(pass.summary), number, name);
      ++idle_count;
      continue;
    }
    close_idle();
    ++changing;
    std::vector<Line> const lines = difference(before, pass.text);
    std::string const counts = fmt::format("<span class=\"counts\"><ins>+{}</ins> <del>-{}</del></span>",
                                           count_of(lines, Change::added), count_of(lines, Change::removed));
    list += fmt::format("<li><a href=\"#pass-{0}\" title=\"{1}\">{0} {2} {3}</a></li>\n", number,
                        escaped_html(pass.summary), name, counts);
    articles += fmt::format("<article id=\"pass-{0}\">\n<h3>{0} {1} {2}</h3>\n<p>{3}</p>\n{4}</article>\n", number,
                            name, counts, escaped_html(pass.summary), marked(lines));
    before = pass.text;
  }
  close_idle();
  return opened("passes", "Passes") +
         fmt::format(
             "<p class=\"note\">{} of {} passes change the IR. Each is compared with the IR before it. Indentation "
             "is not compared, and values that only have other numbers (%7) count as equal.</p>\n",
             changing, page.passes.size()) +
         "<div class=\"passes\"><ol class=\"list\">\n" + list + "</ol>\n<div class=\"articles\">\n" + articles +
         "</div></div>\n</section>\n";
}

std::string of_timeline(Page const& page) {
  std::string text = opened("timeline", "Timeline") + note(page.timeline_note);
  // A page in a frame of its own origin: its script reaches nothing of this page.
  if (!page.timeline.empty())
    text += fmt::format("<iframe title=\"timeline\" sandbox=\"allow-scripts\" srcdoc=\"{}\"></iframe>\n",
                        escaped_html(page.timeline));
  if (!page.timeline_text.empty()) text += block(page.timeline_text);
  return text + "</section>\n";
}

}  // namespace

std::string html(Page const& page) {
  std::string text = fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
      "script-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'\">\n"
      "<title>{}: kernel</title>\n<style>{}</style></head>\n<body>\n<header><h1>{}</h1>\n<p>{}</p></header>\n<main>\n",
      escaped_html(page.kernel), style, escaped_html(page.kernel), escaped_html(page.headline));
  for (std::size_t i = 0; i < page.sections.size(); ++i) {
    text += of_section(page.sections[i]);
    if (i == 0) text += of_passes(page);
  }
  if (page.sections.empty()) text += of_passes(page);
  text += of_timeline(page);
  return text + fmt::format("</main>\n<script>{}</script>\n</body></html>\n", script);
}

}  // namespace tegula::page
