#include "sim/machine/report.hpp"

#include "support/enum_names.hpp"
#include "support/string_buffer.hpp"

namespace tegula::sim::machine {

namespace {

constexpr support::EnumNames<ReportKind::misuse> names({
    {ReportKind::race_raw, "race (read after write)"},
    {ReportKind::race_war, "race (write after read)"},
    {ReportKind::race_waw, "race (write after write)"},
    {ReportKind::missing_proxy_fence, "missing proxy fence"},
    {ReportKind::missing_wgmma_fence, "missing wgmma fence"},
    {ReportKind::never_written, "never-written data"},
    {ReportKind::stale, "stale data"},
    {ReportKind::deadlock, "deadlock"},
    {ReportKind::livelock, "livelock"},
    {ReportKind::wrong_byte_count, "wrong byte count"},
    {ReportKind::phase_error, "phase error"},
    {ReportKind::use_before_init, "use before init"},
    {ReportKind::dead_barrier, "use of a dead barrier"},
    {ReportKind::barrier_misuse, "barrier misuse"},
    {ReportKind::register_pool, "register pool"},
    {ReportKind::wrong_scope, "wrong scope"},
    {ReportKind::peer_lifetime, "peer lifetime"},
    {ReportKind::descriptor, "tensor map without acquire"},
    {ReportKind::misaligned, "misaligned copy"},
    {ReportKind::open_at_exit, "open at exit"},
    {ReportKind::unbalanced_at_exit, "unbalanced at exit"},
    {ReportKind::misuse, "misuse"},
});

}  // namespace

std::string_view name(ReportKind kind) { return names[kind]; }

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
