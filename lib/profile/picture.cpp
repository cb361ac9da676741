#include "profile/picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "profile/summary.hpp"
#include "support/counted.hpp"
#include "support/html.hpp"

namespace tegula {
namespace profiling {

std::string colour(Profile const& profile, std::int32_t name) {
  static constexpr char const* palette[] = {"#4c78a8", "#54a24b", "#b279a2", "#72b7b2", "#9d755d",
                                            "#79706e", "#2f6f9f", "#86bcb6", "#8cd17d", "#a0cbe8"};
  switch (profile.names[static_cast<std::size_t>(name)].kind) {
    case RecordKind::user:
      return palette[static_cast<std::size_t>(name) % std::size(palette)];
    case RecordKind::fill:
      return "#4c78a8";
    case RecordKind::wait_empty:
      return "#f2cf5b";
    case RecordKind::wait_full:
      return "#f58518";
    case RecordKind::issue:
      return "#54a24b";
    case RecordKind::wait_product:
      return "#b6d7a8";
    case RecordKind::compute:
      return "#b279a2";
    case RecordKind::exchange:
      return "#9d755d";
    case RecordKind::epilogue:
      return "#72b7b2";
    case RecordKind::store:
      return "#2a7f8e";
    case RecordKind::wait_launch:
      return "#e45756";
    case RecordKind::tile:
      return "#d9dde3";
  }
  return "#bab0ac";
}

std::string track_text(Profile const& profile, ProfileRow const& row) {
  if (profile.processor_word.empty()) return profile.role_name(row.role);
  std::string text = fmt::format("CTA {} warp {}", row.cta, row.warp);
  if (std::string const role = profile.role_name(row.role); !role.empty()) text += " " + role;
  return text;
}

double tick_step(double span, int ticks) {
  if (!(span > 0)) return 1;
  double const least = span / std::max(ticks, 1);
  double const power = std::pow(10, std::floor(std::log10(least)));
  for (double const factor : {1.0, 2.0, 5.0})
    if (factor * power >= least) return factor * power;
  return 10 * power;
}

}  // namespace profiling

namespace {

constexpr int label_width = 190;
constexpr int top = 44;
constexpr int bar = 14;  // pixels of one event
constexpr int track_gap = 5;
constexpr double narrow = 0.4;  // pixels: narrower events melt into their neighbours

/// Draws the events of one row.
class Track {
 public:
  Track(Profile const& profile, double from, double scale, double y)
      : profile_(profile), from_(from), scale_(scale), y_(y) {}

  void draw(ProfileEvent const& event, double to, std::string& text) {
    double const begin = x(std::max(event.start, from_)), end = x(std::min(event.stop, to));
    double& drawn = drawn_[event.depth];
    if (end < drawn + narrow && event.state == ProfileEvent::State::whole) return;
    double const left = std::max(begin, drawn), width = std::max(end - left, narrow);
    drawn = left + width;
    double const above = y_ + event.depth * bar;
    bool const half = event.state != ProfileEvent::State::whole;
    std::string const label = profile_.label(event.name);
    text += fmt::format(
        "<rect x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{}\" fill=\"{}\"{}><title>{}{}: {}"
        "</title></rect>\n",
        left, above, width, bar - 1, profiling::colour(profile_, event.name),
        half ? " fill-opacity=\"0.35\" stroke=\"#c00\" stroke-dasharray=\"2\"" : "", support::escaped_html(label),
        event.value ? fmt::format(" {}", *event.value) : std::string(),
        half ? std::string("half a pair") : profiling::time_text(event.duration));
    constexpr double character = 6;
    if (static_cast<double>(label.size()) * character + 6 < width)
      text += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"in\">{}</text>\n", left + 3, above + bar - 4,
                          support::escaped_html(label));
  }

 private:
  [[nodiscard]] double x(double time) const { return label_width + (time - from_) * scale_; }

