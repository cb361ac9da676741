#!/usr/bin/env python3
"""Records what BERT's basic tokeniser makes of each code point, for samples/minilm/unicode.cpp.

usage: record_unicode.py OUT.inc; needs the package tokenizers.

It asks the reference for each code point alone. Only the order of adjacent marks depends on neighbours, and the
reference drops nearly all marks. The syllables of Hangul follow a rule of Unicode, so they are not written.
"""
import sys
import textwrap

from tokenizers import normalizers, pre_tokenizers

HANGUL = range(0xAC00, 0xD7A4)


def ranges(codes):
    result = []
    for code in sorted(codes):
        if result and result[-1][1] == code - 1:
            result[-1][1] = code
        else:
            result.append([code, code])
    return result


def runs(pairs):
    """Joins (code, other) whose codes have a step of 1 or 2 and whose difference is the same: first, count, step, delta."""
    result, start = [], 0
    while start < len(pairs):
        delta, best = pairs[start][1] - pairs[start][0], (start, 1)
        for step in (1, 2):
            end = start
            while end + 1 < len(pairs) and pairs[end + 1][0] - pairs[end][0] == step and (
                    pairs[end + 1][1] - pairs[end + 1][0] == delta):
                end += 1
            best = max(best, (end, step), key=lambda one: one[0])
        result.append((pairs[start][0], best[0] - start + 1, best[1], delta))
        start = best[0] + 1
    return result


def gaps(firsts_and_rest):
    """Writes each first number as the distance from the first before."""
    result, before = [], 0
    for first, *rest in firsts_and_rest:
        result += [first - before, *rest]
        before = first
    return result


def main():
    normal = normalizers.BertNormalizer(clean_text=True, handle_chinese_chars=True, strip_accents=None, lowercase=True)
    parts = pre_tokenizers.BertPreTokenizer()
    tables = {"dropped": [], "spaces": [], "alone": [], "punctuation_marks": []}
    single, several = [], []
    for code in range(0x110000):
        if 0xD800 <= code < 0xE000:
            continue
        if len(parts.pre_tokenize_str(f"a{chr(code)}b")) == 3:
            tables["punctuation_marks"].append(code)
        made = normal.normalize_str(f"a{chr(code)}b")[1:-1]
        if made == "":
            tables["dropped"].append(code)
        elif made == " ":
            tables["spaces"].append(code)
        elif code not in HANGUL:
            if made[0] == made[-1] == " ":
                tables["alone"].append(code)
                made = made[1:-1]
            if len(made) > 1:
                several += [code, len(made), *map(ord, made)]
            elif made != chr(code):
                single.append((code, ord(made)))
    with open(sys.argv[1], "w", encoding="ascii") as out:
        out.write("// Written by test/minilm/record_unicode.py. Each first number of a group counts from that of the group before.\n")

        def write(name, comment, numbers):
            text = ", ".join(map(str, numbers))
            lines = textwrap.wrap(text, 118, initial_indent="    ", subsequent_indent="    ")
            out.write(f"// {comment}\ninline constexpr std::int32_t {name}[] = {{\n" + "\n".join(lines) + "};\n")

        for name, codes in tables.items():
            write(name, "code, number of codes", gaps((a, b - a + 1) for a, b in ranges(codes)))
        write("replaced", "code, number of codes, step between them, distance to the other", gaps(runs(single)))
        write("replaced_by_several", "code, number of others, others; no code counts from another", several)


if __name__ == "__main__":
    main()
