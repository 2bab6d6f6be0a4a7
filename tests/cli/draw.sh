#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# groat draw: the contents of the picture, and bad input.
. "$(dirname "$0")/common.sh"

loader=tile_loader_lds
svg=$work/picture.svg

# ---- bad input: one line, the right code, and nothing left

# refused NAME CODE TEXT WORDS...
refused() {
    of=$1
    want=$2
    text=$3
    shift 3
    expect "$of" "$want" draw "$@"
    says "$of: says why" "$text"
    [ "$(wc -l <"$err")" -eq 1 ] && pass "$of: in one line" ||
        fail "$of: in one line" "$(head -n 3 "$err")"
    [ -e "$svg" ] && fail "$of: leaves nothing" || pass "$of: leaves nothing"
}
refused "no file" 2 "draw needs -o FILE" $loader
refused "no spec" 2 "draw needs SPEC" -o "$svg"
refused "two specs" 2 "takes no word" $loader $loader -o "$svg"
refused "no value" 2 "--output needs a value" $loader -o
refused "an empty name" 2 "not an empty word" $loader -o ""
refused "two files" 2 "--output" $loader -o "$svg" -o "$svg"
refused "an unknown option" 2 "no option --colour" $loader -o "$svg" --colour
refused "an unknown short option" 2 "no option '-q'" $loader -o "$svg" -q
refused "a bad spec" 2 "dtype" $loader:dtype=f7 -o "$svg"
refused "a bad run-time argument" 2 "first_col" $loader -o "$svg" --first-col 1
refused "an unknown family" 2 no_such_family no_such_family -o "$svg"
refused "a GPU" 2 "draw needs a cpu target, which reports each access" $loader \
    -o "$svg" --target hip:gfx950
refused "another GPU" 2 "this is cuda:sm_90a" $loader -o "$svg" \
    --target cuda:sm_90a
refused "no folder" 1 "$work/none/p.svg" $loader -o "$work/none/p.svg"
refused "a folder" 1 "$work" $loader -o "$work"
refused "another kind of picture" 2 "'.pdf'" $loader -o "$work/x.pdf"

# ---- the picture of README.md is up to date

expect "the picture of README.md" 0 draw --target cpu:gfx950 -o "$svg" \
    $loader:tile_rows=16,tile_cols=64,src_cols=64,num_loading_warps=2,num_warps=2
cmp -s "$svg" "$tree/doc/tile.svg" && pass "doc/tile.svg is fresh" ||
    fail "doc/tile.svg is fresh" "draw it with the spec above -o doc/tile.svg"
rm -f "$svg"
[ -w /dev/full ] && refused "a full disk" 1 /dev/full $loader -o /dev/full
mkdir -p "$work/own/mine"
for file in args.h params.def; do
    sed "s/$loader/mine/g" "$tree/kernels-src/$loader/$file" \
        >"$work/own/mine/$file"
done
sed "s/$loader/mine/g" "$tree/kernels-src/$loader/$loader.h" \
    >"$work/own/mine/mine.h"
refused "a family without driver" 2 "no run.def" mine -o "$svg" \
    --family-path "$work/own"
echo old >"$svg"
expect "a refusal keeps what was there" 2 draw $loader:dtype=f7 -o "$svg"
[ "$(cat "$svg")" = old ] && pass "it is there" || fail "it is there"

# ---- good input

expect "a picture" 0 draw $loader -o "$svg"
answers "names the file" "$svg: "
grep -q '^</svg>$' "$svg" && pass "it is whole" || fail "it is whole"
grep -q -x old "$svg" && fail "nothing old is left" || pass "nothing old is left"
expect "the long option" 0 draw --output="$work/same.svg" $loader
cmp -s "$svg" "$work/same.svg" && pass "one spec, one picture" ||
    fail "one spec, one picture"
expect "to a pipe" 0 draw $loader -o /dev/stdout
grep -q '</svg>' "$out" && pass "it came" || fail "it came"
expect "to stdout" 0 draw $loader -o -
cmp -s "$out" "$svg" && pass "it is the picture alone" ||
    fail "it is the picture alone"
