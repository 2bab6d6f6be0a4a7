#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""nulls.py HEADER...: prints a C program that calls, with NULL, each function
of the library's headers whose first argument is an object.

Each call runs in a child.  A function with a status must return INVALID and say
that the object is NULL; others must return NULL or 0, or a text.  The program
prints what is wrong, and how many functions it called.
"""
import re
import sys

OBJECT = re.compile(r"(?:const )?groat_(context|spec|kernel|request|decode|"
                    r"append|family) \*\w+$")


def functions(header):
    with open(header, encoding="utf-8") as f:
        text = re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)
    for kind, name, words in re.findall(
            r"GROAT_API\s+([\w\s*]+?)(groat_\w+)\(([^;]*)\)\s*;", text):
        arguments = [" ".join(a.split()) for a in words.split(",")]
        found = OBJECT.match(arguments[0])
        if found:
            yield kind.strip(), name, found.group(1), arguments


def call(kind, name, what, arguments):
    words = ["&error" if a.startswith("groat_error") else
             "0" if "*" not in a and "[" not in a else "NULL"
             for a in arguments]
    it = "%s(%s)" % (name, ", ".join(words))
    if kind == "groat_status":
        return ('%s == GROAT_INVALID && strcmp(error.text, "the %s is NULL") '
                '== 0' % (it, what))
    if kind == "void":
        return "(%s, 1)" % it
    if name == "groat_default_target":  # which never returns NULL
        return "%s != NULL" % it
    return "%s == 0" % it


found = [f for header in sys.argv[1:] for f in functions(header)]
print('#include <stdio.h>\n#include <string.h>\n#include <sys/wait.h>\n'
      '#include <unistd.h>\n')
for header in sys.argv[1:]:
    print("#include <%s>" % header.rsplit("/", 1)[-1])
print("""
static int bad;

#define TRY(name, call)                                        \\
    do {                                                       \\
        groat_error error = GROAT_ERROR_INIT;                  \\
        int rc = 0;                                            \\
        pid_t child = fork();                                  \\
        if (child == 0)                                        \\
            _exit((call) ? 0 : (puts(error.text), fflush(stdout), 1)); \\
        if (waitpid(child, &rc, 0) != child || rc != 0) {      \\
            printf("%s: %d\\n", name, rc);                      \\
            bad++;                                             \\
        }                                                      \\
    } while (0)

int main(void)
{""")
for f in found:
    print('    TRY("%s", %s);' % (f[1], call(*f)))
print("""    printf("%d functions, %%d wrong\\n", bad);
    return bad != 0;
}""" % len(found))
