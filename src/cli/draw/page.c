/* SPDX-License-Identifier: Apache-2.0
 *
 * page.c - writes one SVG of A4 pages, one below the other; the last page is
 * only as long as its contents.
 *
 * Owns the format: an SVG without external scripts, style sheets or fonts, in
 * points, so that it prints at its size and no text is below 6 pt.  The panels
 * decide what is drawn.
 * Invariant: text is escaped; each groat__sheet_begin is closed by a
 * groat__sheet_end.
 */
#include "cli/draw/draw.h"

#include <string.h>

#define FOOT 16.0 /* distance of the foot line from the page's end */

/* Light enough for black text.  Neighbours differ in hue and lightness; each
 * group also has a letter. */
static const char *const palette[GROAT__DRAW_GROUPS] = {
    "#f7b3b3", "#ffd9c2", "#f2bd85", "#ffeeb8", "#dfd676", "#e9f7ae",
    "#b5dc86", "#ccf2c4", "#88d6a2", "#bff2e2", "#7fcfd1", "#bfe6f7",
    "#93bff0", "#cfd4fb", "#b9a6ee", "#ecc9f5",
};

/* Returns a group's colour; fewer groups use colours further apart. */
static const char *hue_of(unsigned group, unsigned banks)
{
    unsigned groups = banks / 4 ? banks / 4 : 1;
    unsigned apart = GROAT__DRAW_GROUPS / groups;

    return palette[group * (apart ? apart : 1) % GROAT__DRAW_GROUPS];
}

void groat__escape(groat__str *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '<')
            groat__str_add(out, "&lt;");
        else if (*text == '>')
            groat__str_add(out, "&gt;");
        else if (*text == '&')
            groat__str_add(out, "&amp;");
        else if ((unsigned char)*text < ' ' || (unsigned char)*text > '~')
            groat__str_add(out, "?");
        else
            groat__str_addn(out, text, 1);
    }
}

static void add_formatted(groat__str *out, const char *format, va_list args)
{
    groat__str text = {0};

    groat__str_addv(&text, format, args);
    if (text.failed)
        out->failed = true;
    else
        groat__escape(out, text.data);
    groat__str_free(&text);
}

/* Appends a length, rounded to two decimal places. */
static void add_number(groat__str *out, const char *lead, double value)
{
    groat__str_addf(out, "%s%.7g", lead,
                    (double)(long long)(value * 100 + (value < 0 ? -.5 : .5)) /
                        100);
}

static double on_sheet(const groat__sheet *sheet, double y)
{
    return (sheet->pages - 1) * GROAT__PAGE_HEIGHT + y;
}

void groat__sheet_page(groat__sheet *sheet)
{
    sheet->pages++;
    sheet->y = GROAT__PAGE_TOP;
}

void groat__sheet_room(groat__sheet *sheet, double height)
{
    if (sheet->y + height > GROAT__PAGE_BOTTOM && sheet->y > GROAT__PAGE_TOP)
        groat__sheet_page(sheet);
}

void groat__sheet_text(groat__sheet *sheet, double x, double y,
                       const char *class, const char *format, ...)
{
    va_list args;

    groat__str_addf(&sheet->body, "<text class=\"%s\"", class);
    add_number(&sheet->body, " x=\"", x);
    add_number(&sheet->body, "\" y=\"", on_sheet(sheet, y));
    groat__str_add(&sheet->body, "\">");
    va_start(args, format);
    add_formatted(&sheet->body, format, args);
    va_end(args);
    groat__str_add(&sheet->body, "</text>\n");
}

void groat__sheet_note(groat__sheet *sheet, const char *format, ...)
{
    enum { CHARACTERS = 140 }; /* of 7 pt: fit a line in any case */
    groat__str text = {0};
    const char *at;
    va_list args;

    va_start(args, format);
    groat__str_addv(&text, format, args);
    va_end(args);
    at = text.failed ? "" : text.data;
    while (*at) {
        size_t len = strlen(at);

        if (len > CHARACTERS) {
            len = CHARACTERS;
            while (len && at[len - 1] != ' ')
                len--;
            /* A spec has no blanks: break it at a comma. */
            for (size_t i = CHARACTERS; !len && i; i--)
                len = at[i - 1] == ',' ? i : 0;
            len = len ? len : CHARACTERS;
        }
        groat__sheet_room(sheet, 9);
        sheet->y += 9;
        groat__sheet_text(sheet, GROAT__PAGE_LEFT, sheet->y, "note", "%.*s",
                          (int)len, at);
        at += len;
    }
    sheet->body.failed |= text.failed;
    groat__str_free(&text);
}

void groat__sheet_box(groat__sheet *sheet, double x, double y, double width,
                      double height, const char *class)
{
    add_number(&sheet->body, "<rect x=\"", x);
    add_number(&sheet->body, "\" y=\"", on_sheet(sheet, y));
    add_number(&sheet->body, "\" width=\"", width);
    add_number(&sheet->body, "\" height=\"", height);
    groat__str_addf(&sheet->body, "\" class=\"%s\"/>\n", class);
}

void groat__sheet_group(groat__sheet *sheet, double x, double y, double width,
                        double height, unsigned group)
{
    char class[8];

    (void)snprintf(class, sizeof(class), "g%u", group % GROAT__DRAW_GROUPS);
    groat__sheet_box(sheet, x, y, width, height, class);
}

void groat__sheet_begin(groat__sheet *sheet, const char *class, const char *id,
                        const char *format, ...)
{
    va_list args;

    groat__str_addf(&sheet->body, "<g class=\"%s\"", class);
    if (id)
        groat__str_addf(&sheet->body, " id=\"%s\"", id);
    groat__str_add(&sheet->body, "><title>");
    va_start(args, format);
    add_formatted(&sheet->body, format, args);
    va_end(args);
    groat__str_add(&sheet->body, "</title>\n");
}

