package cliconfig

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl"
	"github.com/hashicorp/hcl/hcl/ast"
	"github.com/hashicorp/hcl/hcl/parser"
	svchost "github.com/hashicorp/terraform-svchost"

	"github.com/relock-dev/relock/internal/provider"
)

// merged collects the files of one tool. A later file wins over an earlier
// one, host by host.
type merged struct {
	config       *Config
	installation bool // an installation method was configured
	diags        []provider.Diagnostic
}

// readNamed reads the file that a variable names. That it is missing is a
// warning only, as with the tools.
func (m *merged) readNamed(path string) {
	src, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		m.diags = append(m.diags, provider.Diagnostic{
			Severity: provider.SeverityWarning,
			Code:     provider.CodeCLIConfig,
			Message:  "the CLI configuration file does not exist",
			File:     filepath.ToSlash(path),
			Hint:     "check the variable TF_CLI_CONFIG_FILE",
		})
		return
	}
	m.parse(path, src, err)
}

func (m *merged) readOptional(path string) {
	src, err := os.ReadFile(path)
	if !errors.Is(err, fs.ErrNotExist) {
		m.parse(path, src, err)
	}
}

func (m *merged) readDir(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil && exists(dir) {
		m.report(dir, 0, "the directory cannot be read", "")
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".tfrc") || strings.HasSuffix(e.Name(), ".tfrc.json") {
			m.readOptional(filepath.Join(dir, e.Name()))
		}
	}
}

// content holds what is decoded by the rules of HCL 1 itself, which know the
// several shapes that JSON may have.
type content struct {
	Hosts map[string]*struct {
		Services map[string]any `hcl:"services"`
	} `hcl:"host"`
	Credentials map[string]map[string]any `hcl:"credentials"`
}

// parse adds one file. The words of the parser are not passed on: they quote
// the source, which holds tokens.
func (m *merged) parse(path string, src []byte, err error) {
	if err != nil {
		m.report(path, 0, "the CLI configuration file cannot be read", "")
		return
	}
	file, err := hcl.ParseBytes(src)
	if err != nil {
		m.report(path, errorLine(src, err), "the CLI configuration is not valid HCL", "")
		return
	}
	var c content
	if err := hcl.DecodeObject(&c, file); err != nil {
		m.report(path, errorLine(src, err), "a host or credentials block of the CLI configuration has an unexpected form", "")
		return
	}
	root, ok := file.Node.(*ast.ObjectList)
	if !ok {
		return
	}
	m.addHosts(path, root, c)
	m.addCredentials(path, root, c)
	for _, item := range root.Items {
		switch key(item, 0) {
		case "credentials_helper":
			m.report(path, line(item), "relock does not run credentials helpers yet",
				"give the tokens as TF_TOKEN_ variables or credentials blocks")
		case "provider_installation":
			m.addInstallation(path, item)
		}
	}
}

func (m *merged) addHosts(path string, root *ast.ObjectList, c content) {
	for _, label := range slices.Sorted(maps.Keys(c.Hosts)) {
		host, err := svchost.ForComparison(label)
		if err != nil {
			m.report(path, labelLine(root, "host", label), fmt.Sprintf("the host block %q has no valid host name", label), "")
			continue
		}
		services := map[string]any{}
		if block := c.Hosts[label]; block != nil && block.Services != nil {
			services = block.Services
		}
		m.config.services[host] = services
	}
}

func (m *merged) addCredentials(path string, root *ast.ObjectList, c content) {
	for _, label := range slices.Sorted(maps.Keys(c.Credentials)) {
		host, err := svchost.ForComparison(label)
		if err != nil {
			m.report(path, labelLine(root, "credentials", label), fmt.Sprintf("the credentials block %q has no valid host name", label), "")
			continue
		}
		token, _ := c.Credentials[label]["token"].(string)
		m.config.tokens[host] = token
	}
}

// addInstallation accepts what says the same as no block at all, but for the
// plugin directories: one direct method for all providers.
func (m *merged) addInstallation(path string, block *ast.ObjectItem) {
	if m.installation {
		m.report(path, line(block), "there is more than one provider_installation block", "")
		return
	}
	m.installation = true
	// HCL 1 folds nested JSON objects into one item with several keys.
	methods := []*ast.ObjectItem{{Keys: block.Keys[1:], Val: block.Val, Assign: block.Assign}}
	if body, ok := block.Val.(*ast.ObjectType); ok && len(block.Keys) == 1 {
		methods = body.List.Items
	}
	if len(methods) == 0 {
		m.report(path, line(block), "the provider_installation block has no method, so that no provider could be installed", "")
	}
	seen := false
	for _, method := range methods {
		if !plainDirect(method) || seen {
			m.report(path, line(method), fmt.Sprintf("relock does not honour %q in provider_installation yet", key(method, 0)),
				"name another file in TF_CLI_CONFIG_FILE for relock, in which provider_installation holds direct {} alone")
		}
		seen = true
	}
}

// plainDirect reports whether the method is direct for every provider. How
// often OpenTofu retries downloads is no matter here.
func plainDirect(method *ast.ObjectItem) bool {
	body, ok := method.Val.(*ast.ObjectType)
	if !ok || key(method, 0) != "direct" || len(method.Keys) != 1 {
		return false
	}
	return !slices.ContainsFunc(body.List.Items, func(item *ast.ObjectItem) bool {
		return key(item, 0) != "download_retry_count"
	})
}

func (m *merged) report(path string, line int, message, hint string) {
	m.diags = append(m.diags, provider.Diagnostic{
		Code: provider.CodeCLIConfig, Message: message,
		File: filepath.ToSlash(path), Line: line, Hint: hint,
	})
}

// key returns the text of the item's key or label at the index, "" if none.
func key(item *ast.ObjectItem, i int) string {
	if i >= len(item.Keys) {
		return ""
	}
	text, _ := item.Keys[i].Token.Value().(string)
	return text
}

// line returns where the item stands. The JSON parser of HCL 1 gives no place
// to keys, only to the colon behind them.
func line(item *ast.ObjectItem) int {
	if len(item.Keys) > 0 && item.Keys[0].Pos().Line > 0 {
		return item.Keys[0].Pos().Line
	}
	return item.Assign.Line
}

func labelLine(root *ast.ObjectList, block, label string) int {
	for _, item := range root.Items {
		if key(item, 0) == block && key(item, 1) == label {
			return line(item)
		}
	}
	return 0
}

// errorLine returns the line of an error of HCL 1. Its JSON parser has none, so
// the standard library is asked where it stumbles.
func errorLine(src []byte, err error) int {
	if at, ok := errors.AsType[*parser.PosError](err); ok {
		return at.Pos.Line
	}
	isJSON := bytes.HasPrefix(bytes.TrimSpace(src), []byte("{"))
	if at, ok := errors.AsType[*json.SyntaxError](json.Unmarshal(src, new(any))); ok && isJSON {
		return 1 + bytes.Count(src[:at.Offset], []byte("\n"))
	}
	return 0
}
