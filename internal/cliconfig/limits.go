package cliconfig

import (
	"cmp"
	"strconv"
	"time"

	"github.com/relock-dev/relock/internal/provider"
)

// Limits says how patient the operator wants the tool to be with servers. In
// each field 0 means that nothing is set; a negative number of retries is none.
type Limits struct {
	Retries         int           // of a question to a registry or mirror
	Timeout         time.Duration // of one try of it
	DownloadRetries int           // retries of the download of a package
}

// limits reads the variables. Both tools ignore values that are not above zero,
// and only OpenTofu knows the last one
// [terraform 1.11 internal/getproviders/registry_client.go] [opentofu 1.12 internal/command/cliconfig/cliconfig.go].
func (e Env) limits(tool provider.ToolName) Limits {
	l := Limits{
		Retries: e.number("TF_REGISTRY_DISCOVERY_RETRY"),
		Timeout: seconds(e.number("TF_REGISTRY_CLIENT_TIMEOUT")),
	}
	if tool == provider.OpenTofu {
		l.DownloadRetries = e.number("TF_PROVIDER_DOWNLOAD_RETRY")
	}
	return l
}

func (e Env) number(name string) int {
	n, err := strconv.Atoi(e.Getenv(name))
	if err != nil {
		return 0
	}
	return max(n, 0)
}

// seconds makes a duration of a number; none that is not above zero or that a
// duration cannot hold.
func seconds(n int) time.Duration {
	if n < 0 || n > 1<<31 {
		return 0
	}
	return time.Duration(n) * time.Second
}

// over returns the limits with what is not set taken from others.
func (l Limits) over(others Limits) Limits {
	return Limits{
		Retries:         cmp.Or(l.Retries, others.Retries),
		Timeout:         cmp.Or(l.Timeout, others.Timeout),
		DownloadRetries: cmp.Or(l.DownloadRetries, others.DownloadRetries),
	}
}

// retries turns a configured number of retries, in which 0 means none, into
// that of Limits.
func retries(configured *int) int {
	switch {
	case configured == nil:
		return 0
	case *configured <= 0:
		return -1
	}
	return *configured
}