void groat__sheet_end(groat__sheet *sheet)
{
    groat__str_add(&sheet->body, "</g>\n");
}

double groat__label_width(const char *label)
{
    double width = 0;

    /* Widths in the widest of the fonts that style names. */
    for (; *label; label++)
        width += strchr("./-, ", *label)          ? 2.1
                 : *label >= '0' && *label <= '9' ? 3.82
                                                  : 5.0;
    return width;
}

static const char style[] =
    "<style>\n"
    "text{font-family:Helvetica,Arial,'Liberation Sans','DejaVu Sans',"
    "sans-serif;font-size:6px;fill:#000}\n"
    "text.big{font-size:13px;font-weight:bold}\n"
    "text.head{font-size:9px;font-weight:bold}\n"
    "text.note,text.row{font-size:7px}\n"
    "text.mark{text-anchor:end}\n"
    "text.cell,text.top,text.loud{text-anchor:middle}\n"
    "text.top,text.loud{font-weight:bold}\n"
    "rect{stroke:#666;stroke-width:.4}\n"
    "rect.paper{fill:#fff;stroke:none}\n"
    "rect.gap{fill:url(#gap)}\n"
    "rect.zero{fill:url(#zero);stroke:none}\n"
    "rect.free{fill:#fff}\n"
    "rect.flight{fill:#ffc83d}\n"
    "rect.there{fill:#bfe6f7}\n"
    "rect.busy,rect.wait{fill:url(#busy)}\n"
    "rect.hot{fill:none;stroke:#b00020;stroke-width:1.5}\n"
    "rect.warm{fill:none;stroke:#b00020;stroke-width:.8}\n"
    "path.cut{stroke:#999;stroke-width:.5;stroke-dasharray:3 2;fill:none}\n"
    /* In dark mode boxes stay light and their labels dark. */
    "@media (prefers-color-scheme:dark){rect.paper{fill:#16181c}"
    "text{fill:#ddd}text.cell,text.loud{fill:#000}rect.free{fill:#ccc}}\n";

static const char patterns[] =
    "</style>\n<defs>\n"
    "<pattern id=\"gap\" width=\"3\" height=\"3\" "
    "patternUnits=\"userSpaceOnUse\"><rect width=\"3\" height=\"3\" "
    "style=\"fill:#fff;stroke:none\"/><path d=\"M-1 1L1 -1M0 3L3 0M2 4L4 2\" "
    "style=\"stroke:#333;stroke-width:.5\"/></pattern>\n"
    "<pattern id=\"busy\" width=\"3\" height=\"3\" "
    "patternUnits=\"userSpaceOnUse\"><rect width=\"3\" height=\"3\" "
    "style=\"fill:#ffe0e0;stroke:none\"/><path d=\"M0 1.5H3\" "
    "style=\"stroke:#e0a0a0;stroke-width:.5\"/></pattern>\n"
    "<pattern id=\"zero\" width=\"4\" height=\"4\" "
    "patternUnits=\"userSpaceOnUse\"><circle cx=\"1\" cy=\"1\" r=\".5\" "
    "style=\"fill:#888\"/><circle cx=\"3\" cy=\"3\" r=\".5\" "
    "style=\"fill:#888\"/></pattern>\n"
    "</defs>\n<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n";

/* Returns the end of the last page: below its contents and foot line. */
static double end_of_last(const groat__sheet *sheet)
{
    double end = sheet->y + 2 * FOOT;

    return end < GROAT__PAGE_HEIGHT ? end : GROAT__PAGE_HEIGHT;
}

/* Adds foot lines, and lines at which to cut the pages. */
static void add_feet(groat__sheet *sheet, const char *title)
{
    unsigned pages = sheet->pages;

    for (sheet->pages = 1; sheet->pages <= pages; sheet->pages++) {
        bool last = sheet->pages == pages;
        double end = last ? end_of_last(sheet) : GROAT__PAGE_HEIGHT;

        groat__sheet_text(sheet, GROAT__PAGE_LEFT, end - FOOT, "row",
                          "%s, page %u of %u", title, sheet->pages, pages);
        if (last)
            continue;
        add_number(&sheet->body, "<path class=\"cut\" d=\"M0 ",
                   on_sheet(sheet, GROAT__PAGE_HEIGHT));
        groat__str_addf(&sheet->body, "H%g\"/>\n", GROAT__PAGE_WIDTH);
    }
    sheet->pages = pages;
}

void groat__sheet_finish(groat__sheet *sheet, const char *title, unsigned banks,
                         groat__str *svg)
{
    double height = on_sheet(sheet, end_of_last(sheet));

    add_feet(sheet, title);
    groat__str_addf(svg,
                    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                    "<svg xmlns=\"http://www.w3.org/2000/svg\" "
                    "width=\"210mm\" height=\"%.7gmm\" "
                    "viewBox=\"0 0 %g %.7g\">\n<title>",
                    height * 210 / GROAT__PAGE_WIDTH, GROAT__PAGE_WIDTH,
                    height);
    groat__escape(svg, title);
    groat__str_add(svg, "</title>\n");
    groat__str_add(svg, style);
    for (unsigned group = 0; group < banks / 4; group++)
        groat__str_addf(svg, ".g%u{fill:%s}\n", group, hue_of(group, banks));
    groat__str_add(svg, patterns);
    if (sheet->body.failed)
        svg->failed = true;
    else
        groat__str_addn(svg, sheet->body.data, sheet->body.len);
    groat__str_add(svg, "</svg>\n");
    groat__str_free(&sheet->body);
}
