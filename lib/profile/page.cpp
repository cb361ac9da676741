// Writes the page of a profile: summary, tables, and a timeline drawn by its own script.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "support/html.hpp"
#include "support/json.hpp"
#include "profile/page_text.hpp"
#include "profile/picture.hpp"
#include "profile/summary.hpp"

namespace tegula {
namespace {

using namespace profiling;
using support::escaped_html;
using support::Json;
using support::text_of;

/// Rounds to picoseconds, which keeps the page short.
double rounded(double ns) { return std::round(ns * 1e3) / 1e3; }

std::string tables(Profile const& profile) {
  std::string text =
      "<table><tr><th>record</th><th>count</th><th>min</th><th>median</th><th>max</th><th>sum</th><th>share</th>"
      "<th>halves</th></tr>\n";
  std::int32_t role = -2;
  for (ProfileStatistic const& s : profile.statistics()) {
    if (s.role != role && !profile.roles.empty()) {
      std::string const name = profile.role_name(s.role);
      text += fmt::format("<tr class=\"role\"><td colspan=\"8\">{}</td></tr>\n",
                          name.empty() ? "other warps" : escaped_html(name));
    }
    role = s.role;
    text += fmt::format(
        "<tr><td><span class=\"swatch\" style=\"background:{}\"></span>{}</td><td>{}</td><td>{}</td>"
        "<td>{}</td><td>{}</td><td>{}</td><td>{:.1f} %</td><td>{}</td></tr>\n",
        colour(profile, s.name), escaped_html(profile.label(s.name)), s.count, time_text(s.min), time_text(s.median),
        time_text(s.max), time_text(s.sum), 100 * s.share, s.halves);
  }
  text += "</table>\n";
  std::vector<ProfileWait> const waits = profile.waits();
  if (waits.empty()) return text;
  text += "<table><tr><th>ring</th><th>consumers waited</th><th>producers waited</th><th></th></tr>\n";
  for (ProfileWait const& wait : waits)
    text += fmt::format("<tr><td>{}</td><td>{:.1f} %</td><td>{:.1f} %</td><td>{}</td></tr>\n", escaped_html(wait.ring),
                        wait.consumers, wait.producers, verdict(wait));
  return text + "</table>\n";
}

Json data_of(Profile const& profile) {
  Json names = Json::array(), tracks = Json::array();
  for (std::size_t i = 0; i < profile.names.size(); ++i) {
    ProfileName const& name = profile.names[i];
    auto const number = static_cast<std::int32_t>(i);
    names.push_back({{"label", profile.label(number)},
                     {"colour", colour(profile, number)},
                     {"line", name.file.empty() ? "" : fmt::format("{}:{}", name.file, name.line)}});
  }
  Json start = Json::array(), stop = Json::array(), net = Json::array(), reach = Json::array(), name = Json::array(),
       depth = Json::array(), state = Json::array(), value = Json::object();
  bool const launches = !profile.rows.empty() && profile.rows.front().launch != profile.rows.back().launch;
  for (ProfileRow const& row : profile.rows) {
    std::int32_t deepest = 0;
    double end = 0;
    for (std::int32_t e = row.first_event; e < row.first_event + row.events; ++e) {
      ProfileEvent const& event = profile.events[static_cast<std::size_t>(e)];
      deepest = std::max(deepest, event.depth);
      end = std::max(end, event.stop);
      start.push_back(rounded(event.start));
      stop.push_back(rounded(event.stop));
      net.push_back(rounded(event.duration));
      reach.push_back(rounded(end));
      name.push_back(event.name);
      depth.push_back(event.depth);
      state.push_back(static_cast<int>(event.state));
      if (event.value) value[fmt::to_string(e)] = fmt::to_string(*event.value);
    }
    bool const kernels = profile.processor_word.empty();
    std::string const group = kernels    ? profile.kernel
                              : launches ? fmt::format("launch {} CTA {}", row.launch, row.cta)
                                         : fmt::format("CTA {}", row.cta);
    tracks.push_back({{"title", track_text(profile, row)},
                      {"group", group},
                      {"where", kernels ? profile.device : fmt::format("{} {}", profile.processor_word, row.processor)},
                      {"start", rounded(row.start)},
                      {"stop", rounded(row.stop)},
                      {"first", row.first_event},
                      {"count", row.events},
                      {"depth", deepest}});
  }
  return {{"end", std::max(profile.duration(), 1.0)},
          {"names", std::move(names)},
          {"tracks", std::move(tracks)},
          {"start", std::move(start)},
          {"stop", std::move(stop)},
          {"net", std::move(net)},
          {"reach", std::move(reach)},
          {"name", std::move(name)},
          {"depth", std::move(depth)},
          {"state", std::move(state)},
          {"value", std::move(value)}};
}

/// Keeps text of the data from ending the script.
std::string script_safe(std::string text) {
  for (std::size_t at = text.find("</"); at != std::string::npos; at = text.find("</", at + 3))
    text.insert(at + 1, "\\");
  for (std::size_t at = text.find("<!--"); at != std::string::npos; at = text.find("<!--", at + 9))
    text.replace(at, 1, "\\u003c");
  return text;
}

}  // namespace

std::string Profile::page() const {
  std::string text = "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n<title>" +
                     escaped_html(kernel) + ": timeline</title>\n<style>";
  text += page_style;
  text +=
      "</style></head>\n<body>\n<h1>" + escaped_html(kernel) + "</h1>\n<p>" + escaped_html(headline(*this)) + "</p>\n";
  for (std::string const& note : notes(*this)) text += "<p class=\"note\">note: " + escaped_html(note) + "</p>\n";
  text +=
      "<p id=\"bar\"><button id=\"in\">zoom in</button><button id=\"out\">zoom out</button>"
      "<button id=\"earlier\">earlier</button><button id=\"later\">later</button>"
      "<button id=\"whole\">whole</button> <select id=\"cta\"><option value=\"\">all CTAs</option></select> "
      "keys w s a d, 0 for the whole; ctrl and wheel zoom, drag moves</p>\n"
      "<div id=\"box\"><canvas id=\"time\"></canvas><div id=\"space\"></div></div><div id=\"tip\"></div>\n";
  text += tables(*this);
  text += "<script>\nconst data = " + script_safe(text_of(data_of(*this))) + ";\n";
  text += page_script;
  return text + "</script>\n</body></html>\n";
}

}  // namespace tegula
