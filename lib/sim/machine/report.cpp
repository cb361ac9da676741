#include "sim/machine/report.hpp"

#include "support/string_buffer.hpp"

namespace tegula::sim::machine {

std::string_view name(ReportKind kind) {
  switch (kind) {
    case ReportKind::race_raw:
      return "race (read after write)";
    case ReportKind::race_war:
      return "race (write after read)";
    case ReportKind::race_waw:
      return "race (write after write)";
    case ReportKind::missing_proxy_fence:
      return "missing proxy fence";
    case ReportKind::missing_wgmma_fence:
      return "missing wgmma fence";
    case ReportKind::never_written:
      return "never-written data";
    case ReportKind::stale:
      return "stale data";
    case ReportKind::deadlock:
      return "deadlock";
    case ReportKind::livelock:
      return "livelock";
    case ReportKind::wrong_byte_count:
      return "wrong byte count";
    case ReportKind::phase_error:
      return "phase error";
    case ReportKind::use_before_init:
      return "use before init";
    case ReportKind::dead_barrier:
      return "use of a dead barrier";
    case ReportKind::barrier_misuse:
      return "barrier misuse";
    case ReportKind::register_pool:
      return "register pool";
    case ReportKind::wrong_scope:
      return "wrong scope";
    case ReportKind::peer_lifetime:
      return "peer lifetime";
    case ReportKind::descriptor:
      return "tensor map without acquire";
    case ReportKind::misaligned:
      return "misaligned copy";
    case ReportKind::open_at_exit:
      return "open at exit";
    case ReportKind::unbalanced_at_exit:
      return "unbalanced at exit";
    case ReportKind::misuse:
      return "misuse";
  }
  return "unknown";
}

std::string place_text(ActionSite const& site) {
  std::string_view file = site.file;
  file = file.substr(file.find_last_of('/') + 1);
  support::StringBuffer text;
  if (site.line != 0) {
    text << file << ':' << site.line;
    if (site.ir_line != 0) text << " (ir " << site.ir_line << ')';
  } else if (site.ir_line != 0) {
    text << "ir " << site.ir_line;
  } else {
    text << "an unknown place";
  }
  return std::move(text).str();
}

namespace {

void put(support::StringBuffer& text, std::string_view label, Side const& side) {
  if (!side.present()) return;
  text << "\n  " << label << side.text;
  if (side.site.op[0] != '\0') text << ", " << side.site.op;
  text << " at " << place_text(side.site);
}

}  // namespace

std::string Report::text() const {
  support::StringBuffer text;
  text << name(kind) << ": " << sentence;
  put(text, earlier.present() && later.present() ? "earlier: " : "", earlier);
  put(text, earlier.present() && later.present() ? "later:   " : "", later);
  for (std::string const& note : notes) text << "\n  " << note;
  if (!schedule.empty()) text << "\n  schedule " << schedule << ", step " << step;
  return std::move(text).str();
}

}  // namespace tegula::sim::machine
