package run

import (
	"context"

	"github.com/relock-dev/relock/internal/module"
)

// CommitOfTag asks a public git repository for the commit of a tag. It is empty if the
// repository has no such tag. relock sends no token.
func CommitOfTag(ctx context.Context, s *Session, repository, tag string) (string, error) {
	ctx, stop := s.Asking(ctx)
	defer stop()
	asker := module.New(s.client, s.configs, module.Options{Log: s.env.Log, Env: s.cliEnv(), AllowLocal: !s.env.OnGitHub})
	return asker.CommitOfTag(ctx, repository, tag)
}
