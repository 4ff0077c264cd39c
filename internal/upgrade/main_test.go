package upgrade

import (
	"os"
	"testing"

	"github.com/relock-dev/relock/internal/sandbox/trusted"
)

// TestMain makes SSL_CERT_FILE name the certificate of httptest: the tools use only https
// for mirrors.
func TestMain(m *testing.M) { os.Exit(trusted.Main(m)) }
