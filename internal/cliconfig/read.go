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

	"github.com/relock-dev/relock/internal/file"
	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/provider"
)

// merged collects the files of one tool. A later file wins over an earlier
// one, host by host.
type merged struct {
	config *Config
	env    Env
	tool   provider.ToolName
	limits Limits // of registry_protocols blocks
	diags  []problem.Problem
}

// Load reads the configuration that the tool would read. The result is never
// nil; with an error among the diagnostics it must not be used to write locks
// [terraform 1.11 internal/command/cliconfig/cliconfig.go].
func Load(env Env, tool provider.ToolName) (*Config, []problem.Problem) {
	m := merged{env: env, tool: tool, config: &Config{
		services: map[svchost.Hostname]map[string]any{},
		tokens:   map[svchost.Hostname]string{},
		environ:  tokenVariables(env.Environ),
		limits:   env.limits(tool),
		oci:      ociPolicy{env: env},
	}}
	if path := env.override(); path != "" {
		m.readNamed(path)
	} else {
		m.readOptional(env.file(tool))
		// The tools skip the directory where a variable names the file, and so
		// the credentials that "terraform login" keeps there
		// [terraform 1.11 internal/command/cliconfig/cliconfig.go].
		m.readDir(env.dir(tool))
	}
	m.config.limits = m.config.limits.over(m.limits)
	if !m.config.explicit {
		m.config.implied = existing(env.mirrors(tool))
	}
	return m.config, m.diags
}

// readNamed reads the file that a variable names. That it is missing is a
// warning only, as with the tools.
func (m *merged) readNamed(path string) {
	src, err := file.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		m.warn(path, 0, "the CLI configuration file does not exist", "check the variable TF_CLI_CONFIG_FILE")
		return
	}
	m.parse(path, src, err)
}

func (m *merged) readOptional(path string) {
	src, err := file.Read(path)
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
	Helpers     map[string]*struct {
		Args []string `hcl:"args"`
	} `hcl:"credentials_helper"`
}

// mostBrackets bounds the opening brackets and braces of a file, and so how deep its
// lists and blocks are in each other: the parser takes the square of the depth, and a
// kilobyte for each. A thousand hosts have 2,000.
const mostBrackets = 10_000

// parse adds one file. The words of the parser are not passed on: they quote
// the source, which holds tokens.
func (m *merged) parse(path string, src []byte, err error) {
	if err != nil {
		m.report(path, 0, "the CLI configuration file cannot be read", "")
		return
	}
	if bytes.Count(src, []byte("["))+bytes.Count(src, []byte("{")) > mostBrackets {
		m.report(path, 0, fmt.Sprintf("the CLI configuration has more than %d brackets and braces", mostBrackets), "")
		return
	}
	file, err := hcl.ParseBytes(src)
	if err != nil {
		m.report(path, errorLine(src, err), "the CLI configuration is not valid HCL", "")
		return
	}
	var c content
	if err := hcl.DecodeObject(&c, file); err != nil {
		m.report(path, errorLine(src, err), "a host, credentials or credentials_helper block of the CLI configuration has an unexpected form", "")
		return
	}
	root, ok := file.Node.(*ast.ObjectList)
	if !ok {
		return
	}
	m.addHosts(path, root, c)
	m.addCredentials(path, root, c)
	m.addHelper(path, root, c)
	for _, item := range root.Items {
		m.addBlock(path, item)
	}
}

