package hclfile

import (
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/relock-dev/relock/internal/problem"
)

// TestParse_limits reads files that are too much for the parsers, each with the
// line where that shows.
func TestParse_limits(t *testing.T) {
	t.Parallel()
	list := func(element string, n int) string {
		return "a = [\n" + strings.Repeat(element, n) + "]\n"
	}
	json := func(element string, n int) string {
		return "{\"a\": [\n" + strings.Repeat(element, n) + "1]}"
	}
	const pieces, digits, depth, parts = "words, lines and signs", "digits", "nested too deeply", "too many parts"
	tests := map[string]struct {
		name, src, want string
	}{
		"signs":             {"a.tf", list("1,", maxPieces/2), pieces},
		"bad_signs":         {"a.tf", list("\r", maxPieces), pieces},
		"bad_bytes":         {"a.tf", list("\xff", maxPieces), pieces},
		"templates":         {"a.tf", `a = "` + strings.Repeat("${a}", maxPieces/4) + `"`, pieces},
		"broken_string":     {"a.tf", `a = "` + strings.Repeat("\n ", maxPieces/2+1) + `"`, pieces},
		"number":            {"a.tf", list(strings.Repeat("1", maxDigits+1), 1), digits},
		"brackets":          {"a.tf", list("[", 2*closeLook), depth},
		"heredoc":           {"a.tf", "a = <<E\n" + strings.Repeat("x\n", 80_000) + "E\n", parts},
		"cut_string":        {"a.tf", "a = \"\n" + strings.Repeat("$", 100_000) + "\"\n", parts},
		"JSON_signs":        {"a.tf.json", json("1,", maxPieces/2), pieces},
		"JSON_words":        {"a.tf.json", json("1a", maxPieces/2+1), pieces},
		"JSON_number":       {"a.tf.json", json(strings.Repeat("1", maxDigits+1), 1), digits},
		"JSON_brackets":     {"a.tf.json", json("[", 2*closeLook), depth},
		"JSON_cut_string":   {"a.tf.json", json("\"\n"+strings.Repeat("[", 2*closeLook), 1), depth},
		"JSON_hidden_quote": {"a.tf.json", json("\"\u0600\" \""+strings.Repeat("[", 2*closeLook), 1), depth},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file, diags := Parse([]byte(tt.src), problem.Place{Path: tt.name})
			if file != nil || len(diags) != 1 || !strings.Contains(diags[0].Message, tt.want) || diags[0].Place.Line < 1 {
				t.Errorf("Parse = a file: %t, %.200v, want one error about %s", file != nil, diags, tt.want)
			}
		})
	}
}

// TestParse_reads_what_people_write reads files that are large and ordinary.
func TestParse_reads_what_people_write(t *testing.T) {
	t.Parallel()
	resource := "resource \"aws_route53_record\" \"www\" {\n  zone_id = aws_route53_zone.primary.zone_id\n" +
		"  name    = \"www.example.com\" # the \"front\" door\n  ttl     = 300\n}\n"
	for name, tt := range map[string]struct{ name, src string }{
		"resources": {"a.tf", strings.Repeat(resource, 6_000)},                                                         // a megabyte
		"comments":  {"a.tf", strings.Repeat("# --- a rule of a hundred signs "+strings.Repeat("-", 70)+"\n", 10_000)}, // twice as many signs as may be, were they counted
		"heredoc":   {"a.tf", "a = <<E\n" + strings.Repeat(strings.Repeat("word ", 15)+"\n", 4_000) + "E\n"},
		"JSON":      {"a.tf.json", `{"a": [` + strings.Repeat(`{"arn": "arn:aws:iam::aws:policy/{ReadOnly}[*]"},`, 40_000) + `1]}`},
	} {
		if _, diags := Parse([]byte(tt.src), problem.Place{Path: tt.name}); len(diags) > 0 {
			t.Errorf("Parse of %s: %v", name, diags)
		}
	}
}

// TestParse_names_a_merge_conflict holds that the markers are called what they are,
// and a text that only looks like them is read.
func TestParse_names_a_merge_conflict(t *testing.T) {
	t.Parallel()
	for name, src := range map[string]string{
		"a.tf":      "a = 1\n<<<<<<< HEAD\nb = 1\n=======\nb = 2\n>>>>>>> topic\n",
		"a.tf.json": "{\n<<<<<<< HEAD\n\"b\": 1\n=======\n\"b\": 2\n>>>>>>> topic\n}\n",
	} {
		_, problems := Parse([]byte(src), problem.Place{Path: name})
		if len(problems) != 1 || problems[0].String() != name+":2: the file has the markers of a merge conflict" {
			t.Errorf("Parse(%s) reports %v", name, problems)
		}
	}
	if _, problems := Parse([]byte("a = <<EOT\n<<<<<<< HEAD\nEOT\n"), problem.Place{Path: "a.tf"}); len(problems) > 0 {
		t.Errorf("a heredoc with such a line: %v", problems)
	}
}

func TestParseTemplate(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ src, want string }{
		"text":       {"a ${b} %{ for c in d ~}\n${c}\n%{ endfor }", ""},
		"brackets":   {"${" + strings.Repeat("[", 2*maxDepth), "nested too deeply"},
		"directives": {strings.Repeat("%{if a}", 2*maxDepth), "nested too deeply"},
		"signs":      {strings.Repeat("${a}", maxPieces/3+1), "words, lines and signs"},
		"unclosed":   {"${a", "template"},
	} {
		expr, diags := ParseTemplate([]byte(tt.src), problem.Place{Path: "a.tftpl"})
		if (expr != nil) != (tt.want == "") || len(diags) > 0 && (tt.want == "" || !strings.Contains(diags[0].Message, tt.want)) {
			t.Errorf("ParseTemplate of %s = an expression: %t, %.200v, want %q", name, expr != nil, diags, tt.want)
		}
	}
}

func TestParse_lists_few_errors(t *testing.T) {
	t.Parallel()
	_, diags := Parse([]byte(strings.Repeat("a b\n", 10*maxProblems)), problem.Place{Path: "a.tf"})
	if n := len(diags); n != maxProblems+1 || !strings.Contains(diags[maxProblems].Message, "further errors") {
		t.Errorf("Parse of a file with an error in each line: %d errors, want %d, the last about the rest", n, maxProblems+1)
	}
}

// FuzzPieces holds that the lexer never makes more tokens than are counted.
func FuzzPieces(f *testing.F) {
	for _, seed := range []string{
		"a = 1\n", "\r\r\ra\rb", "\"\n \n\r\"", "1a 1a", "a = \"$ $$ %% ${b}\"", "<<E\n# a\nE\n# b\n/* c\n */", "\xff\"\xff", "# a\r# b", "\ufeff\"\\a\\",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		tokens, _ := hclsyntax.LexConfig(src, "", hcl.InitialPos)
		n := len(tokens) - 1 // the last is the end, of which there is one
		if most := n - 1; most >= 0 && Pieces(src, "a.tf") <= most {
			t.Errorf("%q has %d tokens, and no more than %d pieces", src, n, most)
		}
	})
}
