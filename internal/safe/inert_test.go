package safe_test

import (
	"html"
	"regexp"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/relock-dev/relock/internal/safe"
	"github.com/relock-dev/relock/internal/safe/safetest"
)

func TestTextIsOnlyText(t *testing.T) {
	for _, tt := range safetest.Threats {
		t.Run(tt.Name, func(t *testing.T) {
			for where, markdown := range map[string]string{
				"paragraph": "Before " + safe.Text(tt.Text).String() + " after.\n",
				"item":      "- " + safe.Text(tt.Text).String() + "\n",
				"line":      safe.Text(tt.Text).String() + "\n",
				"code":      "Before " + safe.Code(tt.Text).String() + " after.\n",
			} {
				page := safetest.Rendered(t, markdown)
				if got := safetest.Foreign.FindString(page); got != "" {
					t.Errorf("in a %s it becomes %s:\n%s%s", where, got, markdown, page)
				}
				safetest.CheckProse(t, page)
				safetest.CheckSource(t, markdown)
			}
		})
	}
}

func TestTextStaysInItsTableCell(t *testing.T) {
	for _, tt := range safetest.Threats {
		for _, inert := range []string{safe.Text(tt.Text).String(), safe.Code(tt.Text).String()} {
			page := safetest.Rendered(t, "| a | b | c |\n|---|---|---|\n| x | "+inert+" | last |\n")
			if n := strings.Count(page, "<td>"); n != 3 || !strings.Contains(page, "<td>last</td>\n</tr>\n</tbody>\n</table>") {
				t.Errorf("%s breaks the table (%d cells):\n%s", tt.Name, n, page)
			}
		}
	}
}

func TestTextShowsWhatItWasGiven(t *testing.T) {
	for _, text := range []string{
		"a plain sentence, with 5.31.0 and (brackets)", "snake_case and 2 * 3 < 7 & more", `C:\dir\*`, "100% of #hash, a@b", "it's \"quoted\"", "~> 5.0", "1. one", "- x",
	} {
		shown := strings.ReplaceAll(safetest.Prose(safetest.Rendered(t, "x "+safe.Text(text).String())), "\u200B", "")
		if want := "x " + text + "\n"; shown != want {
			t.Errorf("Text(%q) is shown as %q", text, shown)
		}
	}
	for _, text := range []string{"envs/prod", ">= 5.0, < 6.0", "a`b", "a|b", "<b>", "git::https://example.com/x.git?ref=v1", "#1 @x"} {
		page := safetest.Rendered(t, "x "+safe.Code(text).String())
		code := regexp.MustCompile(`<code>(.*)</code>`).FindStringSubmatch(page)
		if code == nil || strings.ReplaceAll(html.UnescapeString(code[1]), "\u200B", "") != text {
			t.Errorf("Code(%q) is shown as %s", text, page)
		}
	}
}

func TestPlainIsOneLineWithoutControl(t *testing.T) {
	for _, tt := range safetest.Threats {
		got := safe.Plain(tt.Text)
		for _, r := range got {
			if unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) {
				t.Errorf("%s: Plain(%q) = %q holds %U", tt.Name, tt.Text, got, r)
			}
		}
	}
	for text, want := range map[string]string{
		"\x1b[31mred\x1b[0m":                      "red",
		"\x1b]8;;https://x\x07link\x1b]8;;\x1b\\": "link",
		"a\x1b(Bb":          "ab",
		" a\n\tb  c ":       "a b c",
		"user\u202Egpj.exe": "user\uFFFDgpj.exe",
		"a\xffb":            "a\uFFFDb",
		"日本語 naïve":         "日本語 naïve",
	} {
		if got := safe.Plain(text); got != want {
			t.Errorf("Plain(%q) = %q, want %q", text, got, want)
		}
	}
}

func TestOutsideTextIsCut(t *testing.T) {
	long := strings.Repeat("word @octocat ", 1<<18) // 3.5 MiB
	for name, got := range map[string]string{"Plain": safe.Plain(long), "Text": safe.Text(long).String(), "Code": safe.Code(long).String()} {
		if n := utf8.RuneCountInString(got); n > 2000 || !strings.Contains(got, "…") {
			t.Errorf("%s of a long text has %d characters and ends in %q", name, n, got[len(got)-10:])
		}
	}
	if got := safe.Plain("a" + strings.Repeat(" ", 1<<20) + "b"); got != "a…" {
		t.Errorf("a text with a long gap becomes %q, want it marked as cut", got)
	}
	if got := safe.Plain(strings.Repeat("é", 400)); utf8.RuneCountInString(got) != 400 {
		t.Errorf("a text of 400 characters is cut to %d", utf8.RuneCountInString(got))
	}
}

func FuzzText(f *testing.F) {
	for _, tt := range safetest.Threats {
		f.Add(tt.Text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, inert := range []string{safe.Text(text).String(), safe.Code(text).String()} {
			page := safetest.Rendered(t, "| a | b |\n|---|---|\n| "+inert+" | last |\n\n- "+inert+"\n")
			if strings.Count(page, "<td>") != 2 || strings.Count(page, "<li>") > 1 {
				t.Errorf("%q breaks the page:\n%s", inert, page)
			}
			inner := strings.NewReplacer("<table>", "", "</table>", "").Replace(page)
			if got := safetest.Foreign.FindString(inner); got != "" {
				t.Errorf("%q becomes %s:\n%s", inert, got, page)
			}
			safetest.CheckProse(t, page)
			safetest.CheckSource(t, inert)
		}
	})
}
