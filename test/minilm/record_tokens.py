#!/usr/bin/env python3
"""Records how the reference tokenizer splits texts, for test/minilm/tokenizer_test.cpp.

usage: record_tokens.py FOLDER OUT.json [PROGRAM]; FOLDER holds vocab.txt; needs the package tokenizers.

OUT.json gets texts, their tokens, and the tokens of the vocabulary that occur in them, which are numbered anew. With
PROGRAM (the sample minilm) it also compares the program with the reference in the whole vocabulary, on these texts and
on random ones, and prints what differs.
"""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers, processors

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
import token_records  # noqa: E402

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
MOST = 256
TEXTS = [
    "", " ", "a", "Hello, world!", "The quick brown fox jumps over the lazy dog.", "it's we're I'll don't IT'S",
    "  two spaces  and\ttabs\t\tand lines\r", "5 6  78 9.50 -1e10 $3.99 #tag @user 50%", "x = [i**2 for i in range(10)]",
    "http://example.org/a?b=c&d=e", "!!! ... ??? --- ''' \"\"\" ^~`|", "unaffable embeddings tokenization",
    "na\u00efve caf\u00e9 \u00fcber stra\u00dfe \u0141\u00f3d\u017a \u0130stanbul", "e\u0301 combining a\u0308\u0301",
    "\u65e5\u672c\u8a9e\u306e\u6587 \u4e2d\u6587abc\u4e2d", "\u041f\u0440\u0438\u0432\u0435\u0442 \u043c\u0438\u0440 \u0419\u0451",
    "\u0645\u0631\u062d\u0628\u0627 \u05e9\u05dc\u05d5\u05dd", "\U0001f600 \U0001f468\u200d\U0001f469\u200d\U0001f467",
    "\ud55c\uad6d\uc5b4 \uac01 \uac00", "\u00b2\u00b3 \u00bd \u2167 \u0663\u0664 \u0967", "\u00a0no-break\u00a0space \u2003em \u3000wide",
    "\u200bzero width\u200b soft\u00adhyphen", "\u0390\u03a3\u03af\u03c3\u03c5\u03c6\u03bf\u03c2 \u1f08\u0391", "\uf900 \ufa0e \U0002f800 \u3300",
    "[CLS] and [SEP] [MASK][PAD] [UNK] [mask] [[SEP]]", "a" * 100, "b" * 101, "\x00\x01\x7f\ufffd\ue000\u0085",
    "tail   ", "\u201cquotes\u201d \u2018single\u2019 \u2014 dash\u2026", "word " * 300, "\u0915\u094d\u0937 \u09cb \u0bcb \u1b06",
]


def reference(tokens):
    vocabulary = {token: number for number, token in enumerate(tokens)}
    result = Tokenizer(models.WordPiece(vocab=vocabulary, unk_token="[UNK]", max_input_chars_per_word=100))
    result.normalizer = normalizers.BertNormalizer(clean_text=True, handle_chinese_chars=True, strip_accents=None,
                                                   lowercase=True)
    result.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    result.add_special_tokens([AddedToken(token, normalized=False, special=True) for token in SPECIAL])
    result.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[(one, vocabulary[one]) for one in ("[CLS]", "[SEP]")])
    result.enable_truncation(MOST)
    return result


def drawn_texts(count, seed):
    ranges = [(32, 126), (97, 122), (97, 122), (65, 90), (160, 1000), (0x300, 0x9FF), (0xA00, 0x1FFF), (0x2000, 0x2FFF),
              (0x3000, 0xD7FF), (0xE000, 0xFFFF), (0x10000, 0x1FFFF), (0x20000, 0x2FFFF), (0xE0000, 0x10FFFF)]
    return list(token_records.random_texts(count, seed, ranges, ["", " ", "  ", "\t", "'s", ", "]))


def main():
    with open(os.path.join(sys.argv[1], "vocab.txt"), encoding="utf-8") as file:
        tokens = file.read().split("\n")[:-1]
    whole = reference(tokens)
    texts = TEXTS + drawn_texts(40, 1)
    used = set(SPECIAL) | {token for text in texts for token in whole.encode(text).tokens}
    few = [token for token in tokens if token in used]
    token_records.write_record(sys.argv[2], {"tokens": few}, texts, reference(few))
    if len(sys.argv) < 4:
        return 0
    texts = [text for text in texts if "\n" not in text] + drawn_texts(3000, 2)
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", newline="\n") as file:
        file.write("".join(text + "\n" for text in texts))
        file.flush()
        output = subprocess.run([sys.argv[3], "--model", sys.argv[1], "--file", file.name, "--tokens"],
                                capture_output=True, text=True, check=True).stdout
    return token_records.compare(texts, output, whole)


if __name__ == "__main__":
    sys.exit(main())
