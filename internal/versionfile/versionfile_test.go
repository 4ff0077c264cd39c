package versionfile

import (
	"strings"
	"testing"
)

func TestFor(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		".terraform-version": ".", "a/b/.opentofu-version": "a/b", "mise.toml": ".", "a/.mise.toml": "a",
		".config/mise.toml": ".", "a/.config/mise.toml": "a", ".config/.mise.toml": ".config", ".config/a/mise.toml": ".config/a",
		"xmise.toml": "", "a/x.tool-versions": "", ".terragrunt-version": "", "x.config/mise.toml": "x.config",
	} {
		dir, ok := For(name)
		if want == "" && ok || want != "" && dir != want {
			t.Errorf("For(%q) = %q, %t, want %q", name, dir, ok, want)
		}
	}
}

// What mise.toml and the others say is recorded in the testdata of package scan. Here are
// the limits.
func TestParseIsBounded(t *testing.T) {
	t.Parallel()
	for name, src := range map[string]string{
		".terraform-version": strings.Repeat("#\n", 1<<19) + "1.9.8\n",
		"mise.toml":          "[tools]\nterraform = '1.9.8'\n" + strings.Repeat("#", 1<<20),
	} {
		if pins, err := Parse(name, []byte(src)); err == nil || len(pins) > 0 {
			t.Errorf("Parse(%s of %d bytes) = %v, %v, want an error", name, len(src), pins, err)
		}
	}
	pins, err := Parse("mise.toml", []byte("a = "+strings.Repeat("[", 1<<19)))
	if err == nil {
		t.Errorf("Parse(lists in each other) = %v, want an error", pins)
	}
	pins, err = Parse(".terraform-version", []byte("latest:"+strings.Repeat("((1|2){31}){31}", 10)))
	if err != nil || len(pins) != 1 || pins[0].Kind != Unresolved {
		t.Errorf("Parse(a pattern with counted repetitions) = %v, %v, want an unresolved pin", pins, err)
	}
	long := strings.Repeat("1", 199) + "é.0.0"
	pins, err = Parse("a/.terraform-version", []byte(long))
	if want := strings.Repeat("1", 199) + "…"; err != nil || len(pins) != 1 || pins[0].Text != want || pins[0].Kind != Unresolved {
		t.Errorf("Parse(a value of 206 bytes) = %v, %v, want %s", pins, err, want)
	}
}

// FuzzMise reads a configuration of mise. Whatever is in it, each tool is named once.
func FuzzMise(f *testing.F) {
	for _, src := range []string{
		"[tools]\nopentofu = ['1.9', { version = '1.8' }]\n", "tools = { terraform.version = 'latest:^1' }\n", "[[tools.terraform]]\nprefix = '1'\n",
		"[tools]\nterraform = [[[{ version = { a = 1 } }]]]\n\"a b\".'c' = \"\"\"\nx\"\"\"\n", "[tools]\nterraform = 1979-05-27T07:32:00Z\n", "\xef\xbb\xbf[tools]\r\nterraform=+inf",
	} {
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src string) {
		pins, err := Parse("mise.toml", []byte(src))
		if len(pins) > 2 || err != nil && len(pins) > 0 {
			t.Errorf("Parse(%q) = %v, %v", src, pins, err)
		}
		for _, p := range pins {
			if p.Tool == "" || p.Place.Line < 1 || p.Kind == "" || len(p.Text) > maxValue+3 {
				t.Errorf("Parse(%q) = %+v", src, p)
			}
		}
	})
}