says "the answer is on stderr" "page"
expect "to stdout, with JSON" 2 draw $loader -o - --json
says "both want it" "both want stdout"
grep -q 'prefers-color-scheme:dark' "$svg" && pass "it is dark in the dark" ||
    fail "it is dark in the dark"
if command -v rsvg-convert >/dev/null 2>&1; then
    expect "as PNG" 0 draw $loader -o "$work/p.png"
    head -c 8 "$work/p.png" | od -An -tx1 | grep -q "89 50 4e 47" &&
        pass "it is one" || fail "it is one"
else
    expect "as PNG, which needs a tool" 1 draw $loader -o "$work/p.png"
    says "it is named" "rsvg-convert"
fi
printf '#!/bin/sh\necho no pixels; exit 3\n' >"$work/rsvg-convert"
chmod +x "$work/rsvg-convert"
kept=$PATH
PATH=$work:$PATH
expect "a converter that fails" 1 draw $loader -o "$work/bad.png"
says "its words are told" "ended with 3: no pixels"
PATH=$kept
[ -e "$work/bad.png" ] && fail "nothing is left" || pass "nothing is left"

if ! command -v python3 >/dev/null 2>&1; then
    skip "what stands in the pictures: there is no python3"
    finish
fi

# ---- the page with a slider

# page.py PAGE KINDS BYTES: checks the data of the page's script.
cat >"$work/page.py" <<'END'
import json
import re
import sys

text = open(sys.argv[1], encoding="ascii").read()
run = json.loads(re.search(r"const run = (\{.*?\});\n", text, re.S).group(1))
bad = []
for word in ("src=", "href=", "http:", "https:", "@import", "fetch("):
    at = text.replace("http://www.w3.org/2000/svg", "").find(word)
    if at >= 0:
        bad.append("it needs %s" % text[at:at + 40])
if text.count("</script>") != 1 or text.count("<svg") != 1:
    bad.append("one script and one picture")
READ, WRITE, COPY, _, ARRIVE, WAIT, RESUME, LAND, LOAD, STORE = range(10)
kinds = {step[0] for step in run["steps"]}
for kind in map(int, sys.argv[2].split(",")):
    if kind not in kinds:
        bad.append("no step of kind %d" % kind)
if not all(re.fullmatch(r"[a-z_]\w*", name) for name in run["buffers"]):
    bad.append("buffers %s" % run["buffers"])
copied = set()
touched = {}
for step in run["steps"]:
    access, wave, mbarrier, phase, width, times, spans, sources, fills, *places = step
    if not 0 <= wave < run["waves"] or any(x > run["shared"] for x in spans):
        bad.append("a step outside")
    device = access in (LOAD, STORE)
    if spans != sorted(spans) or len(spans) % 2:
        bad.append("spans %s" % spans)
    if access != ARRIVE and (times > 0) != (spans != [] or device):
        bad.append("%d times nothing" % times)
    if (device or access == COPY) != (places != []):
        bad.append("%d instructions of kind %d" % (times, access))
    for where, *bytes_of in places[0] if device else []:
        touched[access, where] = touched.get((access, where), set())
        for i in range(0, len(bytes_of), 2):
            touched[access, where].update(range(bytes_of[i], bytes_of[i + 1]))
    if access == COPY:
        if not sources or any(not run["buffers"][b] or at < 0 for b, at in sources):
            bad.append("a copy from nowhere")
        if len(places[0]) != times + 1 or \
                sum(map(sum, places[0])) < sum(spans):
            bad.append("%d instructions in %s" % (times, places))
        for i in range(0, len(spans), 2):
            copied.update(range(spans[i], spans[i + 1]))
for access, where in sorted(touched):
    told = "%s %s %d" % ("load" if access == LOAD else "store",
                         run["buffers"][where], len(touched[access, where]))
    if len(sys.argv) > 4 and told not in sys.argv[4].split(","):
        bad.append(told)
if len(sys.argv) > 4 and len(touched) != len(sys.argv[4].split(",")):
    bad.append("%d kinds of places" % len(touched))
