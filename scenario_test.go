package main

import (
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/relock-dev/relock/internal/settings"
)

// TestEveryConfigurationKeyHasAScenario looks for a script in which a
// configuration file sets each key. What the key then does, the script says.
func TestEveryConfigurationKeyHasAScenario(t *testing.T) {
	t.Parallel()
	told := configurations(t)
	for _, s := range settings.All {
		if s.Key == "" {
			continue
		}
		if told[s.Name()] == "" {
			t.Errorf("no script has a configuration file with the key %s", s.Key)
			continue
		}
		for _, f := range s.Fields {
			key := f.Key[strings.LastIndexByte(f.Key, '.')+1:]
			if !strings.Contains(told[s.Name()], key+": ") {
				t.Errorf("no script has a configuration file with the key %s", f.Key)
			}
		}
	}
}

// configurations are what the configuration files of all scripts say, by the
// name of the setting. Files that are not valid do not count.
func configurations(t *testing.T) map[string]string {
	t.Helper()
	scripts, err := filepath.Glob(filepath.Join("testdata", "script", "*.txtar"))
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	told := map[string]string{}
	for _, name := range scripts {
		script, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range script.Files {
			file, problems := settings.ParseOperatorFile(f.Data, f.Name)
			if filepath.Ext(f.Name) != ".yml" || len(problems) > 0 {
				continue
			}
			section := ""
			for line := range strings.Lines(settings.Merge(file.Values).Show()) {
				if name, ok := strings.CutSuffix(line, ":\n"); ok {
					section = name + "."
					continue
				}
				setting, value, _ := strings.Cut(line, ": ")
				if name, inner := strings.CutPrefix(setting, "  "); inner {
					setting = section + name
				}
				if !strings.HasSuffix(value, "# default\n") {
					told[setting] += value
				}
			}
		}
	}
	return told
}
