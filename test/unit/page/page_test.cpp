// Tests the HTML of a kernel's page: escaping, folding, parts that lack.
#include "page/page.hpp"

#include <fmt/format.h>

#include <string>

#include "support/catch.hpp"
#include "support/html.hpp"

using namespace tegula;
using tegula::page::html;
using tegula::page::Page;
using tegula::test::ContainsSubstring;

namespace {

constexpr char const* attack = "</pre></script><img src=x onerror='alert(1)'>\"&amp;";

std::string numbered(int first, int last) {
  std::string text;
  for (int i = first; i <= last; ++i) text += fmt::format("line {}\n", i);
  return text;
}

std::size_t count_of(std::string const& text, std::string const& word) {
  std::size_t count = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

}  // namespace

TEST_CASE("escaped_html: reserved and control characters lose their meaning, lines stay", "[page]") {
  CHECK(support::escaped_html("a < b && c > \"d\" 'e'") == "a &lt; b &amp;&amp; c &gt; &quot;d&quot; &#39;e&#39;");
  CHECK(support::escaped_html(std::string("a\0b\x1b\x7f", 5)) == "a b  ");
  CHECK(support::escaped_html("a\n\tb") == "a\n\tb");
  CHECK(support::escaped_html("\xc3\xa4") == "\xc3\xa4");
}

TEST_CASE("page: no text of a kernel becomes a part of the page's own code", "[page]") {
  Page page;
  page.kernel = page.headline = page.recorded = attack;
  page.sections = {{attack, attack, attack, attack}};
  page.passes = {{attack, attack, std::string(attack) + "\nmore\n"}, {attack, attack, ""}};
  page.timeline = page.timeline_note = page.timeline_text = attack;
  std::string const text = html(page);
  CHECK(text.find("<img") == std::string::npos);
  CHECK(text.find("onerror='") == std::string::npos);
  CHECK(count_of(text, "<script>") == 1);
  CHECK(count_of(text, "</script>") == 1);
  CHECK(count_of(text, "<pre>") == count_of(text, "</pre>"));
  CHECK(count_of(text, "onerror=&#39;alert(1)&#39;&gt;&quot;&amp;amp;") >= 12);
}

TEST_CASE("page: nothing is loaded, whatever a text asks for", "[page]") {
  std::string const text = html({});
  CHECK_THAT(text, ContainsSubstring("Content-Security-Policy\" content=\"default-src 'none'"));
  for (char const* word : {"http:", "https:", "src=\"//", "@import", "url("})
    CHECK(text.find(word) == std::string::npos);
}

TEST_CASE("page: passes are compared with the last change, and those without one are folded", "[page]") {
  Page page;
  page.recorded = numbered(1, 20);
  page.passes = {{"first", "", ""},
                 {"second", "", page.recorded},  // says that it changed, but gives the same text
                 {"third", "Adds a line.", page.recorded + "line 21\n"},
                 {"fourth", "", ""}};
  std::string const text = html(page);
  CHECK_THAT(text, ContainsSubstring("1 of 4 passes change the IR"));
  CHECK_THAT(text, ContainsSubstring("<summary>2 passes change nothing</summary>"));
  CHECK_THAT(text, ContainsSubstring("<summary>1 pass changes nothing</summary>"));
  CHECK(count_of(text, "<article ") == 2);
  std::string const article = text.substr(text.find("<article id=\"pass-3\">"));
  CHECK_THAT(article,
             ContainsSubstring("<p>Adds a line.</p>\n<details class=\"equal\"><summary>17 equal lines</summary>"));
  CHECK_THAT(article, ContainsSubstring("  line 18\n  line 19\n  line 20\n<ins>+ line 21</ins>\n</pre>"));
  CHECK_THAT(article, ContainsSubstring("<ins>+1</ins> <del>-0</del>"));
}

TEST_CASE("page: few equal lines between changes are not folded", "[page]") {
  Page page;
  page.recorded = "a\n" + numbered(1, 7) + "b\n" + numbered(8, 15) + "c\n";
  page.passes = {{"pass", "", numbered(1, 7) + numbered(8, 15)}};
  std::string const text = html(page);
  CHECK(count_of(text, "equal lines</summary>") == 1);
  CHECK_THAT(text, ContainsSubstring("<summary>2 equal lines</summary>\n<pre>\n  line 11\n  line 12\n</pre>"));
  CHECK_THAT(text, ContainsSubstring("<del>- a</del>\n  line 1\n"));
}
