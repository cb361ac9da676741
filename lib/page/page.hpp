// Writes a page of one kernel: its text, the IR after each pass, the code, facts, advice and timeline, side by side.
#pragma once

#include <string>
#include <vector>

namespace tegula::page {

/// Holds a part of the page that is one text.
struct Section {
  std::string id;     ///< letters and '-'
  std::string title;  ///< of its tab
  std::string note;   ///< a sentence above the text, or the reason why there is none
  std::string text;
};

/// Holds the IR after a pass.
struct Pass {
  std::string name;
  std::string summary;
  std::string text;  ///< empty: the pass changed nothing
};

/// Holds the contents of a page. Any text may be in them.
struct Page {
  std::string kernel;
  std::string headline;           ///< a line below the name: target, options
  std::vector<Section> sections;  ///< in order; the passes stand behind the first one
  std::string recorded;           ///< IR before the passes
  std::vector<Pass> passes;       ///< in the order in which they ran
  std::string timeline;           ///< a page by itself, of Profile::page(); empty: there is none
  std::string timeline_note;      ///< origin of the timeline, or the reason why there is none
  std::string timeline_text;      ///< its summary
};

/// Returns the page as one file of HTML, which loads nothing. Without scripts all parts stand one below the other.
std::string html(Page const& page);

}  // namespace tegula::page