if len(copied) != int(sys.argv[3]):
    bad.append("%d bytes are copied" % len(copied))
print("\n".join(sorted(set(bad))))
sys.exit(1 if bad else 0)
END

# has_page NAME KINDS BYTES PLACES SPEC OPTION...: checks for steps of these
# kinds, copies of so many bytes of shared memory, and how many bytes of which
# buffers are loaded and stored.
has_page() {
    of=$1 kinds=$2 bytes=$3 places=$4
    shift 4
    expect "$of: a page" 0 draw "$@" -o "$work/page.html"
    said=$(python3 "$work/page.py" "$work/page.html" "$kinds" "$bytes" \
        ${places:+"$places"} 2>&1) &&
        pass "$of: its steps" || fail "$of: its steps" "$said"
}
browser=$(command -v chromium || command -v chromium-browser || :)
[ -n "$browser" ] || skip "a page in a browser: there is no chromium"

# visit STEP[/SCHEME]...: opens the page at these steps in a browser.
visit() {
    [ -z "$browser" ] || python3 "$tree/tests/tools/browser.py" "$browser" \
        "$work/page.html" "$work" "$@" || fail "a browser opens the page"
}

# shows STEP WORDS...: checks what the page says there.
shows() {
    [ -n "$browser" ] || return 0
    at=$1
    shift
    for words; do
        grep -F -q "$words" "$work/$at.dom" && pass "in a browser, $at: $words" ||
            fail "in a browser, $at: $words"
    done
}
(cd "$work" && "$groat" new gemv >/dev/null --from gemv)
has_page "no shared memory" 8,9 0 "load a 32768,load x 16384,store y 16" \
    "$work/gemv" --target cpu:sm_90a
visit 1
shows 1 "Wave 0 loads bytes 0 to 8191 of a, 0 to 16383 of x" \
    '<div id="shared" hidden'
sed 's/    global_store4(\(.*\), float_bits(\(.*\)));/    *reinterpret_cast<float *>(\1) = \2;/' \
    "$work/gemv/gemv.h" >"$work/own.h"
mv "$work/own.h" "$work/gemv/gemv.h"
has_page "pointers of its own" 8,9 0 "load a 32768,load x 16384,store y 16" \
    "$work/gemv" --target cpu:sm_90a --pointers
has_page "a tile" 0,1,2,5,6,7,9 8192 "" $loader
expect "a pipeline: a page" 0 draw kv_buffer_pipelined --target cpu:gfx950 \
    -o "$work/page.html"
visit 2 3 100
shows 2 "copies 8192 bytes (8 instructions, 16 per lane) from K at byte 0 and V at byte 0"
# Of the counter that the wave waits for, loads of Q are no copies.
shows 3 "has waited: 4 copies of a lane have landed" "<td>4096 bytes</td>"
shows 100 "<td>waits at a barrier for wave 2</td>"
(cd "$work" && "$groat" new ring >/dev/null --from ring)
has_page "a ring of one's own" 0,2,7 8192 "" "$work/ring" --target cpu:sm_90a
visit 2 3 4
# Of the first four copies one has landed, and is read.
shows 2 "has waited: 1 copies of a lane have landed" "<td>1536 bytes</td>"
shows 3 "reads 512 bytes" "<td>1536 bytes</td>"
shows 4 "<td>2048 bytes</td>"
has_page "a ring" 1,2,4,5,6 98304 "" kv_producer_pipeline --target cpu:sm_90a
visit 0 64 9999 0/light 64/light 64/dark
shows 0 "Nothing has happened yet." "step 0 of"
shows 64 "Wave 4 copies 2048 bytes" "counted by mbarrier 98320, phase 0" \
    "<td>waits for mbarrier 98304, phase 0</td>"