  Profile const& profile_;
  double from_, scale_, y_;
  std::map<std::int32_t, double> drawn_;  ///< by depth: pixels that have events
};

void draw_axis(std::string& text, double from, double to, double scale, double height) {
  constexpr int ticks = 10;
  double const step = profiling::tick_step(to - from, ticks);
  for (double time = std::ceil(from / step) * step; time <= to; time += step) {
    double const x = label_width + (time - from) * scale;
    text += fmt::format("<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2:.0f}\" stroke=\"#e3e3e3\"/>\n", x,
                        top - 8, height);
    text += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", x, top - 12,
                        profiling::time_text(time));
  }
}

/// Draws a sample of each colour; returns the height that it takes.
double draw_legend(Profile const& profile, std::set<std::int32_t> const& used, double y, int width, std::string& text) {
  double x = label_width, begin = y;
  for (std::int32_t const name : used) {
    std::string const label = profile.label(name);
    double const needs = 24 + 6.2 * static_cast<double>(label.size());
    if (x + needs > width && x > label_width) {
      x = label_width;
      y += 18;
    }
    text += fmt::format("<rect x=\"{:.0f}\" y=\"{:.0f}\" width=\"12\" height=\"12\" fill=\"{}\"/>\n", x, y,
                        profiling::colour(profile, name));
    text += fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\">{}</text>\n", x + 16, y + 10, support::escaped_html(label));
    x += needs;
  }
  return y + 18 - begin;
}

}  // namespace

std::string Profile::svg(ProfileView const& view) const {
  double const from = std::max(view.from, 0.0);
  double to = view.to > from ? view.to : duration();
  if (!(to > from)) to = from + 1;
  int const width = std::max(view.width, label_width + 100);
  double const scale = (width - label_width - 10) / (to - from);
  std::size_t const shown = std::min(rows.size(), static_cast<std::size_t>(std::max(view.rows, 0)));
  std::string body;
  std::set<std::int32_t> used;
  double y = top;
  for (std::size_t i = 0; i < shown; ++i) {
    ProfileRow const& row = rows[i];
    if (i > 0 && (row.cta != rows[i - 1].cta || row.launch != rows[i - 1].launch)) y += 2 * track_gap;
    std::int32_t depth = 0;
    Track track(*this, from, scale, y);
    body += fmt::format("<text x=\"4\" y=\"{:.1f}\">{}</text>\n", y + bar - 4,
                        support::escaped_html(profiling::track_text(*this, row)));
    double const left = std::clamp(row.start, from, to), right = std::clamp(row.stop, from, to);
    std::string bars;
    for (std::int32_t e = row.first_event; e < row.first_event + row.events; ++e) {
      ProfileEvent const& event = events[static_cast<std::size_t>(e)];
      depth = std::max(depth, event.depth);
      if (event.stop < from || event.start > to) continue;
      used.insert(event.name);
      track.draw(event, to, bars);
    }
    double const height = (depth + 1) * bar;
    body += fmt::format("<rect x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{:.0f}\" fill=\"#f3f3f3\"/>\n",
                        label_width + (left - from) * scale, y, std::max((right - left) * scale, 0.0), height);
    body += bars;
    y += height + track_gap;
  }
  if (shown < rows.size()) {
    body += fmt::format("<text x=\"4\" y=\"{:.0f}\">and {}</text>\n", y + bar,
                        support::counted(static_cast<std::int64_t>(rows.size() - shown), "more warp"));
    y += bar + track_gap;
  }
  std::string axis;
  draw_axis(axis, from, to, scale, y);
  y += 8;
  std::string legend;
  y += draw_legend(*this, used, y, width, legend);
  std::string title = fmt::format("{} on {}", kernel, device);
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1:.0f}\" viewBox=\"0 0 {0} "
             "{1:.0f}\" font-family=\"sans-serif\" font-size=\"11\">\n<style>.in{{font-size:10px;fill:#111}}"
             "</style>\n<rect width=\"{0}\" height=\"{1:.0f}\" fill=\"#fff\"/>\n<text x=\"4\" y=\"16\" "
             "font-size=\"13\" font-weight=\"bold\">{2}</text>\n",
             width, y + 6, support::escaped_html(title)) +
         axis + body + legend + "</svg>\n";
}

}  // namespace tegula
