/* SPDX-License-Identifier: Apache-2.0
 *
 * tiny.c: the libraries that test_dl opens.  Linker options in tests/local.mk
 * set their build ids.
 */
int groat_tiny_answer(void);

__attribute__((visibility("default"))) int groat_tiny_answer(void)
{
    return 42;
}