shows 9999 "<td>arrives on mbarrier 98344"
if [ -n "$browser" ]; then
    # pixels STEP-SCHEME COLOUR: of a picture of the page.
    pixels() {
        python3 "$tree/tests/tools/colours.py" "$work/$1.png" \
            >"$work/colours" 2>&1
        sed -n "s/^$2 //p" "$work/colours" | grep . || echo 0
    }
    # At step 0 nothing is in flight but in the legend; at step 64 much is.
    before=$(pixels 0-light f2bd55)
    after=$(pixels 64-light f2bd55)
    [ "$before" -lt 1000 ] && [ "$after" -gt 20000 ] &&
        pass "a picture of the page" ||
        fail "a picture of the page" "$before and $after pixels are in flight"
    after=$(pixels 64-dark b8862b)
    [ "$after" -gt 20000 ] && [ "$(pixels 64-dark 16181c)" -gt 100000 ] &&
        [ "$(pixels 64-dark ffffff)" -lt 1000 ] && pass "a picture in the dark" ||
        fail "a picture in the dark" "$after pixels are in flight"
fi

# check.py PICTURE ANSWER REPORT [BYTE:ROW,COLUMN|BYTE:zero|
# BYTE:WAVE/COPY.LANE|gaps:N|worst:N]...: checks what must hold of any picture,
# and which data is at bytes of shared memory.
cat >"$work/check.py" <<'END'
import json
import re
import sys
import xml.etree.ElementTree as tree

NS = "{http://www.w3.org/2000/svg}"
text = open(sys.argv[1], encoding="ascii").read()
answer = json.load(open(sys.argv[2]))
report = json.load(open(sys.argv[3]))
root = tree.fromstring(text)
bad = []


def check(good, words):
    if not good:
        bad.append(words)


# Self-contained: no script, no external resources; A4 wide; no small text.
check(root.tag == NS + "svg", "the root is an svg")
check(root.get("width") == "210mm", "it is as wide as A4")
box = [float(x) for x in root.get("viewBox").split()]
pages = box[3] / box[2] / (297 / 210)
check(answer["pages"] - 1 < pages <= answer["pages"], "as many pages")
check(abs(float(root.get("height")[:-2]) / 297 - pages) < .01, "its scale")
lowest = max(float(at.get("y")) for at in root.iter(NS + "text"))
check(box[3] - lowest < 17, "the last page ends with what is on it")
for at in root.iter():
    check(at.tag.startswith(NS), "an element of elsewhere: %s" % at.tag)
    check(at.tag not in (NS + "script", NS + "image", NS + "use"),
          "there is a %s" % at.tag)
    for name, value in at.items():
        check(not name.startswith("on") and "href" not in name, name)
        check("url(" not in value or "url(#" in value, value)
style = root.find(NS + "style").text
check("@import" not in style, "no style sheet from elsewhere")
for size in re.findall(r"font-size:([\d.]+)px", style):
    check(float(size) >= 6, "text of %s pt" % size)
check(len(text) < 2 << 20 and len(text) == answer["output_bytes"], "its size")

# Every label is on the page, and inside its box.
for at in root.iter(NS + "text"):
    check(0 < float(at.get("x")) < box[2], "text beside the page")
    check(0 < float(at.get("y")) < box[3], "text off the pages")


def width(label):
    return sum(2.1 if c in "./-, " else 3.82 if c.isdigit() else 5
               for c in label)


def groups(name):
    return [g for g in root.iter(NS + "g")
            if name in g.get("class", "").split()]


def fills(group):
    return [r.get("class") for r in group.findall(NS + "rect")]


for group in groups("shared") + groups("source"):
    rect = group.find(NS + "rect")
    for label in group.findall(NS + "text"):
        check(width(label.text) <= float(rect.get("width")) + .01,
              "%s does not fit" % label.text)
        check(0 < float(label.get("y")) - float(rect.get("y")) <
              float(rect.get("height")), "%s lies outside" % label.text)

