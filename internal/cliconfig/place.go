package cliconfig

import (
	"cmp"
	"os"
	"path/filepath"
	"runtime"

	"github.com/relock-dev/relock/internal/collect"
	"github.com/relock-dev/relock/internal/provider"
)

// override returns the file that a variable names instead of all others.
func (e Env) override() string {
	return cmp.Or(e.Getenv("TF_CLI_CONFIG_FILE"), e.Getenv("TERRAFORM_CONFIG"))
}

// file returns the path of the user's configuration file. OpenTofu falls back
// to the names of Terraform where they exist, and to the XDG directory where
// none exists and the variable is set.
func (e Env) file(tool provider.ToolName) string {
	old, own := filepath.Join(e.Home, ".terraformrc"), filepath.Join(e.Home, ".tofurc")
	if e.windows() {
		old, own = filepath.Join(e.Getenv("APPDATA"), "terraform.rc"), filepath.Join(e.Getenv("APPDATA"), "tofu.rc")
	}
	switch xdg := e.Getenv("XDG_CONFIG_HOME"); {
	case tool == provider.Terraform:
		return old
	case exists(own):
		return own
	case exists(old) || e.windows() || xdg == "":
		return old
	default:
		return filepath.Join(xdg, "opentofu", "tofurc")
	}
}

// dir returns the directory of further configuration files.
func (e Env) dir(tool provider.ToolName) string {
	if e.windows() {
		return filepath.Join(e.Getenv("APPDATA"), "terraform.d")
	}
	dir := filepath.Join(e.Home, ".terraform.d")
	if xdg := e.Getenv("XDG_CONFIG_HOME"); tool == provider.OpenTofu && xdg != "" && !exists(dir) {
		return filepath.Join(xdg, "opentofu")
	}
	return dir
}

// mirrors returns the plugin directories of the user and the system, in which
// both tools look before they ask a registry: those of their data directories,
// then the ones that the platform's own conventions name [terraform 1.11 provider_source.go].
func (e Env) mirrors(tool provider.ToolName) []string {
	if e.windows() {
		data := e.Getenv("APPDATA")
		return []string{
			filepath.Join(data, "terraform.d", "plugins"),
			filepath.Join(data, "HashiCorp", "Terraform", "plugins"),
		}
	}
	dirs := []string{filepath.Join(e.Home, ".terraform.d", "plugins")}
	xdg := e.Getenv("XDG_DATA_HOME")
	if tool == provider.OpenTofu && xdg != "" {
		dirs = append(dirs, filepath.Join(xdg, "opentofu", "plugins"))
	}
	if e.GOOS == "darwin" {
		return append(dirs, filepath.Join(e.Home, "Library", "Application Support", "io.terraform", "plugins"))
	}
	shared := filepath.SplitList(cmp.Or(e.Getenv("XDG_DATA_DIRS"), "/usr/local/share:/usr/share"))
	for _, base := range append([]string{cmp.Or(xdg, filepath.Join(e.Home, ".local", "share"))}, shared...) {
		dirs = append(dirs, filepath.Join(base, "terraform", "plugins"))
	}
	return dirs
}

// plugins returns the directories of credentials helpers, which have one for
// this kind of machine in them.
func (e Env) plugins(tool provider.ToolName) []string {
	bases := []string{e.dir(tool)}
	if tool == provider.OpenTofu && !e.windows() {
		bases = []string{filepath.Join(e.Home, ".terraform.d")}
		if xdg := e.Getenv("XDG_DATA_HOME"); xdg != "" {
			bases = append(bases, filepath.Join(xdg, "opentofu"))
		}
	}
	var dirs []string
	for _, base := range bases {
		dir := filepath.Join(base, "plugins")
		dirs = append(dirs, dir, filepath.Join(dir, e.GOOS+"_"+runtime.GOARCH))
	}
	return dirs
}

// existing returns those of the paths that are directories.
func existing(paths []string) []string {
	return collect.Those(paths, func(path string) bool {
		info, err := os.Stat(path)
		return err == nil && info.IsDir()
	})
}

func (e Env) windows() bool { return e.GOOS == "windows" }

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// dockerFiles are the places where container tools keep credentials, as the
// manual page containers-auth.json(5) lists them.
func (e Env) dockerFiles() []string {
	if e.Getenv == nil {
		return nil
	}
	var files []string
	auth := func(dir string) string { return filepath.Join(dir, "containers", "auth.json") }
	switch e.GOOS {
	case "linux":
		if dir := e.Getenv("XDG_RUNTIME_DIR"); dir != "" {
			files = append(files, auth(dir))
		}
	case "windows", "darwin":
		files = append(files, auth(filepath.Join(e.Home, ".config")))
	}
	return append(files,
		auth(cmp.Or(e.Getenv("XDG_CONFIG_HOME"), filepath.Join(e.Home, ".config"))),
		filepath.Join(e.Home, ".docker", "config.json"),
		filepath.Join(e.Home, ".dockercfg"),
	)
}
