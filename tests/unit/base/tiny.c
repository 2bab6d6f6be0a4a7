/* SPDX-License-Identifier: Apache-2.0
 *
 * tiny.c: the libraries that test_dl opens.  Their build ids are the linker
 * options of tests/local.mk.
 */
int groat_tiny_answer(void);

__attribute__((visibility("default"))) int groat_tiny_answer(void)
{
    return 42;
}