# Shared memory: each cell once, with a label unless it was never written, and
# in the colour of its banks.
banks = answer["shared_banks"]
cells = {}
for group in groups("shared"):
    at = int(group.get("id")[4:])
    check(at not in cells, "cell %d is there twice" % at)
    cells[at] = group
    labels = [t.text for t in group.findall(NS + "text")]
    title = group.find(NS + "title").text
    if "never written" in title:
        check(labels == [] and fills(group) == ["gap"], "gap %d" % at)
        continue
    check(re.match(r"\d+/\d+(\.\d+)?", labels[0]), "the label of %d" % at)
    check(fills(group)[0] == "g%d" % (at // 16 % (banks // 4)),
          "the colour of %d" % at)
    check(("zero" in fills(group)) == ("zeros" in title), "zeros at %d" % at)
whole = (answer["shared_bytes"] + 15) // 16
check(len(cells) == answer["cells"], "cells as answered")
check(len(cells) == min(whole, 2048), "a cell per 16 bytes")
check(sorted(cells) == [16 * i for i in range(len(cells))], "no cell is missing")
check(sum("gap" in fills(g) for g in cells.values()) == answer["gap_cells"],
      "gaps as answered")
check(sum("zero" in fills(g) for g in cells.values()) == answer["zero_cells"],
      "zeros as answered")
colours = {fills(g)[0] for g in cells.values() if fills(g) != ["gap"]}
check(len(colours) == min(len(cells) - answer["gap_cells"], banks // 4),
      "%d colours" % len(colours))
check(len(re.findall(r"^\.g\d+\{fill", style, re.M)) == banks // 4, "the palette")

# The source: each vector once.
source = groups("source")
check(len(source) == answer["source_cells"], "vectors as answered")
check(len({g.get("id") for g in source}) == len(source), "vectors once")
check(sum("zero" in fills(g) for g in source) == answer["source_zero_cells"],
      "zero vectors as answered")

# Conflicts are marked where the figures have some, and figures have some where
# the report does.
marked = len(groups("conflict"))
check(marked == sum(f["in_conflict"] for f in answer["figures"]),
      "%d boxes are marked" % marked)
check(len(groups("spot")) == sum(f["boxes"] for f in answer["figures"]),
      "boxes as answered")
for group in groups("spot"):
    check(("conflict" in group.get("class").split()) ==
          any(c in ("hot", "warm") for c in fills(group)),
          "an outline and a conflict are one")
worst = {}
for f in answer["figures"]:
    key = f["access"], f["bytes"]
    worst[key] = max(worst.get(key, 1), f["worst"])
    check((f["in_conflict"] > 0) == (f["worst"] > 1), "%s of %d bytes" % key)
    check((f["passes"] > f["passes_min"]) == (f["worst"] > 1), "passes")
check(report["banks"] == answer["banks"], "the sums are those of the report")
if len(answer["figures"]) < 12:
    for k in report["banks"]:
        key = k["access"], k["bytes"]
        check(worst.get(key, 1) == k["worst"], "the worst %s of %d" % key)

# The data at the given bytes.
for words in sys.argv[4:]:
    at, what = words.split(":")
    if at == "gaps":
        check(answer["gap_cells"] == int(what), "not %s gaps" % what)
        continue
    if at == "worst":
        check(max(worst.values()) == int(what), "not %s-way at worst" % what)
        continue
    at = int(at)
    title = cells[at // 16 * 16].find(NS + "title").text
    if what == "zero":
        check("zeros" in title, "%d: %s" % (at, title))
        continue
    if "/" in what:
        wave, copy, lane = re.split("[/.]", what)
        check(re.search(r"wave %s, copy %s, lane %s\b" % (wave, copy, lane),
                        title), "%s: %s" % (words, title))
        continue
    row, column = what.split(",")
    place = "from row %s, byte %d of " % (row, int(column) - at % 16)
    check(place in title, "%s: %s" % (words, title))
print("; ".join(bad[:5]))
sys.exit(1 if bad else 0)
END

# drawn NAME SPEC TARGET ARGUMENTS BYTE:PLACE...
drawn() {
    of=$1
    spec=$2
    target=$3
    arguments=$4
    shift 4
    # shellcheck disable=SC2086
    {
        expect "$of: report" 0 run "$spec" --target "$target" $arguments \
            --report banks --json
        cp "$out" "$work/report"
        expect "$of: picture" 0 draw "$spec" --target "$target" $arguments \
            -o "$svg" --json
    }
    json "$of: is JSON"
    if python3 "$work/check.py" "$svg" "$out" "$work/report" "$@" \
        >"$work/said" 2>&1; then
        pass "$of: stands as it must"
    else
        fail "$of: stands as it must" "$(tail -n 1 "$work/said")"
    fi
    if command -v xmllint >/dev/null 2>&1; then
        xmllint --noout "$svg" 2>"$work/said" &&
            pass "$of: xmllint takes it" ||
            fail "$of: xmllint takes it" "$(head -n 1 "$work/said")"
    fi
}

# Bytes from the oracles of the layouts: row and byte of the source.
one="--row-tiles 1 --col-tiles 1"
interleaved=$loader:tile_rows=128,src_cols=4096,num_loading_warps=8
interleaved=$interleaved,swizzle_bits=1,swizzle_base=5,swizzle_shift=4
drawn "interleaved, swizzled" "$interleaved" cpu:gfx950 \
    "--first-row 128 --first-col 64 --valid-rows 256 $one" \
    0:128,128 15:128,143 16:128,144 64:129,128 545:136,129 1023:143,159 \
    1024:128,192 1025:128,193 2825:156,169 8192:192,128 8993:204,129 \
    16383:255,223 0:0/0.0 16:0/0.1 272:0/0.17 1008:0/0.63 8272:0/1.5 \
    8832:0/1.40 15392:7/1.2 16368:7/1.63
full=$loader:dtype=fp8,tile_rows=128,tile_cols=128,full_width=1
full=$full,num_loading_warps=8,swizzle_bits=3,swizzle_base=4,swizzle_shift=4
drawn "full width, swizzled" "$full" cpu:gfx950 \
    "--first-row 128 --first-col 256 --valid-rows 200 $one" \
    0:128,256 15:128,271 16:128,272 64:128,320 127:128,383 545:132,257 \
    1023:135,335 1024:136,320 1025:136,321 2825:150,313 8192:192,256 \
    8993:198,273 16383:zero 272:0/0.17 8272:0/1.5 15392:7/1.2
drawn "rows past the end" \
    "$loader:num_loading_warps=8,swizzle_bits=1,swizzle_base=5,swizzle_shift=4" \
    cpu:gfx950 "--first-col 192 --valid-rows 33 $one" \
    0:0,384 545:8,385 1024:0,448 4096:32,384 4897:zero 8191:zero
drawn "32 banks, dwords" "$loader:num_loading_warps=8" cpu:gfx90a "$one" \
    0:0,0 1024:0,64
drawn "a ring of slots" "$loader:entry=stream,stages=3" cpu:sm_90a \
    "--row-step 1 --col-tiles 1" 0:0,0 1024:0,64
drawn "more than is drawn" "$loader:tile_rows=512" cpu:gfx950 "$one" 0:0,0

# Subtiles of a V operand: two placements of 8-bit elements, the second without
# bank conflicts and with a hole after each KiB; and 16-bit ones.
subtiles=subtile_loader_st_8x32
v227=$subtiles:dtype=fp8,placement=v227
drawn "v227" "$v227,entry=fragments" cpu:gfx950 "--valid-rows 128 $one" \
    0:0,0 128:1,0 256:16,0 1040:4,0 2080:2,0 4160:8,0 8320:64,0 9001:97,41 \
    12345:119,9 16623:127,127 272:0/0.17 1120:0/1.5 1680:0/1.40 15632:7/1.2 \
    16608:7/1.63 gaps:16 worst:1
drawn "v227, poisoned" "$v227" cpu:gfx950 "--valid-rows 77 $one" \
    1040:4,0 9001:zero 13525:76,5 13653:zero gaps:16 worst:1
drawn "the default placement" "$subtiles:dtype=fp8,entry=fragments" cpu:gfx950 \
    "--valid-rows 128 $one" \
    0:0,0 64:1,0 512:0,64 1024:8,0 8192:64,0 16383:127,127 8272:0/1.5 \
    15392:7/1.2 gaps:0 worst:2
drawn "16-bit elements" "$subtiles:entry=fragments" cpu:gfx950 \
    "--valid-rows 64 $one" 0:0,0 1024:0,128 8192:32,0 16383:63,255 gaps:0 \
    worst:1

# The timeline: each of 8 waves of a loader with counted waits arrives at each
# of its barriers, continues, and has its copies land; a ring has phases.
count() {
    grep -c ">$1</text>" "$svg"
}
expect "waves that wait" 0 draw kv_buffer_pipelined --target cpu:gfx950 -o "$svg"
[ "$(count w)" -gt 8 ] && [ "$(count w)" -eq "$(count g)" ] &&
    [ "$(count L)" -gt 8 ] && pass "every wave goes on" ||
    fail "every wave goes on" "$(count w) waits, $(count g) go on, $(count L)"
slots() {
    grep -o '>slot [0-9]*</text>' "$svg" | sort -u | tr -dc '0-9\n' | sort -n | xargs
}
[ "$(slots)" = "0 16384 32768 49152" ] && grep -q 'class="flight"/>' "$svg" &&
    grep -q '<title>bytes 0 to 16383: copies in flight</title>' "$svg" &&
    pass "slots of a double buffer" || fail "slots of a double buffer" "$(slots)"
[ "$(count 0-15)" -eq 1 ] && [ "$(count 48-63)" -eq 1 ] &&
    pass "strips of banks say whose lanes they are" ||
    fail "strips of banks say whose lanes they are"
expect "a ring" 0 draw kv_producer_pipeline --target cpu:sm_90a -o "$svg"
grep -q 'class="strip"><title>steps 0 to' "$svg" &&
    grep -q '>byte [0-9]*</text>' "$svg" && [ "$(count A)" -gt 8 ] &&
    pass "phases of mbarriers" || fail "phases of mbarriers" "$(count A) arrivals"
grep -q '<title>wave [0-9]* waits for phase [0-9]* of the mbarrier at byte [0-9]*</title>' \
    "$svg" && pass "waits say for what" || fail "waits say for what"
[ "$(slots)" = "0 32768 65536" ] && pass "slots of a ring" ||
    fail "slots of a ring" "$(slots)"
phases() {
    grep -c "class=\"cell\"[^>]*>$1</text>" "$svg"
}
[ "$(phases 0)" -ge "$(phases 1)" ] && [ "$(phases 1)" -gt 8 ] &&
    pass "from the first on" || fail "from the first on" "$(phases 0) are phase 0"

# A family that waits and touches no shared memory.
cd "$work" || exit 1
expect "a family of mine" 0 new waits --from gemv
sed -i 's/    const u64 row = block_index/    block_barrier();\n&/' waits/waits.h
expect "its waits are drawn" 0 draw ./waits --target cpu:sm_90a -o "$svg"
grep -q 'Waves, slots and mbarriers' "$svg" && ! grep -q 'Shared memory:' "$svg" &&
    pass "and nothing else" || fail "and nothing else" "$(wc -c <"$svg")"

# Every family that can be run.
for family in $("$groat" completion-data |
    sed -n 's/^argument	\([^	]*\)	.*/\1/p' | sort -u); do
    code=0
    run draw "$family" -o "$work/any.svg" --json
    # Families for NVIDIA only.
    if [ "$code" -eq 2 ] && grep -qE "breaks the rule '(arch_tma'|!arch_is_amd)" "$err"; then
        code=0
        run draw "$family" --target cpu:sm_90a -o "$work/any.svg" --json
    fi
    if [ "$code" -eq 2 ] && grep -q 'touches no shared memory' "$err"; then
        pass "$family has nothing to draw"
        continue
    fi
    [ "$code" -eq 0 ] && pass "$family is drawn" || {
        fail "$family is drawn" "exit code $code: $(head -c 200 "$err")"
        continue
    }
    # Only block 0 is drawn but all blocks are reported: no comparison here.
    if python3 "$work/check.py" "$work/any.svg" "$out" "$out" \
        >"$work/said" 2>&1; then
        pass "$family: stands as it must"
    else
        fail "$family: stands as it must" "$(tail -n 1 "$work/said")"
    fi
done
finish