// addBlock adds what HCL 1 cannot decode by itself, because the order of blocks
// or whether there is one counts. Terraform ignores OpenTofu's blocks
// [terraform 1.11 internal/command/cliconfig/cliconfig.go].
func (m *merged) addBlock(path string, item *ast.ObjectItem) {
	switch name := key(item, 0); {
	case name == "provider_installation":
		m.addInstallation(path, item)
	case m.tool != provider.OpenTofu:
	case name == "registry_protocols":
		m.addProtocols(path, item)
	case name == "oci_credentials":
		m.addOCICredentials(path, item)
	case name == "oci_default_credentials":
		m.addOCIDefaults(path, item)
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

// addHelper reads the credentials_helper block, of which there may be one name
// in all files together. A helper that is not installed is a warning: the tools
// go on without it.
func (m *merged) addHelper(path string, root *ast.ObjectList, c content) {
	for _, name := range slices.Sorted(maps.Keys(c.Helpers)) {
		at := labelLine(root, "credentials_helper", name)
		if h := m.config.helper; h != nil && h.name != name {
			m.report(path, at, "there is more than one credentials_helper block", "")
			continue
		}
		dirs := m.env.plugins(m.tool)
		program, ok := findHelper(dirs, name)
		if !ok {
			m.warn(path, at, fmt.Sprintf("the credentials helper %q is not installed", name),
				fmt.Sprintf("put the program %s%s into %s", helperPrefix, name, filepath.ToSlash(dirs[0])))
			continue
		}
		m.config.helper = &tokenHelper{name: name, path: program, environ: m.env.Environ}
		if block := c.Helpers[name]; block != nil {
			m.config.helper.args = block.Args
		}
	}
}

// addProtocols reads OpenTofu's registry_protocols block.
func (m *merged) addProtocols(path string, item *ast.ObjectItem) {
	var b struct {
		Retries *int `hcl:"retry_count"`
		Timeout int  `hcl:"request_timeout_seconds"`
	}
	body, ok := item.Val.(*ast.ObjectType)
	if !ok || hcl.DecodeObject(&b, body) != nil {
		m.report(path, line(item), "the registry_protocols block has an unexpected form", "")
		return
	}
	m.limits = Limits{Retries: retries(b.Retries), Timeout: seconds(b.Timeout)}.over(m.limits)
}

func (m *merged) addOCICredentials(path string, item *ast.ObjectItem) {
	body, ok := item.Val.(*ast.ObjectType)
	if !ok || len(item.Keys) != 2 {
		m.report(path, line(item), "an oci_credentials block must have one label, the address of a registry or repository", "")
		return
	}
	label := key(item, 1)
	e, err := readOCICredentials(label, body)
	if err == nil && slices.ContainsFunc(m.config.oci.blocks, func(other ociEntry) bool { return other.prefix == e.prefix }) {
		err = errors.New("there is more than one for this address")
	}
	if err != nil {
		m.report(path, line(item), fmt.Sprintf("oci_credentials %q: %v", label, err), "")
		return
	}
	m.config.oci.blocks = append(m.config.oci.blocks, e)
}

// addOCIDefaults reads the oci_default_credentials block, of which there may be
// one in all files together.
func (m *merged) addOCIDefaults(path string, item *ast.ObjectItem) {
	body, ok := item.Val.(*ast.ObjectType)
	var b ociPreset
	switch {
	case !ok || len(item.Keys) != 1 || hcl.DecodeObject(&b, body) != nil:
		m.report(path, line(item), "the oci_default_credentials block has an unexpected form", "")
		return
	case m.config.oci.preset != nil:
		m.report(path, line(item), "there is more than one oci_default_credentials block", "")
		return
	case b.Helper != nil && !isHelperName(*b.Helper):
		m.report(path, line(item), "the docker_credentials_helper of oci_default_credentials must be a name", "")
		return
	case b.Ambient != nil && !*b.Ambient && b.Files != nil:
		m.report(path, line(item), "oci_default_credentials turns ambient credentials off and names files to find them in", "")
		return
	}
	if b.Files != nil {
		// Relative paths begin where the configuration file is.
		files := make([]string, len(*b.Files))
		for i, name := range *b.Files {
			files[i] = name
			if !filepath.IsAbs(name) {
				files[i] = filepath.Join(filepath.Dir(path), name)
			}
		}
		b.Files = &files
	}
	m.config.oci.preset = &b
}

func (m *merged) warn(path string, line int, message, hint string) {
	m.report(path, line, message, hint)
	m.diags[len(m.diags)-1].Severity = problem.SeverityWarning
}

func (m *merged) report(path string, line int, message, hint string) {
	m.diags = append(m.diags, problem.Problem{
		Code: problem.CodeCLIConfig, Message: message,
		Place: problem.Place{Path: filepath.ToSlash(path), Line: line}, Hint: hint,
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

// line returns the line of the item. The JSON parser of HCL 1 has no place for keys, only
// for the colon after them.
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
