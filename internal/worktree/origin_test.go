package worktree

import (
	"fmt"
	"strings"
	"testing"

	"github.com/relock-dev/relock/internal/problem"
	"github.com/relock-dev/relock/internal/worktree/worktreetest"
)

const publicServer = "github.com"

// remotes are the lines of a clone's settings for remotes, given as NAME ADDRESS.
func remotes(lines ...string) string {
	var b strings.Builder
	for _, line := range lines {
		name, address, _ := strings.Cut(line, " ")
		fmt.Fprintf(&b, "[remote %q]\n\turl = %s\n\tfetch = +refs/heads/*:refs/remotes/%s/*\n", name, address, name)
	}
	return b.String()
}

func TestOrigin(t *testing.T) {
	t.Parallel()
	const enterprise, tenant = "git.acme.example", "acme.ghe.com"
	tests := map[string]struct {
		server, config, want string
		notice               string
	}{
		"https":                {publicServer, remotes("origin https://github.com/acme/infra.git"), "acme/infra", ""},
		"https_bare":           {publicServer, remotes("origin https://github.com/acme/infra"), "acme/infra", ""},
		"https_slash":          {publicServer, remotes("origin https://github.com/acme/infra/"), "acme/infra", ""},
		"https_password":       {publicServer, remotes("origin https://x:secret@github.com/acme/infra.git"), "acme/infra", ""},
		"other_case":           {publicServer, remotes("origin https://GitHub.com/Acme/Infra.git"), "Acme/Infra", ""},
		"dots":                 {publicServer, remotes("origin https://github.com/acme/infra.tf.git"), "acme/infra.tf", ""},
		"scp":                  {publicServer, remotes("origin git@github.com:acme/infra.git"), "acme/infra", ""},
		"scp_slash":            {publicServer, remotes("origin git@github.com:/acme/infra.git"), "acme/infra", ""},
		"ssh":                  {publicServer, remotes("origin ssh://git@github.com/acme/infra.git"), "acme/infra", ""},
		"ssh_over_https":       {publicServer, remotes("origin ssh://git@ssh.github.com:443/acme/infra.git"), "acme/infra", ""},
		"git":                  {publicServer, remotes("origin git://github.com/acme/infra.git"), "acme/infra", ""},
		"enterprise":           {enterprise, remotes("origin git@git.acme.example:acme/infra.git"), "acme/infra", ""},
		"enterprise_port":      {enterprise, remotes("origin ssh://git@git.acme.example:2222/acme/infra.git"), "acme/infra", ""},
		"tenant":               {tenant, remotes("origin https://acme.ghe.com/acme/infra.git"), "acme/infra", ""},
		"alias_of_the_clone":   {publicServer, remotes("origin gh:acme/infra") + "[url \"https://github.com/\"]\n\tinsteadOf = gh:\n", "acme/infra", ""},
		"another_name":         {publicServer, remotes("upstream https://github.com/acme/infra"), "acme/infra", ""},
		"another_server_too":   {publicServer, remotes("backup https://gitlab.com/acme/infra", "origin https://github.com/acme/infra"), "acme/infra", ""},
		"origin_is_elsewhere":  {publicServer, remotes("origin https://gitlab.com/acme/infra", "hub https://github.com/acme/infra"), "acme/infra", ""},
		"the_same_twice":       {publicServer, remotes("mine git@github.com:acme/infra.git", "yours https://github.com/Acme/infra"), "acme/infra", ""},
		"origin_before_others": {publicServer, remotes("fork https://github.com/me/infra", "origin https://github.com/acme/infra"), "acme/infra", "the remote origin, acme/infra; there are also me/infra (fork)"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			worktreetest.Commit(t, root)
			worktreetest.Write(t, root, map[string]string{".git/config": tt.config})
			got, notices, err := Origin(root, tt.server)
			if err != nil || got != tt.want {
				t.Errorf("Origin() = %q, %v, want %q", got, err, tt.want)
			}
			switch {
			case tt.notice == "" && len(notices) > 0:
				t.Errorf("notices = %v, want none", notices)
			case tt.notice != "" && (len(notices) != 1 || !strings.Contains(notices[0].Message, tt.notice)):
				t.Errorf("notices = %v, want %q", notices, tt.notice)
			}
		})
	}
}

func TestOriginSaysHowToNameTheRepository(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ config, want, hint string }{
		"no_remote":        {"", "this clone has no remote", "set GITHUB_REPOSITORY"},
		"another_server":   {remotes("origin https://x:secret@gitlab.com/acme/infra?token=secret"), "no remote of this clone is a repository on github.com: origin is on gitlab.com", "set GITHUB_SERVER_URL to https://gitlab.com; else set GITHUB_REPOSITORY"},
		"a_directory":      {remotes("origin /srv/git/secret.git"), "origin is on no server", "set GITHUB_REPOSITORY"},
		"a_deeper_path":    {remotes("origin https://github.com/a/b/secret"), "origin names no OWNER/NAME", "set GITHUB_REPOSITORY"},
		"an_alias_of_ssh":  {remotes("origin work:acme/infra.git"), "origin is on work", "set GITHUB_REPOSITORY"},
		"several_of_equal": {remotes("mine https://github.com/me/infra", "theirs git@github.com:acme/infra"), "several repositories: me/infra (mine), acme/infra (theirs)", "set GITHUB_REPOSITORY"},
		"an_odd_host":      {remotes("origin https://[::1]/acme/secret"), "origin is on no server", "set GITHUB_REPOSITORY"},
		"an_odd_name":      {remotes("origin https://github.com/acme/in%20fra"), "origin names no OWNER/NAME", "set GITHUB_REPOSITORY"},
		"no_address":       {"[remote \"origin\"]\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n", "", "set GITHUB_REPOSITORY"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			worktreetest.Commit(t, root)
			worktreetest.Write(t, root, map[string]string{".git/config": tt.config})
			got, _, err := Origin(root, publicServer)
			d := problem.Of(err)
			if got != "" || err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(d.Hint, tt.hint) {
				t.Errorf("Origin() = %q, %v with the hint %q, want %q with %q", got, err, d.Hint, tt.want, tt.hint)
			}
			if strings.Contains(fmt.Sprint(err, d.Hint), "secret") {
				t.Errorf("%v, %s repeats more of the address than its host", err, d.Hint)
			}
		})
	}
	t.Run("no_clone", func(t *testing.T) {
		_, _, err := Origin(t.TempDir(), publicServer)
		if d := problem.Of(err); err == nil || !strings.Contains(err.Error(), "no clone") || !strings.Contains(d.Hint, "--repo") {
			t.Errorf("Origin(a directory) = %v with the hint %q", err, d.Hint)
		}
	})
}
