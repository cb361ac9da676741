// Compares the program with answers that test/smollm/record_reference.py recorded.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "gguf.hpp"

namespace smollm {

/// Counts what agrees with the records.
struct Agreement {
  int tokens = 0, agreed = 0, clear = 0, clear_agreed = 0, texts = 0, equal_texts = 0;
  double error = 0;           ///< the largest of a logit
  std::size_t of_logits = 0;  ///< compared

  void compare(double logit, double recorded) {
    error = std::max(error, std::abs(logit - recorded));
    ++of_logits;
  }
};

/// Compares with one answer, forced along its text. If each choice is the reference's, so is the text without force.
template <class Generator>
void compare_answer(nlohmann::json const& record, Generator& generator, Agreement& result) {
  constexpr double clear_margin = 0.05;
  auto const answer = record.at("answer").get<std::vector<int>>();
  auto const best = record.at("logits").get<std::vector<double>>(),
             margins = record.at("margins").get<std::vector<double>>(),
             others = record.value("others", std::vector<double>());  // older records have none
  generator.read(0, record.at("prompt").get<std::vector<int>>());
  bool equal = true;
  for (std::size_t i = 0; i < answer.size(); ++i) {
    if (i != 0) generator.step();
    std::vector<float> const logits = generator.logits();
    result.compare(logits.at(static_cast<std::size_t>(answer[i])), best.at(i));
    for (std::size_t k = 0; k < 2 && !others.empty(); ++k)  // the tokens that record_reference.py samples
      result.compare(logits[(7919 * i + 24593 * (k + 1)) % logits.size()], others.at(2 * i + k));
    generator.choose({});
    bool const same = generator.tokens().front() == answer[i], is_clear = margins.at(i) > clear_margin;
    ++result.tokens;
    result.agreed += static_cast<int>(same);
    result.clear += static_cast<int>(is_clear);
    result.clear_agreed += static_cast<int>(same && is_clear);
    equal = equal && same;
    generator.force({answer[i]});
  }
  ++result.texts;
  result.equal_texts += static_cast<int>(equal);
}

/// Compares with all answers of a file. Returns the exit status.
template <class Generator>
int check(std::string const& path, Generator& generator) {
  std::ifstream input(path);
  nlohmann::json const records = nlohmann::json::parse(input, nullptr, false);
  if (!records.is_array() || records.empty())
    throw FileError(path + ": is not a record of test/smollm/record_reference.py");
  Agreement found;
  for (nlohmann::json const& record : records) compare_answer(record, generator, found);
  std::printf(
      "%d of %d tokens are the reference's, %d of %d where its margin is over 0.05; %d of %d texts are equal; largest "
      "error of %zu logits %.1e\n",
      found.agreed, found.tokens, found.clear_agreed, found.clear, found.equal_texts, found.texts, found.of_logits,
      found.error);
  return found.clear_agreed == found.clear ? 0 : 1;
}

}  // namespace smollm
